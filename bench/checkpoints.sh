#!/usr/bin/env bash
# What checkpoints cost: trains the Reddit shape with one every 10 seconds and prints their number, bytes, seconds and
# share of the training's time (the last line). The share is of the same run, so that a loaded machine does not matter.
#   bench/checkpoints.sh [BUILD [SCALE [EPOCHS]]]    [build/release 1 20]
set -euo pipefail
program=$(cd "${1:-$(dirname "$0")/../build/release}" && pwd)/l2gcn
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$program" generate reddit --scale "${2:-1}" -o shape -q
"$program" train shape --preset paper --method lgcn --epochs "${3:-20}" --device cpu -q --profile --checkpoint-every 10s -o run 2>&1 >/dev/null | tail -n 1

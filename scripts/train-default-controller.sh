#!/usr/bin/env bash
# Learns the controllers that ship inside the binary, on generated graphs alone, and puts them in
# src/controller/shipped/. Seeded: the same files, bit for bit, on the same instruction set, for any number of threads.
# About a minute on two cores. Rebuild afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${L2GCN_BINARY:-build/release/l2gcn}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# make_set NAME SHAPE SEED [generate options]
make_set() {
  local name=$1 shape=$2 seed=$3
  shift 3
  "$binary" generate "$shape" --seed "$seed" "$@" -o "$work/$name" --quiet
}

# Two regimes a policy must tell apart: few labels and wide features, where training on soon hurts, and many labels and
# few weights, where it keeps helping.
make_set pubmed pubmed 103
make_set pubmed-2 pubmed 108 --nodes 15000 --edges 60000 --features 200 --classes 6
make_set cora cora 101
make_set cora-dense cora 102 --nodes 2000 --edges 6000 --features 800 --classes 5

"$binary" search "$work/pubmed" "$work/pubmed-2" "$work/cora" "$work/cora-dense" --kind general --reward f1 --nodes 0 \
  --rollout-batch preset --problems 5 --lr-spread 2 --rounds 400 --search-lr 0.02 --seed 7 \
  -o src/controller/shipped/general.safetensors --force
"$binary" search synthetic:pubmed --kind paper --seed 7 -o src/controller/shipped/paper.safetensors --force
rm -f src/controller/shipped/*.json

#!/usr/bin/env bash
# From a fresh clone to a trained network: installs what is missing, builds, trains on the embedded demo graph.
# Further arguments go to `l2gcn train`.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install-deps.sh
cmake --preset release >/dev/null
cmake --build --preset release --target l2gcn_cli
echo
build/release/l2gcn train "$@"

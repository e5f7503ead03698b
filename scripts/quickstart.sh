#!/usr/bin/env bash
# From a fresh clone to a trained network: installs what is missing, builds, trains on the embedded demo graph and says
# how to go on. Further arguments go to `l2gcn train`.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install-deps.sh
cmake --preset release >/dev/null
cmake --build --preset release --target l2gcn_cli
echo
result=$(mktemp)
trap 'rm -f "$result"' EXIT
build/release/l2gcn train "$@" | tee "$result"

# The last line of a result names the run, "  run            DIRECTORY".
run=$(sed -n 's/^  run  *//p' "$result")
[ -n "$run" ] || exit 0
cat <<TEXT

Next steps:
  Put l2gcn on your PATH            export PATH="$PWD/build/release:\$PATH"
  Predict with the trained network  l2gcn predict $run -o predictions.csv
  See how good it is                l2gcn report $run
  Train on your own tables          l2gcn train --edges edges.csv --nodes nodes.csv --label COLUMN
                                    (docs/tutorial.md)
TEXT

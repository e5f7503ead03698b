#!/usr/bin/env bash
# Holds the program's metrics against scikit-learn: the 1,000 golden cases made again, and runs of every kind from
# training to figures (two classes with a threshold and class weights, several classes, label sets).
#
#   bench/metrics_vs_sklearn.sh
#
# PYTHON names an interpreter with scikit-learn 1.6 or newer (python3 by default), BUILD the build folder.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
program=$(realpath "${BUILD:-build/release}/l2gcn")
"$python" -c 'import sklearn' || { echo "metrics_vs_sklearn.sh: $python has no scikit-learn; name one with PYTHON" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" tests/golden/make_metrics.py > "$work/metrics.txt"
cmp "$work/metrics.txt" tests/golden/metrics.txt && echo "golden cases: as stored"

make() { "$program" generate "$@" --quiet > /dev/null; }
train() { "$program" train "$@" --quiet > /dev/null; }
make pubmed --nodes 2000 -o "$work/several"
make pubmed --nodes 2000 --classes 2 -o "$work/two"
make ppi --nodes 1500 --edges 6000 -o "$work/labels"
cd "$work"
train several --epochs 5 --split random:0.5,0.2,0.2 -o several-run
train two --epochs 5 --class-weights balanced --threshold auto -o two-run
train labels --epochs 3 --layers 2 --hidden 32 --class-weights balanced --threshold auto -o labels-run
"$python" "$OLDPWD/tests/golden/check_metrics.py" "$program" several-run two-run labels-run

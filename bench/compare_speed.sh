#!/usr/bin/env bash
# Two builds of the program in turns: the ratio of their training and aggregation seconds, median and standard error.
#   bench/compare_speed.sh BEFORE AFTER [PAIRS [THREADS]]   [10 2]
# Sets: cora, pubmed (L2GCN_DATA) and the Reddit shape, with preset paper and with preset best; both builds stop alike.
set -euo pipefail
before=$1 after=$2 pairs=${3:-10} threads=${4:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$before" generate reddit -o "$work/reddit" -q >/dev/null
paper=(--preset paper --method lgcn) best=(--preset best --stop early --setting inductive)
seconds() { local -n preset=$4; "$1" train "$2" "${preset[@]}" --device cpu --threads "$threads" ${3:+--epochs "$3"} --json -q -o "$work/run" --force |
  python3 -c 'import json, sys; s = json.load(sys.stdin)["seconds"]; print(s["train"], s["aggregate"])'; }
for ((i = 0; i < pairs; ++i)); do
  for job in paper:cora: paper:pubmed: "paper:$work/reddit:3" best:cora:30 best:pubmed:5 "best:$work/reddit:2"; do
    IFS=: read -r name set epochs <<<"$job"
    if ((i % 2)); then a=$(seconds "$before" "$set" "$epochs" "$name") b=$(seconds "$after" "$set" "$epochs" "$name")
    else b=$(seconds "$after" "$set" "$epochs" "$name") a=$(seconds "$before" "$set" "$epochs" "$name"); fi
    echo "$name/${set##*/} $a $b" >>"$work/pairs"
  done
done
python3 - "$work/pairs" <<'PYTHON'
import statistics as st, sys
rows = {}
for line in open(sys.argv[1]):
    name, *numbers = line.split()
    rows.setdefault(name, []).append([float(n) for n in numbers])
for name, all_ in rows.items():
    for k, what in enumerate(["train", "aggregate"]):
        ratios = [r[2 + k] / r[k] for r in all_]
        print(f"{name} {what}: after / before {st.median(ratios):.3f} ± {st.stdev(ratios) / len(ratios) ** 0.5:.3f}, {len(ratios)} pairs")
PYTHON

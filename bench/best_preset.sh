#!/usr/bin/env bash
# How accurate preset `best` is, and what each part of it is worth. Validation chooses; test only reports.
#
#   bench/best_preset.sh table [SET…]      F1 of test nodes (AUC where it is the usual figure), seconds; preset
#                                           paper beside it on the same splits
#   bench/best_preset.sh parts [SET…]      the same with one part left out at a time, and with one part alone
#   bench/best_preset.sh depth [SET…]      2, 4, 6 and 8 layers
#   bench/best_preset.sh baselines [SET…]     the conventional methods of this program on the same splits, their
#                                           width, rate and dropout tuned on validation
#
# Sets: cora cora-t pubmed pubmed-t citeseer photo facebook tolokers ppi-largest (from $L2GCN_DATA), and generated
# ones by their full name (synthetic:ppi). -t: transductive. RUNS seeds each (10); PROGRAM (build/release/l2gcn).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
program=${PROGRAM:-$root/build/release/l2gcn}
runs=${RUNS:-10}
export L2GCN_DATA=${L2GCN_DATA:-$root/../shared/data}
what=${1:-table}
shift || true
sets=("$@")
[ $# -gt 0 ] || sets=(cora cora-t citeseer pubmed pubmed-t photo facebook tolokers ppi-largest)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# The arguments that name a set.
data_of() {
  case $1 in
    *-t) echo "${1%-t} --setting transductive" ;;
    photo) echo "$L2GCN_DATA/npz/amazon_photo.npz" ;;
    facebook) echo "$L2GCN_DATA/musae-facebook" ;;
    tolokers) echo "$L2GCN_DATA/npz/tolokers.npz --split file" ;;
    *) echo "$1" ;;
  esac
}

# One line: mean and deviation over seeds of test F1, the mean of validation F1, the mean seconds.
summary='
import json, statistics as st, sys
j = json.load(open(sys.argv[1]))
runs = j.get("runs", [j])
test = [100 * r["f1"]["test"] for r in runs]
val = [100 * r["f1"]["val"] for r in runs]
seconds = [sum(r["seconds"][k] for k in ("aggregate", "train", "transform")) for r in runs]
print("%-14s %-18s test %6.2f ± %.2f   val %6.2f   %7.2f s a seed" %
      (sys.argv[2], sys.argv[3], st.mean(test), st.pstdev(test), st.mean(val), st.mean(seconds)))
'
# set, name of the variant, settings…
try() {
  local set=$1 name=$2
  shift 2
  # shellcheck disable=SC2046  # several arguments
  "$program" train $(data_of "$set") --runs "$runs" --device cpu -q --json -o run --force "$@" > result.json 2> said || { echo "$set $name: $(tail -1 said)"; return; }
  python3 -c "$summary" result.json "$set" "$name"
  # The usual figure of these is the area under the curve, seed by seed.
  case $set in tolokers | ppi-largest)
    for ((seed = 0; seed < runs; ++seed)); do
      "$program" evaluate run --seed "$seed" --json 2> said | python3 -c 'import json, sys; print(100 * json.load(sys.stdin)["scores"]["test"]["roc_auc"])'
    done | python3 -c 'import statistics as st, sys; v = [float(l) for l in sys.stdin]; print("%33s AUC  %6.2f ± %.2f" % ("", st.mean(v), st.pstdev(v)))' ;;
  esac
}

for set in "${sets[@]}"; do
  case $what in
    table)
      try "$set" best --preset best
      try "$set" paper --preset paper --method lgcn
      ;;
    parts)
      try "$set" best --preset best
      try "$set" "no own row, powers" --preset best --hops 1 --no-self-features
      try "$set" "no norm, but bias" --preset best --hidden-norm none --bias
      try "$set" "no head" --preset best --head 0
      try "$set" "no dropout" --preset best --dropout 0
      try "$set" "no input dropout" --preset best --input-dropout 0
      try "$set" "last layer alone" --preset best --predict-from last
      try "$set" "nothing spread" --preset best --correct off
      plain=(--preset best --hops 1 --no-self-features --hidden-norm none --head 0 --dropout 0 --input-dropout 0 --predict-from last --correct off)
      try "$set" "plain, best epoch" "${plain[@]}"
      try "$set" "+ powers" "${plain[@]}" --hops 2 --self-features
      try "$set" "+ norm" "${plain[@]}" --hidden-norm layer
      try "$set" "+ head" "${plain[@]}" --head 256
      try "$set" "+ both dropouts" "${plain[@]}" --dropout 0.5 --input-dropout 0.3
      ;;
    depth)
      for layers in 2 4 6 8; do try "$set" "$layers layers" --preset best --layers "$layers"; done
      ;;
    baselines)
      watch_f1=$(mktemp) && echo '{"watch": "val"}' > "$watch_f1"
      for method in gcn graphsage clustergcn vrgcn fastgcn ladies; do
        for hidden in 64 256; do
          for lr in 0.003 0.01; do
            for dropout in 0.2 0.5; do
              try "$set" "$method $hidden $lr $dropout" --method "$method" --hidden "$hidden" --lr "$lr" --dropout "$dropout" --stop early --config "$watch_f1" --epochs 200 --patience 30
            done
          done
        done
      done
      ;;
    *) echo "best_preset.sh: unknown table '$what'; expected table, parts, depth or baselines" >&2; exit 2 ;;
  esac
done

#!/usr/bin/env bash
# How training scales with the number of threads: ceilings, seconds, share of sgemm, and whether the weights are
# bit-equal, in one run of about four minutes on 16 cores.
#   bench/threads.sh [PROGRAM] [BENCH] [THREADS…]   default: build/release/l2gcn,
#                                                   build/release/bench/l2gcn_bench, 1 2 4 8 … cores
# Graphs are synthetic, of the shapes' full size. QUICK=1 takes a tenth of them.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build/release/l2gcn}
bench=${2:-build/release/bench/l2gcn_bench}
cores=$(nproc)
if (($# > 2)); then
  numbers=("${@:3}")
else
  numbers=(1)
  while ((numbers[-1] * 2 <= cores)); do numbers+=($((numbers[-1] * 2))); done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
scale=1
[[ -z ${QUICK:-} ]] || scale=0.1

number_of() { grep -o "\"$1\": *[0-9.e+-]*" "$2" | cut -d: -f2; }  # every such number in a JSON file
sum_of() { number_of "$1" "$2" | awk '{s += $1} END {print s}'; }

# One training; prints its seconds. $1: name, $2: threads, further: options.
train() {
  local name=$1 threads=$2
  shift 2
  "$program" train "$work/$name" --preset paper --method lgcn --threads "$threads" --device cpu --json -q "$@" \
    -o "$work/run-$name-$threads" --force > "$work/$name-$threads.json" 2>/dev/null
  grep -o '"seconds":{[^}]*}' "$work/$name-$threads.json" | grep -o '"train":[0-9.e+-]*' | head -1 | cut -d: -f2 >> "$work/seconds-$name-$threads"
}
best() { sort -g "$work/seconds-$1-$2" | head -1; }

echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $cores cores, load $(cut -d' ' -f1 /proc/loadavg)"
for shape in reddit amazon670k pubmed cora; do
  "$program" generate "$shape" --scale "$([[ $shape == cora || $shape == pubmed ]] && echo 1 || echo $scale)" \
    -o "$work/$shape" --force -q > /dev/null
done

printf '%8s %8s %8s  %8s %7s  %8s %7s  %8s %8s\n' threads sgemm copy reddit share amazon670k share pubmed cora
for threads in "${numbers[@]}"; do
  "$bench" --threads "$threads" --groups none --json "$work/ceilings.json" > /dev/null
  sgemm=$(number_of sgemm_gflops "$work/ceilings.json" | head -1)
  copy=$(number_of copy_gbps "$work/ceilings.json" | head -1)
  for _ in 1 2; do
    train reddit "$threads" --epochs 8 --layers 3
    train amazon670k "$threads" --epochs 8 --layers 2
  done
  for _ in 1 2 3; do
    train pubmed "$threads" --epochs 80 --layers 2
    train cora "$threads" --epochs 80 --layers 2
  done
  awk -v t="$threads" -v s="$sgemm" -v c="$copy" -v r="$(best reddit "$threads")" -v a="$(best amazon670k "$threads")" \
    -v p="$(best pubmed "$threads")" -v o="$(best cora "$threads")" \
    -v rf="$(sum_of flops "$work/reddit-$threads.json")" -v af="$(sum_of flops "$work/amazon670k-$threads.json")" \
    'BEGIN {printf "%8d %8.0f %8.1f  %8.3f %6.1f%%  %8.3f %6.1f%%  %8.4f %8.4f\n", t, s, c, r, 100 * rf / r / s / 1e9, a,
     100 * af / a / s / 1e9, p, o}'
done

for threads in 3 7; do
  ((threads <= 4 * cores)) || continue
  for name in reddit amazon670k; do train "$name" "$threads" --epochs 8; done
  for name in pubmed cora; do train "$name" "$threads" --epochs 80; done
done
for name in reddit amazon670k pubmed cora; do
  if [[ $(cat "$work"/run-"$name"-*/model.safetensors | wc -c) -gt 0 &&
        $(sha256sum "$work"/run-"$name"-*/model.safetensors | cut -d' ' -f1 | sort -u | wc -l) == 1 ]]; then
    echo "$name: weights bit-equal for $(find "$work" -maxdepth 1 -name "run-$name-*" | wc -l) numbers of threads"
  else
    echo "$name: WEIGHTS DIFFER"
  fi
done

echo "the whole run, ${numbers[-1]} threads:"
for name in reddit amazon670k pubmed cora; do
  echo "$name $(grep -o '"seconds":{[^}]*}' "$work/$name-${numbers[-1]}.json" | head -1)"
done

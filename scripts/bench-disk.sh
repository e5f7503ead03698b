#!/usr/bin/env bash
# Runs from disk beside runs in memory.
#
#   scripts/bench-disk.sh bits   [PROGRAM] [FOLDER]   reddit, amazon670k and amazon3m shapes under budgets of 100, 50, 20 and
#                                                     8 % of what they take in memory (or the least that the plan names):
#                                                     bits of model and predictions, and the peak against the budget
#   scripts/bench-disk.sh time   [PROGRAM] [FOLDER]   amazon3m under 20 % against in memory, file cache dropped before (as root)
#   scripts/bench-disk.sh growth [PROGRAM] [FOLDER] [PARTS]   1/32, 1/16, 1/8 … of papers100m, f16, under one budget
#   scripts/bench-disk.sh kills  [PROGRAM] [FOLDER] [N]   kill -9 at N random moments of a run from disk, then resume
#
# FOLDER holds the generated sets and all scratch; it should lie on a local disk.
set -euo pipefail
what=${1:?bits, time, growth or kills}
program=$(realpath "${2:-build/release/l2gcn}")
folder=${3:-$(mktemp -d)}
mkdir -p "$folder"
cd "$folder"

make_set() {  # NAME SHAPE MORE…
  local name=$1 shape=$2
  shift 2
  [ -d "$name" ] || "$program" generate "$shape" -o "$name" -q "$@" > /dev/null
}
train() {  # RUN DATA MORE…
  local run=$1 data=$2
  shift 2
  "$program" train "$data" --method lgcn --preset paper --device cpu --scratch . -o "$run" --force -q --json "$@" > "$run.json"
}
field() {  # FILE EXPRESSION
  python3 -c "import json,sys; r = json.load(open(sys.argv[1])); print($2)" "$1"
}
drop_cache() { sync; echo 3 2> /dev/null > /proc/sys/vm/drop_caches || echo "the file cache could not be dropped"; }

case $what in
  bits)
    for shape in reddit amazon670k amazon3m; do
      make_set "$shape" "$shape"
      train whole "$shape" --epochs 2
      "$program" predict whole -o whole.csv -q --device cpu
      peak=$(field whole.json "r['memory']['peak_rss_bytes']")
      for share in 100 50 20 8; do
        budget=$((peak * share / 100))
        if ! train part "$shape" --epochs 2 --memory "$budget" 2> part.err; then
          least=$("$program" train "$shape" --method lgcn --preset paper --device cpu --scratch . --memory $((peak / 2)) --dry-run --json | python3 -c "import json,sys; print(json.load(sys.stdin)['plan']['least_bytes'])")
          budget=$((least + (1 << 20)))
          train part "$shape" --epochs 2 --memory "$budget"
        fi
        "$program" predict part -o part.csv -q --device cpu --scratch . --memory "$budget"
        same=yes
        cmp -s whole/model.safetensors part/model.safetensors && cmp -s whole.csv part.csv || same=NO
        field part.json "'%-11s budget %7.1f MiB (%4.1f %% of %.1f): peak %7.1f MiB, same bits: %s, %.1f s' % ('$shape', $budget / 2**20, 100 * $budget / $peak, $peak / 2**20, r['memory']['peak_rss_bytes'] / 2**20, '$same', r['seconds']['total'])"
      done
    done
    ;;
  time)
    make_set amazon3m amazon3m
    train whole amazon3m --epochs 8
    budget=$(($(field whole.json "r['memory']['peak_rss_bytes']") / 5))
    for pair in 1 2 3; do
      drop_cache
      train whole amazon3m --epochs 8
      drop_cache
      train part amazon3m --epochs 8 --memory "$budget"
      for run in whole part; do
        field $run.json "'$pair $run: ' + ', '.join('%s %.2f' % s for s in r['seconds'].items()) + ', peak %.0f MiB' % (r['memory']['peak_rss_bytes'] / 2**20)"
      done
    done
    ;;
  growth)
    parts=${4:-32 16 8 4 2}
    budget=
    for part in $(echo "$parts" | tr ' ' '\n' | sort -n); do  # the largest first: its least budget serves all
      make_set "papers-$part" papers100m --scale "$(python3 -c "print(1 / $part)")" --features-as f16
      common=(--setting transductive --features-as f16 --epochs 10)
      if [ -z "$budget" ]; then
        "$program" train "papers-$part" --method lgcn --preset paper --device cpu --scratch . --memory 8G --dry-run "${common[@]}"
        budget=$("$program" train "papers-$part" --method lgcn --preset paper --device cpu --scratch . --memory 1500M --dry-run --json "${common[@]}" 2>&1 | python3 -c "import json,sys,re; t = sys.stdin.read(); m = re.search(r'least_bytes\": ?(\d+)', t); g = re.search(r'at least ([\d.]+) GiB', t); print(int(m.group(1)) if m else int(float(g.group(1)) * 2**30) + (64 << 20))")
      fi
      drop_cache
      train part "papers-$part" --memory "$budget" "${common[@]}"
      field part.json "'1/$part: %d nodes, budget %.2f GiB, peak %.2f, seconds %s' % (r['dataset']['nodes'], $budget / 2**30, r['memory']['peak_rss_bytes'] / 2**30, {k: round(v, 1) for k, v in r['seconds'].items()})"
    done
    ;;
  kills)
    kills=${4:-20}
    make_set reddit reddit
    options=(--epochs 4 --memory 300M --checkpoint-every 1)
    train whole reddit "${options[@]}"
    failures=0
    for i in $(seq "$kills"); do
      rm -rf cut cut.unfinished
      "$program" train reddit --method lgcn --preset paper --device cpu --scratch . -o cut -q "${options[@]}" > /dev/null 2>&1 &
      sleep "$(python3 -c "import random; random.seed($i); print(0.5 + random.random() * $(field whole.json "r['seconds']['total']"))")"
      kill -9 $! 2> /dev/null || true
      wait $! 2> /dev/null || true
      [ -d cut ] || "$program" train --resume cut --memory 300M --scratch . -q > /dev/null 2>&1 \
        || "$program" train reddit --method lgcn --preset paper --device cpu --scratch . -o cut -q "${options[@]}" > /dev/null
      cmp -s whole/model.safetensors cut/model.safetensors || { failures=$((failures + 1)); echo "kill $i: another model"; }
    done
    ls -A | grep -i scratch && failures=$((failures + 1))
    echo "$kills kills, $failures failures"
    ;;
  *) echo "unknown: $what" >&2; exit 2 ;;
esac

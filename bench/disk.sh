#!/usr/bin/env bash
# Runs from disk beside runs in memory.
#
#   bench/disk.sh bits    [PROGRAM] [FOLDER] [SHAPES] [SHARES]  reddit, amazon670k and amazon3m shapes under budgets of
#                                                     100, 50, 20 and 8 % of what they take in memory (or the least that the plan
#                                                     names): bits of model and predictions, and the peak against the budget. What a
#                                                     shape takes in memory stays in FOLDER, so shapes and shares may come one by one
#   bench/disk.sh best    [PROGRAM] [FOLDER]  the same for reddit with preset best, under the least budget
#   bench/disk.sh group   [PROGRAM] [FOLDER] [SHAPES] [SHARES]  the same shapes and budgets inside a control group of the
#                                                     budget + 10 % (version 1, as root), one epoch
#   bench/disk.sh time    [PROGRAM] [FOLDER]  amazon3m under 20 % against in memory, file cache dropped before (as root)
#   bench/disk.sh growth  [PROGRAM] [FOLDER] [PARTS] [LAYERS] [BUDGET]   1/2, 1/4, 1/8, 1/16 and 1/32 of papers100m, f16,
#                                                     each generated, trained and removed, under one budget: the least that the
#                                                     largest needs, unless BUDGET names another. Seconds beside what moving the bytes
#                                                     takes at the disk's rates (gigabytes read and written in one go right after the
#                                                     run: disks may be faster for some seconds), and beside the gather floor: the lines of
#                                                     64 bytes over what memory gives (l2gcn_bench --groups panels). Sets are
#                                                     removed one by one, unless KEEP_SETS=1
#   bench/disk.sh convert [PROGRAM] [FOLDER] [GB]   an edge list of GB gigabytes with --memory 1G
#   bench/disk.sh kills   [PROGRAM] [FOLDER] [N]    kill -9 at N (50) random moments of a run from disk, then resume: two or
#                                                     three seconds each
#
# FOLDER holds the generated sets and all scratch; it should lie on a local disk.
set -euo pipefail
what=${1:?bits, best, group, time, growth, convert or kills}
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
  python3 -c "
import json, sys
def growth_line(r, part, budget, most_lines):
    d, s = r['disk'], r['seconds']
    moved = d['read_bytes'] / d['read_rate'] + d['written_bytes'] / d['write_rate']
    work = s['total'] - s['load']
    lines = sum(l['gathered_bytes'] for l in r['runs'][0]['layers']) / 4 * 2 / 64  # of f16 values, 64 bytes a line
    floor = lines / most_lines
    panels = (d['panel_read_bytes'] / d['read_rate'] + d['panel_written_bytes'] / d['write_rate']) / d['panel_seconds']
    return '\n'.join([
        '1/%d: %d nodes, budget %.2f GiB, peak %.2f GiB, opened in %.1f s #%d %.2f' % (part, r['dataset']['nodes'], budget / 2**30, r['memory']['peak_rss_bytes'] / 2**30, s['load'], r['dataset']['nodes'], work),
        '  %.1f s: setup %.1f, aggregate %.1f, train %.1f, transform %.1f, evaluate %.1f' % (work, s['setup'], s['aggregate'], s['train'], s['transform'], s['evaluate']),
        '  %.1f GB read, %.1f GB written: %.1f s at %.2f and %.2f GB/s; %.2f x that; panels at %.0f %% of the disk' % (d['read_bytes'] / 1e9, d['written_bytes'] / 1e9, moved, d['read_rate'] / 1e9, d['write_rate'] / 1e9, work / moved, 100 * panels),
        '  %.2f G lines gathered: %.1f s at %.0f M a second; %.2f x that; %.0f M a second while aggregating' % (lines / 1e9, floor, most_lines / 1e6, work / floor, lines / s['aggregate'] / 1e6)])
r = json.load(open(sys.argv[1])); print($2)" "$1"
}
least_budget() {  # DATA BUDGET MORE…: what the plan names; BUDGET must be too small to stay in memory
  local data=$1 budget=$2
  shift 2
  { "$program" train "$data" --method lgcn --preset paper --device cpu --scratch . --memory "$budget" --dry-run --json "$@" 2>&1 || true; } |
    python3 -c "import sys,re; t = sys.stdin.read(); m = re.search(r'least_bytes\": ?(\d+)', t); g = re.search(r'at least ([\d.]+) ([GM])iB', t); print(int(m.group(1)) if m else int(float(g.group(1)) * (2**30 if g.group(2) == 'G' else 2**20)) + (1 << 24))"
}
# The rates, in bytes a second, at which FILE is read and as much, up to 8 GB, is written, past the file cache.
lasting_rates() {  # FILE
  local rates
  rates=$({ dd if="$1" of=/dev/null bs=8M iflag=direct && dd if=/dev/zero of=lasting.tmp bs=8M count="$(($(stat -c %s "$1") / 8388608 < 1000 ? $(stat -c %s "$1") / 8388608 + 1 : 1000))" oflag=direct; } 2>&1 |
    awk '/copied/ { printf "%d ", $1 / $(NF - 3) }')
  rm -f lasting.tmp
  echo "$rates"
}
drop_cache() { sync; echo 3 2> /dev/null > /proc/sys/vm/drop_caches || echo "the file cache could not be dropped"; }

case $what in
  bits)
    for shape in ${4:-reddit amazon670k amazon3m}; do
      make_set "$shape" "$shape"
      if [ ! -f "whole-$shape.csv" ]; then
        train "whole-$shape" "$shape" --epochs 2
        "$program" predict "whole-$shape" -o "whole-$shape.csv" -q --device cpu
      fi
      peak=$(field "whole-$shape.json" "r['memory']['peak_rss_bytes']")
      for share in ${5:-100 50 20 8}; do
        budget=$((peak * share / 100))
        if ! train part "$shape" --epochs 2 --memory "$budget" 2> part.err; then
          budget=$(($(least_budget "$shape" $((peak / 2))) + (1 << 20)))
          train part "$shape" --epochs 2 --memory "$budget"
        fi
        "$program" predict part -o part.csv -q --device cpu --scratch . --memory "$budget"
        same=yes
        cmp -s "whole-$shape/model.safetensors" part/model.safetensors && cmp -s "whole-$shape.csv" part.csv || same=NO
        field part.json "'%-11s budget %7.1f MiB (%4.1f %% of %.1f): peak %7.1f MiB, same bits: %s, %.1f s' % ('$shape', $budget / 2**20, 100 * $budget / $peak, $peak / 2**20, r['memory']['peak_rss_bytes'] / 2**20, '$same', r['seconds']['total'])"
        rm -rf part part.csv
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
  best)
    make_set reddit reddit
    options=(--preset best --epochs 1 --layers 2)
    train whole reddit "${options[@]}"
    peak=$(field whole.json "r['memory']['peak_rss_bytes']")
    budget=$(($(least_budget reddit "$((peak / 2))" "${options[@]}") + (1 << 20)))
    train part reddit "${options[@]}" --memory "$budget"
    same=yes
    cmp -s whole/model.safetensors part/model.safetensors || same=NO
    field part.json "'reddit, best: budget %.1f MiB (%.1f %% of %.1f): peak %.1f MiB, same bits: %s' % ($budget / 2**20, 100 * $budget / $peak, $peak / 2**20, r['memory']['peak_rss_bytes'] / 2**20, '$same')"
    ;;
  group)
    group=/sys/fs/cgroup/memory/l2gcn-bench-$$
    mkdir "$group"
    for shape in ${4:-reddit amazon670k amazon3m}; do
      make_set "$shape" "$shape"
      train whole "$shape" --epochs 1
      peak=$(field whole.json "r['memory']['peak_rss_bytes']")
      least=$(($(least_budget "$shape" $((peak / 2))) + (1 << 20)))
      for share in ${5:-100 50 20 8}; do
        budget=$((peak * share / 100))
        [ "$budget" -ge "$least" ] || budget=$least
        echo $((budget * 11 / 10)) > "$group/memory.limit_in_bytes"
        (echo $BASHPID > "$group/cgroup.procs" && train part "$shape" --epochs 1 --memory "$budget") && status=0 || status=$?
        same=yes
        cmp -s whole/model.safetensors part/model.safetensors || same=NO
        echo "$shape, budget $((budget >> 20)) MiB in a group of $((budget * 11 / 10 >> 20)) MiB: exit $status, same bits: $same, peak $(($(field part.json "r['memory']['peak_rss_bytes']") >> 20)) MiB"
        rm -rf part
      done
    done
    rmdir "$group"
    ;;
  growth)
    parts=${4:-2 4 8 16 32} layers=${5:-2} budget=${6:-}
    common=(--setting transductive --features-as f16 --epochs 10 --layers "$layers")
    rm -f growth.txt
    for part in $(echo "$parts" | tr ' ' '\n' | sort -n); do  # the largest first: its least budget serves all
      make_set "papers-$part" papers100m --scale "$(python3 -c "print(1 / $part)")" --features-as f16
      if [ -z "$budget" ]; then
        budget=$(($(least_budget "papers-$part" 1500000000 "${common[@]}") + (64 << 20)))
      fi
      sync
      drop_cache
      train part "papers-$part" --memory "$budget" "${common[@]}"
      rm -rf part
      read -r read_rate write_rate < <(lasting_rates "papers-$part/features.npy")
      python3 -c "
import json, sys
r = json.load(open('part.json')); r['disk'].update(read_rate=$read_rate, write_rate=$write_rate); json.dump(r, open('part.json', 'w'))"
      [ -n "${KEEP_SETS:-}" ] || rm -rf "papers-$part"
      "$(dirname "$program")/bench/l2gcn_bench" --groups panels --nodes "$(field part.json "r['dataset']['nodes']")" --json panels.json > /dev/null
      field part.json "growth_line(r, $part, $budget, json.load(open('panels.json'))['panels'][str(r['dataset']['nodes'])]['most_lines'])" | tee -a growth.txt
      rm -f part.json panels.json
    done
    python3 - << 'END'
import math
points = [tuple(map(float, line.split("#")[1].split())) for line in open("growth.txt") if "#" in line]
x, y = [math.log(p[0]) for p in points], [math.log(p[1]) for p in points]
mx, my = sum(x) / len(x), sum(y) / len(y)
if len(x) > 1:
    print("exponent of seconds in nodes: %.3f" % (sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)))
END
    ;;
  convert)
    gigabytes=${4:-2}
    python3 - "$gigabytes" << 'END'
import random, sys
random.seed(1)
size, nodes = int(float(sys.argv[1]) * 1e9), 20_000_000
block = "".join("%d,%d\n" % (random.randrange(nodes), random.randrange(nodes)) for _ in range(1_000_000)).encode()
with open("edges.csv", "wb") as out:
    written = 0
    while written < size:  # each time the same edges, shifted by the digits of a prefix
        shift = random.randrange(1, 10)
        part = block.replace(b",", b"%d," % shift) if shift > 1 else block
        out.write(part)
        written += len(part)
END
    ls -l edges.csv | awk '{print $5 / 1e9 " GB of edges"}'
    sync
    drop_cache
    /usr/bin/time -f "%e s, peak %M KiB" "$program" convert edges.csv converted --memory 1G --force -q
    du -sb converted | awk '{print $1 / 1e9 " GB written"}'
    dd if=edges.csv of=/dev/null bs=8M iflag=direct 2>&1 | tail -1
    rm -rf edges.csv converted
    ;;
  kills)
    kills=${4:-50}
    make_set papers-small papers100m --scale 0.002 --features-as f16
    options=(--setting transductive --layers 2 --epochs 2 --checkpoint-every 1)
    memory=$(($(least_budget papers-small 100M "${options[@]}") + (1 << 20)))
    options+=(--memory "$memory")
    train whole papers-small "${options[@]}"
    seconds=$(field whole.json "r['seconds']['total']")
    failures=0 resumed=0
    for i in $(seq "$kills"); do
      rm -rf cut cut.unfinished
      "$program" train papers-small --method lgcn --preset paper --device cpu --scratch . -o cut -q "${options[@]}" > /dev/null 2>&1 &
      process=$!
      sleep "$(awk -v seed="$i" -v most="$seconds" 'BEGIN { srand(seed); rand(); print 0.05 + 1.1 * rand() * most }')"
      kill -9 $process 2> /dev/null || true
      wait $process 2> /dev/null || true
      if [ ! -d cut ]; then
        if "$program" train --resume cut --device cpu -q > /dev/null 2>&1; then
          resumed=$((resumed + 1))
        else  # killed before it had written down its settings
          train cut papers-small "${options[@]}"
        fi
      fi
      cmp -s whole/model.safetensors cut/model.safetensors || { failures=$((failures + 1)); echo "kill $i: another model"; }
      [ -z "$(find . -maxdepth 1 -name 'l2gcn-*')" ] || { failures=$((failures + 1)); echo "kill $i: scratch is left"; }
    done
    echo "$kills kills, $resumed resumed, $failures failures"
    [ "$failures" -eq 0 ]
    ;;
  *) echo "unknown: $what" >&2; exit 2 ;;
esac

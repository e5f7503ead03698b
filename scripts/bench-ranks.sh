#!/usr/bin/env bash
# Measures what docs/cluster.md says of ranks. All ranks run on this machine, one thread each unless said otherwise.
#
#   scripts/bench-ranks.sh bits       [BUILD]                models and predictions for R = 1, 2, 3, 4, 8 and 1–2 threads
#   scripts/bench-ranks.sh bytes      [BUILD]                bytes exchanged, counted, beside the plan's
#   scripts/bench-ranks.sh memory     [BUILD] DATASET        peak memory a rank (USS and PSS) for R = 1, 2, 4
#   scripts/bench-ranks.sh throughput [BUILD]                --runs 16, search and compare over R = 1, 2, 4
#   scripts/bench-ranks.sh speed      [BUILD] DATASET THREADS   aggregation and transform, R × THREADS/R against 1 × THREADS
#   scripts/bench-ranks.sh kills      [BUILD] [TIMES] [SEED]  kill -9 of a random rank at random moments, resumed with another R
#
# BUILD is build/release unless it is given. Ends with status 1 where bytes differ or a job did not end in 10 s.
set -u
mode=${1:?a mode: bits, bytes, memory, throughput, speed or kills}
shift
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/release
if [ -x "${1:-}/l2gcn" ]; then build=$1; shift; fi
program=$(cd "$build" && pwd)/l2gcn
base=$(mktemp -d)
trap 'rm -rf "$base"' EXIT
failures=0
complain() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }
as_root=()
[ "$(id -u)" -eq 0 ] && as_root=(--allow-run-as-root)

# ranks R ARGUMENTS…: the program on R ranks; R = 1 without mpirun.
ranks() {
  local size=$1
  shift
  if [ "$size" = 1 ]; then "$program" "$@"; else mpirun "${as_root[@]}" --oversubscribe --bind-to none -q -n "$size" "$program" "$@"; fi
}
now() { date +%s.%N; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# What trains in moments and still has every path: sparse, dense, several labels, windows.
bits() {
  local set kind size threads
  for set in cora pubmed synthetic:ppi synthetic:reddit synthetic:amazon670k; do
    for kind in "paper --method lgcn" "paper --method l2gcn" "best"; do
      local train=(train "$set" --preset $kind --epochs 2 -q --device cpu)
      case $set in synthetic:reddit | synthetic:amazon670k) [ "$kind" = best ] && continue ;; esac
      "$program" "${train[@]}" -o "$base/one" --force >/dev/null || { complain "$set $kind does not train"; continue; }
      rm -f "$base/one.npy"
      "$program" predict "$base/one" -q --device cpu -o "$base/one.npy" >/dev/null
      for size in 2 3 4 8; do
        threads=$((1 + size % 2))
        ranks "$size" "${train[@]}" --threads $threads -o "$base/many" --force >/dev/null || complain "$set $kind on $size ranks"
        ranks "$size" predict "$base/many" -q --device cpu --threads $threads -o "$base/many.npy" >/dev/null
        if cmp -s "$base/one/model.safetensors" "$base/many/model.safetensors" && cmp -s "$base/one.npy" "$base/many.npy"; then
          echo "$set, $kind, R = $size, $threads threads: the same bytes"
        else
          complain "$set, $kind, R = $size, $threads threads: other bytes"
        fi
        rm -rf "$base/many" "$base/many.npy"
      done
    done
  done
}

bytes() {
  local set size
  for set in cora pubmed synthetic:reddit; do
    for size in 2 4; do
      ranks "$size" train "$set" --preset paper --method lgcn --epochs 2 --device cpu --threads 1 -o "$base/run" --force 2>&1 >/dev/null |
        sed -n "s/^\(exchanged: .*\)/$set, R = $size: \1/p"
    done
  done
}

# The peak over time of USS (pages of one process alone) and PSS (shared pages divided by who shares them), by rank.
memory() {
  local set=${1:?DATASET} size
  for size in 1 2 4; do
    ranks "$size" train "$set" --preset paper --method lgcn --epochs 1 --device cpu --threads 1 -q -o "$base/run" --force >/dev/null &
    local job=$!
    python3 - "$program" "$size" <<'PYTHON'
import glob, os, sys, time
program, size = os.path.realpath(sys.argv[1]), int(sys.argv[2])
uss, pss, rss, seen, idle = {}, {}, {}, False, 0
while idle < 20:
    found = False
    for path in glob.glob("/proc/[0-9]*/exe"):
        try:
            pid = path.split("/")[2]
            if os.path.realpath(path) != program: continue
            figures = {line.split(":")[0]: int(line.split()[1]) for line in open(f"/proc/{pid}/smaps_rollup") if line.count(":") == 1 and "kB" in line}
        except (OSError, ValueError): continue
        found = seen = True
        own = figures["Private_Clean"] + figures["Private_Dirty"]
        uss[pid], pss[pid], rss[pid] = max(uss.get(pid, 0), own), max(pss.get(pid, 0), figures["Pss"]), max(rss.get(pid, 0), figures["Rss"])
    idle = 0 if found or not seen else idle + 1
    time.sleep(0.1)
big = lambda peaks: max(peaks.values()) / 1024
print(f"R = {size}: the largest rank's peak: USS {big(uss):.0f} MiB, PSS {big(pss):.0f} MiB, RSS {big(rss):.0f} MiB")
PYTHON
    wait $job
  done
}

timed() {
  local begin
  begin=$(now)
  "$@" >/dev/null 2>&1 || complain "$*"
  awk -v a="$begin" -v b="$(now)" 'BEGIN { printf "%.3f", b - a }'
}

throughput() {
  local size one
  local -A seconds
  for size in 1 2 4; do
    seconds[runs$size]=$(timed ranks $size train cora --preset paper --method lgcn --runs 16 --threads 1 --device cpu -q -o "$base/runs" --force)
    seconds[search$size]=$(timed ranks $size search synthetic:cora --rounds 20 --problems 16 --threads 1 --device cpu -q -o "$base/found" --force)
    seconds[compare$size]=$(timed ranks $size compare cora --methods lgcn --runs 16 --threads 1 --device cpu -q)
    for one in runs search compare; do
      echo "$one, R = $size: ${seconds[$one$size]} s, $(ratio "${seconds[${one}1]}" "${seconds[$one$size]}") times the throughput of one rank ($(nproc) cores here)"
    done
  done
}

speed() {
  local set=${1:?DATASET} threads=${2:?THREADS} size
  for size in 1 2 4; do
    ranks $size train "$set" --preset paper --method lgcn --epochs 1 --threads $((threads / size)) --device cpu -q --json -o "$base/run" --force 2>/dev/null |
      python3 -c "import json, sys; s = json.load(sys.stdin)['seconds']; print('R = $size × $((threads / size)) threads: aggregate', round(s['aggregate'], 3), 'transform', round(s['transform'], 3), 'train', round(s['train'], 3))"
  done
}

kills() {
  local times=${1:-50} size at victim begin ended again
  RANDOM=${2:-1}
  local train=(train synthetic:cora --preset paper --method lgcn --epochs 150 --threads 1 --device cpu)
  "$program" "${train[@]}" -q -o "$base/one" --force >/dev/null || exit 2
  local equal=0 soon=0 killed=0
  while [ "$killed" -lt "$times" ]; do
    size=$((2 + RANDOM % 3)) again=$((1 + RANDOM % 4))
    rm -rf "$base/many" "$base/many.unfinished"
    ranks $size "${train[@]}" --checkpoint-every 5 -o "$base/many" >/dev/null 2>"$base/err" &
    local job=$!
    sleep "$(awk -v r=$RANDOM 'BEGIN { printf "%.2f", 0.3 + r / 32768 * 3 }')"
    at=$((RANDOM % size))
    victim=$(pgrep -f -- "^$program .*-o $base/many" | sed -n "$((at + 1))p")
    if [ -z "$victim" ] || ! kill -9 "$victim" 2>/dev/null; then wait $job; continue; fi
    begin=$(now)
    wait $job
    ended=$(awk -v a="$begin" -v b="$(now)" 'BEGIN { print (b - a <= 10) ? 1 : 0 }')
    killed=$((killed + 1))
    if [ "$ended" = 1 ]; then soon=$((soon + 1)); else complain "a job of $size ranks went on for more than 10 s"; fi
    if [ -d "$base/many.unfinished" ]; then
      ranks $again train --resume "$base/many" --threads 1 --device cpu -q >/dev/null 2>"$base/err" || complain "resume: $(head -3 "$base/err")"
    elif [ ! -d "$base/many" ]; then
      ranks $again "${train[@]}" -q -o "$base/many" >/dev/null
    fi
    if cmp -s "$base/one/model.safetensors" "$base/many/model.safetensors"; then equal=$((equal + 1)); else complain "other bytes after a kill of $size ranks and $again"; fi
  done
  echo "$killed kills: $soon ended within 10 s, $equal times the same bytes"
}

"$mode" "$@"
[ $failures -eq 0 ]

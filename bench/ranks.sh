#!/usr/bin/env bash
# Measures what docs/performance.md says of ranks. All ranks run on this machine, one thread each unless said otherwise.
#
#   bench/ranks.sh bits       [BUILD] [FILE]         models and predictions for R = 1, 2, 3, 4, 8 and 1–2 threads, in
#                                                            memory and with a budget that sends matrices to disk. What FILE
#                                                            has already as the same is left out, what is found is added to it.
#                                                            DEVICE=cuda: on GPUs, in memory. SETS and SIZES choose some data
#                                                            sets and numbers of ranks, EPOCHS the epochs of a layer
#   bench/ranks.sh memory     [BUILD] DATASET        peak memory a rank (USS and PSS) for R = 1, 2, 4
#   bench/ranks.sh throughput [BUILD]                --runs 16, search and compare over R = 1, 2, 4 (JOBS, SIZES: some of them)
#   bench/ranks.sh speed      [BUILD] DATASET THREADS   aggregation and transform, R × THREADS/R against 1 × THREADS, seconds of
#                                                            all cores and page faults of the whole job
#   bench/ranks.sh cores      [BUILD] DATASET THREADS   the same in seconds of all cores, as perf samples them: for a busy machine
#   bench/ranks.sh steps      [BUILD] [HIDDEN]       seconds of training of reddit's shape, five times smaller, by one process
#                                                            and by two ranks with messages, whose steps rank 0 makes, or
#                                                            both: the fastest of TURNS (3) turns. HIDDEN: width of the layers
#   bench/ranks.sh network    [BUILD]                two ranks through shaped links between network namespaces (root), and
#                                                            papers100M computed with what they reach
#   bench/ranks.sh kills      [BUILD] [TIMES] [SEED]  kill -9 of a random rank at random moments, resumed with another R
#
# BUILD is build/release unless it is given. Ends with status 1 where bytes differ or a job did not end in 10 s.
set -u
mode=${1:?a mode: bits, memory, throughput, speed, cores, steps, network or kills}
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

# EXCHANGE=memory|messages fixes how ranks get at each other's rows; auto unless it is set.
exchange=(--exchange "${EXCHANGE:-auto}")
device=${DEVICE:-cpu} # of `bits`

# launch R ARGUMENTS…: sets `command` to the program on R ranks; R = 1 without mpirun.
launch() {
  local size=$1
  shift
  command=("$program" "$@")
  [ "$size" = 1 ] || command=(mpirun "${as_root[@]}" --oversubscribe --bind-to none -q -n "$size" "${command[@]}" "${exchange[@]}")
}
ranks() {
  local command
  launch "$@"
  "${command[@]}"
}
# launch_epoch DATASET THREADS R ARGUMENTS…: the same of one epoch of a training whose ranks have THREADS together.
launch_epoch() {
  launch "$3" train "$1" --preset paper --method lgcn --epochs 1 --threads $(($2 / $3)) --device cpu -q -o "$base/run" --force "${@:4}"
}
now() { date +%s.%N; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# What trains in moments and still has every path: sparse, dense, several labels, windows, panels on disk.
bits() {
  local list=${1:-$base/bits} set kind place size places="memory disk"
  [ "$device" = cpu ] || places=memory
  touch "$list"
  for set in ${SETS:-cora pubmed synthetic:ppi reddit/20 amazon670k/20}; do
    for kind in "paper --method lgcn" "paper --method l2gcn" best; do
      for place in $places; do
        rm -rf "$base/one" "$base/one.npy"
        for size in ${SIZES:-2 3 4 8}; do same_bits "$list" "$set" "$kind" "$place" "$size"; done
      done
    done
  done
  sed -n 's/^/  /p' "$list"
}

# One line of the list: R ranks against one process, which is trained once for all R.
same_bits() {
  local list=$1 set=$2 kind=$3 place=$4 size=$5 threads=$((1 + $5 % 2))
  local what="$set, $kind, $place, R = $size, $threads threads"
  [ "$device" = cpu ] || what="$set, $kind, $device, R = $size"
  grep -qxF "$what: the same bytes" "$list" && return
  local data=$set budget=()
  case $set in
    */20) # a shape, twenty times smaller
      data=$base/${set%/20}
      [ -d "$data" ] || "$program" generate "${set%/20}" --scale 0.05 -o "$data" -q >/dev/null ;;
  esac
  local train=(train "$data" --preset $kind --epochs "${EPOCHS:-2}" -q --device "$device")
  if [ "$place" = disk ]; then
    local least
    least=$(disk_budget "$size" "${train[@]}" --threads $threads)
    [ -n "$least" ] || return # what fits into less memory than disk needs never goes there
    budget=(--memory "$least")
  fi
  if [ ! -d "$base/one" ]; then
    "$program" "${train[@]}" -o "$base/one" --force >/dev/null || { complain "$set $kind does not train"; return; }
    "$program" predict "$base/one" -q --device "$device" -o "$base/one.npy" >/dev/null
  fi
  rm -rf "$base/many" "$base/many.npy"
  ranks "$size" "${train[@]}" "${budget[@]}" --threads $threads -o "$base/many" --force >/dev/null || complain "$what"
  ranks "$size" predict "$base/many" "${budget[@]}" -q --device "$device" --threads $threads -o "$base/many.npy" >/dev/null
  if cmp -s "$base/one/model.safetensors" "$base/many/model.safetensors" && cmp -s "$base/one.npy" "$base/many.npy"; then
    echo "$what: the same bytes" | tee -a "$list"
  else
    complain "$what: other bytes"
  fi
}

# disk_budget R ARGUMENTS…: a rank's budget that is enough from disk and too little in memory, if there is one; from what
# the refusal of a far too small one says.
disk_budget() {
  ranks "$@" --memory 1M --dry-run 2>&1 | sed -n 's/.*needs \([0-9.]*\) MiB in memory or at least \([0-9.]*\) MiB from disk.*/\1 \2/p' |
    awk 'NR == 1 { least = int($2 * 1.15) + 1; if (least < $1) print least "M" }'
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

# Jobs of half a minute on one rank, because Open MPI takes a second to start and end. JOBS names some of them.
throughput() {
  local size job
  local -A seconds
  local pubmed=(synthetic:pubmed --preset paper --epochs 200 --runs 16 --threads 1 --device cpu -q)
  for job in ${JOBS:-runs search compare}; do
    for size in ${SIZES:-1 2 4}; do
      case $job in
        runs) seconds[$size]=$(timed ranks "$size" train "${pubmed[@]}" --method lgcn -o "$base/runs" --force) ;;
        compare) seconds[$size]=$(timed ranks "$size" compare "${pubmed[@]}" --methods lgcn) ;;
        search) seconds[$size]=$(timed ranks "$size" learn-controller synthetic:pubmed --rounds 20 --problems 192 --threads 1 --device cpu -q -o "$base/found" --force) ;;
      esac
      echo "$job, R = $size: ${seconds[$size]} s, $(ratio "${seconds[1]}" "${seconds[$size]}") times the throughput of one rank ($(nproc) cores here)"
    done
  done
}

speed() {
  local set=${1:?DATASET} threads=${2:?THREADS} size
  for size in 1 2 4; do
    [ "$size" -le "$threads" ] || continue
    local command
    launch_epoch "$set" "$threads" "$size" --json
    python3 - "R = $size × $((threads / size)) threads" "${command[@]}" <<'PYTHON' || complain "$set on $size ranks"
import json, resource, subprocess, sys
job = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
seconds, used = json.loads(job.stdout)["seconds"], resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{sys.argv[1]}:", ", ".join(f"{name} {seconds[name]:.3f}" for name in ("aggregate", "transform", "train")),
      f"s; all of the job: {used.ru_utime:.1f} s by itself and {used.ru_stime:.1f} s in the system, {used.ru_minflt} page faults")
PYTHON
  done
}

# A sample belongs to the first of these names that stands in its stack; generating the data set, training and waiting are left out.
cores() {
  local set=${1:?DATASET} threads=${2:?THREADS} size
  for size in 1 2 4; do
    [ "$size" -le "$threads" ] || continue
    local command
    launch_epoch "$set" "$threads" "$size"
    perf record -q -o "$base/perf" -e cpu-clock -F 499 -g "${command[@]}" >/dev/null 2>&1 || complain "perf on $size ranks"
    perf script -i "$base/perf" -F comm,ip,sym 2>/dev/null | python3 -c "
import collections, sys
named = ['Generator', 'InducedSubgraph', 'SortKeys', 'RankSampleWindows', 'Training', 'ScoreRows', 'AggregateTile', 'MultiplyBlock',
         'shmem', 'memmove', 'clear_page', 'exc_page_fault', 'LaunchedRanks']
counted = named[6:12]
seconds = collections.Counter()
for stack in sys.stdin.read().split('\n\n'):
    seconds[next((name for name in named if name in stack), '')] += 1 / 499
print('R = $size × $((threads / size)) threads: %.2f s:' % sum(seconds[name] for name in counted),
      ', '.join('%s %.2f' % (name, seconds[name]) for name in counted))"
  done
}

# The ways take turns, so that a machine that others use is fair to each.
steps() {
  local hidden=${1:-128} turn way command
  "$program" generate reddit --scale 0.2 -o "$base/data" -q >/dev/null || { complain "no data set"; return; }
  local train=(train "$base/data" --preset paper --method lgcn --hidden "$hidden" --epochs 2 --threads 1 --device cpu --json -o "$base/run" --force)
  exchange=(--exchange messages)
  for ((turn = 0; turn < ${TURNS:-3}; ++turn)); do
    for way in one alone shared; do
      if [ $way = one ]; then launch 1 "${train[@]}"; else launch 2 "${train[@]}" --rank-steps $way; fi
      "${command[@]}" 2>/dev/null >"$base/result" || complain "$way"
      python3 -c "import json, sys; print(sys.argv[1], json.load(sys.stdin)['seconds']['train'])" $way <"$base/result" >>"$base/steps"
      cp "$base/run/model.safetensors" "$base/$way.model"
      cmp -s "$base/one.model" "$base/$way.model" || complain "$way: other bytes"
    done
  done
  for way in one alone shared; do
    echo "$way: train $(awk -v way=$way '$1 == way { print $2 }' "$base/steps" | sort -g | head -1) s"
  done
  ranks 2 "${train[@]}" 2>&1 >/dev/null | grep '^steps of'
}

# Two ranks, each in a network namespace with a host name of its own: mpirun reaches the second one by a launcher that
# enters its namespace in place of ssh.
network() {
  local space rate speed microseconds
  declare -A reached
  if ! ip netns add l2gcn0 2>"$base/err" || ! ip netns add l2gcn1 2>>"$base/err"; then
    complain "no network namespaces here: $(head -1 "$base/err")"
    return
  fi
  trap 'ip netns del l2gcn0; ip netns del l2gcn1; rm -rf "$base"' EXIT
  ip link add l2link0 netns l2gcn0 type veth peer name l2link1 netns l2gcn1 || { complain "no veth links here"; return; }
  for space in 0 1; do
    ip -n l2gcn$space address add 10.231.0.$((space + 1))/24 dev l2link$space
    ip -n l2gcn$space link set l2link$space up
    ip -n l2gcn$space link set lo up
  done
  cat >"$base/enter" <<'AGENT'
#!/bin/sh
space=l2gcn$(( ${1##*.} - 1 ))
shift
exec ip netns exec $space unshare --uts sh -c "hostname $space; $*"
AGENT
  chmod +x "$base/enter"
  local through=(mpirun "${as_root[@]}" -q --mca plm_rsh_agent "$base/enter" --mca btl tcp,self --mca pml ob1
    --mca btl_tcp_if_include 10.231.0.0/24 --mca oob_tcp_if_include 10.231.0.0/24 --bind-to none
    --host 10.231.0.1:1,10.231.0.2:1 -n 2 -x "LD_LIBRARY_PATH=$build")
  for rate in 1 10; do
    for space in 0 1; do
      tc -n l2gcn$space qdisc replace dev l2link$space root tbf rate ${rate}gbit burst $((rate * 256))kb latency 20ms ||
        { complain "no token bucket (tc tbf) here"; return; }
    done
    read -r microseconds _ _ _ _ speed _ < <("$base/enter" 10.231.0.1 "${through[@]}" "$build/bench/ranks_link")
    [ -n "$speed" ] || { complain "ranks do not reach each other through the link"; return; }
    echo "$rate Gbit/s: $microseconds us there and back, $speed MB/s each way"
    reached[$rate]=$speed
    "$base/enter" 10.231.0.1 "${through[@]}" "$program" train synthetic:reddit --preset paper --method lgcn --epochs 1 --threads 1 \
      --device cpu -q --json -o "$base/run" --force --exchange messages |
      python3 -c "import json, sys; s = json.load(sys.stdin)['seconds']; print('  reddit\'s shape, 2 ranks: aggregate', round(s['aggregate'], 2), 's, transform', round(s['transform'], 2), 's')"
  done
  papers "${reached[1]}" "${reached[10]}"
}

# papers RATE1 RATE10 (MB/s): one inner layer of papers100M, computed from the rates: 111 M nodes, 3.23 G entries, rows of
# four cache lines. A machine gathers 105 M lines a second; a rank that aggregates gets N·(R−1)/R lines for each of its
# lines, and returns as many.
papers() {
  awk -v one="$1" -v ten="$2" 'BEGIN {
    nodes = 111e6; lines = 12.9e9; gathered = 105e6
    print "| machines | aggregate | exchange, 1 Gbit/s | exchange, 10 Gbit/s | together |\n|---|---|---|---|---|"
    for (r = 1; r <= 16; r *= 2) {
      busy = r < 4 ? r : 4
      sums = lines / gathered / busy
      bytes = 2 * nodes * (r - 1) / r * 64 * 4 / busy
      a = bytes / (one * 1e6); b = bytes / (ten * 1e6)
      if (r == 1) printf "| 1 | %.0f s | – | – | %.0f s |\n", sums, sums
      else printf "| %d | %.0f s | %.0f s | %.0f s | %.0f or %.0f s |\n", r, sums, a, b, sums + a, sums + b
    }
  }'
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

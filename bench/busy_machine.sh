#!/usr/bin/env bash
# How training fares on a machine that is not its own: beside processes that spin on every core, with more
# threads than cores, and under a CPU quota. Every figure is a ratio of runs made in turns.
#   bench/busy_machine.sh [PROGRAM] [TURNS]      default: build/release/l2gcn, 5 turns; the median counts
#   taskset -c 0,1 bench/busy_machine.sh         on two cores of a larger machine
# Needs L2GCN_DATA with cora and pubmed, or takes synthetic graphs of the same shapes.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build/release/l2gcn}
turns=${2:-5}
cores=$(nproc)
work=$(mktemp -d)
spinners=()
stop_spinners() {
  for pid in "${spinners[@]}"; do kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; done
  spinners=()
}
trap 'stop_spinners; rm -rf "$work"' EXIT

start_spinners() {  # one on each core
  for ((i = 0; i < cores; ++i)); do
    bash -c 'while :; do :; done' &
    spinners+=($!)
  done
}

set_of() { if [[ -n ${L2GCN_DATA:-} && -e $L2GCN_DATA/$1 ]]; then echo "$1"; else echo "synthetic:$1"; fi; }
arguments() {
  case $1 in
    cora) echo "$(set_of cora) --preset paper --method lgcn --epochs 80" ;;
    pubmed) echo "$(set_of pubmed) --preset paper --method lgcn --epochs 80" ;;
    graphsage) echo "$(set_of cora) --method graphsage --epochs 40" ;;
  esac
}
# Seconds of training; $1: job, $2: threads or "" for the default.
seconds() {
  # shellcheck disable=SC2046
  "$program" train $(arguments "$1") ${2:+--threads "$2"} --device cpu --json -q -o "$work/run" --force 2>/dev/null |
    grep -o '"seconds":{[^}]*}' | grep -o '"train":[0-9.e+-]*' | head -1 | cut -d: -f2
}
median() { sort -g | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

echo "$cores cores, load $(cut -d" " -f1 /proc/loadavg), median of $turns turns; seconds of training"
printf '%-10s %9s %9s %6s   %9s %9s %6s\n' job idle spinning ratio "$cores thr" "$((4 * cores)) thr" ratio
for job in cora pubmed graphsage; do
  for ((turn = 0; turn < turns; ++turn)); do
    seconds "$job" "" >> "$work/$job.idle"
    seconds "$job" "$cores" >> "$work/$job.few"
    seconds "$job" $((4 * cores)) >> "$work/$job.many"
    start_spinners
    seconds "$job" "" >> "$work/$job.busy"
    stop_spinners
  done
  idle=$(median < "$work/$job.idle") busy=$(median < "$work/$job.busy")
  few=$(median < "$work/$job.few") many=$(median < "$work/$job.many")
  awk -v j="$job" -v i="$idle" -v b="$busy" -v f="$few" -v m="$many" \
    'BEGIN {printf "%-10s %9.4f %9.4f %6.2f   %9.4f %9.4f %6.2f\n", j, i, b, b / i, f, m, m / f}'
done

# A group with a quota of one and a half cores, where this user may make one.
quota_group() {
  if [[ -w /sys/fs/cgroup/cpu && -e /sys/fs/cgroup/cpu/cpu.cfs_period_us ]]; then
    group=/sys/fs/cgroup/cpu/l2gcn-bench-$$
    mkdir "$group" && echo 100000 > "$group/cpu.cfs_period_us" && echo 150000 > "$group/cpu.cfs_quota_us"
  elif [[ -w /sys/fs/cgroup/cgroup.subtree_control ]] && grep -qw cpu /sys/fs/cgroup/cgroup.controllers; then
    echo +cpu > /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null || return 1
    group=/sys/fs/cgroup/l2gcn-bench-$$
    mkdir "$group" && echo "150000 100000" > "$group/cpu.max"
  else
    return 1
  fi
}
if quota_group 2>/dev/null; then
  inside() { (echo "$BASHPID" > "$group/cgroup.procs" && seconds "$@"); }
  echo "quota of 1.5 cores: threads, seconds of training (the first row is the default)"
  for threads in "" 1 2 3 4 8 16; do
    ((${threads:-1} <= cores || ${threads:-1} <= 4)) || continue
    for job in cora pubmed; do
      for ((turn = 0; turn < turns; ++turn)); do inside "$job" "$threads"; done | median > "$work/quota.$job"
    done
    printf '%-8s cora %8.4f   pubmed %8.4f\n' "${threads:-default}" "$(cat "$work/quota.cora")" "$(cat "$work/quota.pubmed")"
  done
  rmdir "$group" || true
else
  echo "no control group may be made here: the quota is not measured"
fi

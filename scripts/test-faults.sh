#!/usr/bin/env bash
# Every single open, write, sync, rename and mkdir of a small train, resumed train, convert and predict is made to fail
# once, and once more ends the process there (tests/faults). After each: the earlier output is whole or the new one
# is, the status is not a signal's, a message was printed, going on gives the same bytes, and nothing is left over.
#
#   scripts/test-faults.sh [--quick] [BUILD] [STRIDE]    BUILD: folder with l2gcn and faults.so [build/release]; STRIDE:
#                                                        every how many calls [1; with --quick 7, half a minute on two
#                                                        cores]. Prints one line a command, and the number of faults.
set -u
stride=1
if [ "${1:-}" = --quick ]; then stride=7; shift; fi
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build/release}" && pwd) || exit 2
stride=${2:-$stride}
program=$build/l2gcn
library=$build/faults.so
[ -x "$program" ] && [ -e "$library" ] || { echo "build l2gcn and fault_library first" >&2; exit 2; }
kinds=open,write,sync,rename,mkdir
base=$(mktemp -d)
trap 'rm -rf "$base"' EXIT
export L2GCN_DATA=/nonexistent

# What every case starts from: a data set, an earlier run, an earlier conversion, earlier predictions.
mkdir "$base/start" "$base/new"
cd "$base/start" || exit 2
settings="--epochs 3 --hidden 8 --device cpu --threads 1 -q"
"$program" generate cora --nodes 200 --edges 600 --features 20 -o small -q
"$program" train small $settings --seed 5 -o run >/dev/null
"$program" convert small old.npz -q
"$program" predict run -o p.csv -q
"$program" embed run -o e.csv -q && cp e.csv p.csv && rm e.csv # an earlier p.csv that predictions do not equal

train="train small $settings --runs 2 --checkpoint-every 1 -o run --force"
convert="convert small old.npz --to npz --largest-component --force -q"
predict="predict run -o p.csv -q"

# Bytes of what a command makes; times and memory in result.json and log.jsonl are not looked at.
outputs() {
  case $1 in
    train | resume) cat run/seed-*/model.safetensors run/seed-*/config.json 2>/dev/null || cat run/model.safetensors run/config.json ;;
    convert) cat old.npz ;;
    predict) cat p.csv ;;
  esac | sha256sum
}

failures=0
complain() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }

# name, arguments: counts its calls, then tries each.
try() {
  local name=$1 arguments=$2 prepared=$3
  rm -rf "$base/work" && cp -r "$prepared" "$base/work" && cd "$base/work" || exit 2
  local before; before=$(outputs "$name")
  L2GCN_FAULT_KINDS=$kinds L2GCN_FAULT_COUNT=$base/count LD_PRELOAD=$library "$program" $arguments >/dev/null 2>&1 ||
    complain "$name does not succeed without a fault"
  local after calls tried=0; after=$(outputs "$name"); calls=$(cat "$base/count")
  ls -A >"$base/names"
  for ((n = 1; n <= calls; n += stride)); do
    for how in fail kill; do
      cd "$base" && rm -rf work && cp -r "$prepared" work && cd work || exit 2
      { L2GCN_FAULT_KINDS=$kinds L2GCN_FAULT_AT=$n L2GCN_FAULT_HOW=$how LD_PRELOAD=$library "$program" $arguments \
        >/dev/null; } 2>"$base/said"
      local status=$? where="$name call $n ($how)"
      tried=$((tried + 1))
      if [ $how = fail ]; then
        case $status in 0 | 1 | 2) ;; *) complain "$where: status $status" ;; esac
        [ $status = 0 ] || [ -s "$base/said" ] || complain "$where: no message"
        grep -qiE "exception|terminate|filesystem error" "$base/said" && complain "$where: $(head -c 300 "$base/said")"
      fi
      local now; now=$(outputs "$name")
      [ "$now" = "$before" ] || [ "$now" = "$after" ] || complain "$where: neither the earlier nor the new output is whole"
      # Going on: an unfinished run is resumed, anything else is started again.
      if [ -e run.unfinished/checkpoint/begun.json ] || [ -e run.unfinished/result.json ]; then
        "$program" train --resume run --force -q --threads 2 >/dev/null 2>"$base/said" || complain "$where: resume: $(cat "$base/said")"
      elif [ "$now" != "$after" ]; then
        "$program" ${arguments/--resume run/$train} >/dev/null 2>"$base/said" || complain "$where: again: $(cat "$base/said")"
      fi
      [ "$(outputs "$name")" = "$after" ] || complain "$where: going on gives other bytes"
      if ! diff <(ls -A) "$base/names" >/dev/null; then
        # What a killed process left goes with the next write of the same name.
        "$program" $arguments >/dev/null 2>&1 || "$program" $train >/dev/null 2>&1
        diff <(ls -A) "$base/names" >/dev/null || complain "$where: left over: $(ls -A | tr '\n' ' ')"
      fi
    done
  done
  echo "$name: $calls calls, $tried faults"
  total=$((${total:-0} + tried))
}

try train "$train" "$base/start"
# A training cut off in its second seed, for the resumed one: at the last call at which that is so.
cut_off() {
  for ((n = $(cat "$base/count"); n > 0; n -= 5)); do
    rm -rf "$base/cut" && cp -r "$base/start" "$base/cut" && cd "$base/cut" || exit 2
    { L2GCN_FAULT_KINDS=$kinds L2GCN_FAULT_AT=$n L2GCN_FAULT_HOW=kill LD_PRELOAD=$library "$program" $train; } >/dev/null 2>&1
    [ ! -e run.unfinished/checkpoint/seed-0.json ] || [ -e run.unfinished/result.json ] || return 0
  done
  return 1
}
if cut_off; then try resume "train --resume run -q --threads 1" "$base/cut"; else complain "no call is in the second seed"; fi
try convert "$convert" "$base/start"
try predict "$predict" "$base/start"
echo "faults injected: $total, failures: $failures"
[ $failures = 0 ]

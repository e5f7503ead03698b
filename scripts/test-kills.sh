#!/usr/bin/env bash
# kill -9 at random moments. Trainings are resumed, and must give the same bytes as one that was never disturbed; of
# other commands the earlier output or the new one must be whole, and nothing may be left once they ran again.
#
#   scripts/test-kills.sh [--quick] [--device DEVICE] [BUILD] [TRAININGS] [OTHERS] [SEED]    [cpu build/release 200 100 1]
#
# --quick kills each training and each other command twice, where no numbers are given: half a minute on two cores.
# --device cuda, on a machine with a GPU, trains there what can train there; methods that train on the processor alone
# (vrgcn) and commands without a device do as always. Give 0 for what is to be left out.
set -u
device=cpu trainings=200 others=100
if [ "${1:-}" = --quick ]; then trainings=12 others=12; shift; fi
if [ "${1:-}" = --device ]; then device=$2; shift 2; fi
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$root/build/release}" && pwd) || exit 2
trainings=${2:-$trainings} others=${3:-$others}
RANDOM=${4:-1}
program=$build/l2gcn
base=$(mktemp -d)
trap 'rm -rf "$base"' EXIT
cd "$base" || exit 2
failures=0 killed=0
"$program" train synthetic:cora --preset paper --method lgcn --epochs 1 --device "$device" -q -o can-train >/dev/null || exit 2 # says why not
rm -rf can-train
complain() { echo "FAILED: $*" >&2; failures=$((failures + 1)); }

# A digest of all that must be equal in a run: models, settings, and log and result without wall-clock fields and memory.
digest() {
  python3 - "$1" <<'PYTHON'
import hashlib, json, pathlib, sys
clock = {"seconds", "seconds_sd", "setup_seconds", "train_seconds", "aggregate_seconds", "transform_seconds", "memory", "run", "threads",
         "peak_rss_bytes", "training_bytes", "files", "checksum"}
def strip(value):
    if isinstance(value, dict): return {k: strip(v) for k, v in value.items() if k not in clock}
    if isinstance(value, list): return [strip(v) for v in value]
    return value
total, root = hashlib.sha256(), pathlib.Path(sys.argv[1])
for path in sorted(p for p in root.rglob("*") if p.is_file() and p.name != "comparison.txt"):
    data = path.read_bytes()
    if path.suffix == ".svg": data = b""  # figures of a comparison show its seconds
    if path.suffix == ".json": data = json.dumps(strip(json.loads(data))).encode()
    if path.suffix == ".jsonl": data = b"".join(json.dumps(strip(json.loads(line))).encode() for line in data.splitlines())
    total.update(str(path.relative_to(root)).encode() + hashlib.sha256(data).digest())
print(total.hexdigest())
PYTHON
}

now_ms() { date +%s%3N; }

# Starts "$@" in the background and kills it after a random part of `most` milliseconds. True if it was killed.
kill_at_random() {
  local most=$1
  shift
  "$@" >/dev/null 2>&1 &
  local pid=$!
  sleep "$(awk -v r=$RANDOM -v m="$most" 'BEGIN { printf "%.3f", r / 32768 * m / 1000 }')"
  { kill -9 $pid && wait $pid; } 2>/dev/null
  [ $? = 137 ]
}

# name, arguments, number of kills, epochs between checkpoints
train_kills() {
  local name=$1 arguments=$2 count=$3 every=$4 begin end kills=0 tries=0
  begin=$(now_ms)
  "$program" train $arguments --hidden 16 --checkpoint-every $every -q -o "$name-whole" >/dev/null || { complain "$name does not train"; return; }
  end=$(now_ms)
  local wanted; wanted=$(digest "$name-whole")
  while [ $kills -lt "$count" ] && [ $tries -lt $((4 * count)) ]; do
    rm -rf "$name" "$name".unfinished
    tries=$((tries + 1))
    kill_at_random $((end - begin)) "$program" train $arguments --hidden 16 --checkpoint-every $every -q -o "$name" || continue
    kills=$((kills + 1))
    # Now and then the resumed one is killed, too.
    if [ -d "$name.unfinished" ] && [ $((kills % 4)) = 0 ]; then
      kill_at_random $((end - begin)) "$program" train --resume "$name" -q && kills=$((kills + 1))
    fi
    if [ -e "$name.unfinished/checkpoint/begun.json" ] || [ -e "$name/result.json" ] || [ -e "$name.unfinished/result.json" ]; then
      "$program" train --resume "$name" --threads 1 -q >/dev/null 2>said || complain "$name kill $kills: $(cat said)"
    else # it was killed before it had written anything down
      "$program" train $arguments --hidden 16 -q -o "$name" >/dev/null 2>said || complain "$name kill $kills, again: $(cat said)"
    fi
    [ "$(digest "$name")" = "$wanted" ] || complain "$name kill $kills: other bytes"
    [ -z "$(find . -maxdepth 1 -name "*$name*" ! -name "$name" ! -name "$name-whole" -print)" ] ||
      complain "$name kill $kills: left over: $(ls -A)"
  done
  killed=$((killed + kills))
  echo "$name: $kills kills"
}

each=$(((trainings + 5) / 6))
"$program" generate reddit --scale 0.004 -o shape -q
train_kills cora "synthetic:cora --preset paper --method lgcn --epochs 40 --device $device" $each 5
train_kills pubmed "synthetic:pubmed --preset paper --method lgcn --epochs 12,12 --device $device" $each 3
train_kills reddit "shape --preset paper --method lgcn --epochs 6 --device $device" $each 1
train_kills runs5 "synthetic:cora --preset paper --method lgcn --runs 5 --epochs 10 --device $device" $each 4
train_kills l2gcn "synthetic:cora --preset paper --method l2gcn --epochs 40 --device $device" $each 5
train_kills vrgcn "synthetic:cora --method vrgcn --epochs 8 --dropout 0.2 --device cpu" $((trainings - 5 * each)) 2
echo "trainings killed: $killed (device $device), failures: $failures"

# name, output, arguments, files that are left on purpose until it is gone on with, number of kills
other_kills() {
  local name=$1 output=$2 arguments=$3 kept=$4 count=$5 begin end kills=0 tries=0
  rm -rf "$output"
  begin=$(now_ms)
  "$program" $arguments >/dev/null 2>said || { complain "$name does not run: $(cat said)"; return; }
  end=$(now_ms)
  local wanted; wanted=$(whole "$output")
  ls -A >names
  while [ $kills -lt "$count" ] && [ $tries -lt $((4 * count)) ]; do
    tries=$((tries + 1))
    [ $((tries % 2)) = 0 ] && rm -rf "$output" "$output.json" # now with an earlier output, now without
    kill_at_random $((end - begin)) "$program" $arguments || continue
    kills=$((kills + 1))
    if [ -e "$output" ] && [ "$(whole "$output")" != "$wanted" ]; then complain "$name kill $kills: half an output"; fi
    "$program" $arguments >/dev/null 2>said || complain "$name kill $kills, again: $(cat said)"
    [ "$(whole "$output")" = "$wanted" ] || complain "$name kill $kills: other bytes"
    ls -A >names-now
    diff names names-now >/dev/null || complain "$name kill $kills: left over: $(diff names names-now | tr '\n' ' ')"
  done
  killed_others=$((${killed_others:-0} + kills))
  echo "$name: $kills kills"
}
whole() {
  if [ -d "$1" ]; then digest "$1"; else sha256sum <"$1"; fi
}

"$program" train shape --preset paper --method lgcn --epochs 2 -q -o model --force --device $device >/dev/null
touch names names-now said
each=$(((others + 5) / 6))
other_kills convert converted "convert shape converted --force -q" "" $each
other_kills generate made "generate pubmed --nodes 30000 -o made --force -q" "" $each
other_kills predict p.csv "predict model -o p.csv -q" "" $each
other_kills embed e.npy "embed model -o e.npy -q" "" $each
other_kills learn-controller controller "learn-controller synthetic:cora --kind paper --rounds 30 --nodes 200 -o controller --force -q" .state $each
other_kills compare compared "compare synthetic:cora --preset paper --methods lgcn,gcn --epochs 10 -o compared --force -q --device cpu" "" $((others - 5 * each))
echo "other commands killed: ${killed_others:-0}, failures: $failures"
[ $failures = 0 ]

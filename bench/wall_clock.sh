#!/usr/bin/env bash
# The whole process's wall clock from a native directory, phase by phase: generated reddit and amazon3m by lgcn, l2gcn and
# layerwise with --lr auto, and amazon3m with 512 MiB of device memory. Generation is not counted. Further programs are run in turns with the first.
#   bench/wall_clock.sh [--device DEVICE] [--runs N] [PROGRAM…]     [cuda, 3, build/release/l2gcn]
set -euo pipefail
device=cuda runs=3
while [[ ${1:-} == --* ]]; do
  case $1 in
    --device) device=$2 ;;
    --runs) runs=$2 ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
root=$(cd "$(dirname "$0")/.." && pwd)
programs=("${@:-$root/build/release/l2gcn}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name, program, data set, further options: one line with the wall clock, when the result was printed, and the JSON's seconds.
timed() {
  local name=$1 program=$2 data=$3
  shift 3
  python3 - "$name" "$program" train "$work/$data" --device "$device" --json -q -o "$work/run" --force --preset paper "$@" <<'PYTHON'
import json, subprocess, sys, time
name, *command = sys.argv[1:]
start = time.time()
process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
line = process.stdout.readline()
printed = time.time() - start
rest, said = process.communicate()
wall = time.time() - start
if process.returncode:
    sys.exit(f"{name}: {said[-500:]}")
result = json.loads(line + rest)
phases = " ".join(f"{phase} {seconds:.4f}" for phase, seconds in result["seconds"].items())
memory = result["memory"]
print(f"{name}: wall {wall:.3f} printed {printed:.3f} {phases} | F1 {result['f1']['test']:.5f} epochs {result['epochs']}"
      f" MiB device {memory['peak_device_bytes'] / 2**20:.0f} host {memory['peak_rss_bytes'] / 2**20:.0f}", flush=True)
PYTHON
}

for shape in reddit amazon3m; do
  "${programs[0]}" generate "$shape" -o "$work/$shape" -q > /dev/null
  for method in lgcn l2gcn "layerwise --lr auto"; do
    for ((run = 0; run < runs; ++run)); do
      for program in "${programs[@]}"; do timed "$shape $method $program" "$program" "$shape" --method $method; done
    done
  done
done
[[ $device == cpu ]] && exit
for program in "${programs[@]}"; do timed "amazon3m 512M $program" "$program" amazon3m --method lgcn --device-memory 512M; done

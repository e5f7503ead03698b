#!/usr/bin/env bash
# Benchmarks in one run: the machine's ceilings, kernels, layers, aggregation, whole trainings, and, where a
# Python with PyTorch is at hand, the same work in PyTorch on the same cores with the ratio.
#
#   bench/suite.sh [--threads N] [--seconds S] [--out DIR] [--quick]
#
# Prints tables and writes DIR/bench.json, DIR/whole.json and DIR/peers.json (DIR: build/bench). --quick leaves
# out the reddit shape's whole training and PyTorch's aggregation of it. PYTHON names the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

threads=$(nproc) seconds=1 out=build/bench quick=0
while [ $# -gt 0 ]; do
  case "$1" in
    --threads) threads=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --quick) quick=1; shift ;;
    *) echo "suite.sh: unknown option '$1'; expected --threads, --seconds, --out or --quick" >&2; exit 2 ;;
  esac
done
build=${BUILD:-build/release}
bench=$build/bench/l2gcn_bench
program=$build/l2gcn
for binary in "$bench" "$program"; do
  [ -x "$binary" ] || { echo "suite.sh: $binary is missing; build it: cmake --build --preset release" >&2; exit 2; }
done
mkdir -p "$out"

# OpenBLAS releases older than the processor fall back to SSE, for PyTorch as for the ceiling: name the core.
if [ -z "${OPENBLAS_CORETYPE:-}" ]; then
  if grep -q avx512vl /proc/cpuinfo; then export OPENBLAS_CORETYPE=SkylakeX
  elif grep -q avx2 /proc/cpuinfo; then export OPENBLAS_CORETYPE=Haswell
  fi
fi

"$bench" --threads "$threads" --seconds "$seconds" --json "$out/bench.json"

# Whole trainings on generated graphs: seconds of aggregate + train + transform.
shapes="cora pubmed"
[ "$quick" = 1 ] || shapes="$shapes reddit"
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
for shape in $shapes; do
  epochs=80
  [ "$shape" = pubmed ] && epochs=100
  "$program" train "synthetic:$shape" --preset paper --method lgcn --epochs "$epochs" --threads "$threads" --device cpu --quiet \
    --json -o "$runs/$shape" > "$runs/$shape.json"
done

python=${PYTHON:-}
for candidate in $python python3 /usr/bin/python3; do
  if "$candidate" -c 'import torch' 2> /dev/null; then python=$candidate; break; fi
done
if [ -n "$python" ]; then
  peers="cora pubmed"
  [ "$quick" = 1 ] || peers="$peers aggregate"
  # shellcheck disable=SC2086  # a list of shapes
  OMP_NUM_THREADS=$threads "$python" bench/peers.py --threads "$threads" --json "$out/peers.json" $peers > /dev/null
else
  rm -f "$out/peers.json"
  echo "no Python with PyTorch found (Debian: python3-torch); set PYTHON to name one"
fi

"${python:-python3}" - "$out" "$runs" $shapes << 'EOF'
import json, os, sys
out, runs, shapes = sys.argv[1], sys.argv[2], sys.argv[3:]
peers = json.load(open(f"{out}/peers.json")) if os.path.exists(f"{out}/peers.json") else {}
bench = json.load(open(f"{out}/bench.json"))
whole = {}
print(f"\n{'whole training':<24}{'seconds':>10}{'PyTorch ' + peers.get('torch', '-'):>20}{'ratio':>8}")
for shape in shapes:
    seconds = json.load(open(f"{runs}/{shape}.json"))["seconds"]
    own = seconds["aggregate"] + seconds["train"] + seconds["transform"]
    peer = peers.get(shape, {}).get("total")
    whole[shape] = {"seconds": own, "peer_seconds": peer}
    print(f"{shape:<24}{own:>10.4f}{peer if peer is None else round(peer, 3)!s:>20}"
          f"{'-' if peer is None else f'{peer / own:.1f}':>8}")
if "aggregate" in peers:
    figures = [f for f in bench["figures"] if f["name"] == "reddit train x 602 f32"]
    if figures:
        per_byte = figures[0]["gbps"] / peers["aggregate"]["gbps"]
        print(f"{'aggregate reddit train':<24}{figures[0]['seconds']:>10.4f}{peers['aggregate']['seconds']:>20.3f}"
              f"{per_byte:>8.1f}")
        whole["aggregate"] = {"ratio": per_byte, **peers["aggregate"]}
json.dump(whole, open(f"{out}/whole.json", "w"), indent=1)
EOF

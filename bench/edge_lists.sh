#!/usr/bin/env bash
# Times edge lists in text: parsing on one thread beside wc -l and NumPy, and whole conversions with their peak memory.
# usage: bench/edge_lists.sh [EDGES [NODES]]   (100000000 10000000: the figures of docs/performance.md; needs 10 GB of disk)
set -euo pipefail
cd "$(dirname "$0")/.."
edges=${1:-100000000} nodes=${2:-10000000}
bench=build/release/bench/edge_list_bench program=build/release/l2gcn
python=
for candidate in ${PYTHON:-} python3 /usr/bin/python3; do
  if "$candidate" -c 'import numpy' 2>/dev/null; then python=$candidate; break; fi
done
folder=$(mktemp -d "${TMPDIR:-/tmp}/l2gcn-edges-XXXXXX")
trap 'rm -rf "$folder"' EXIT
for kind in integer text; do
  list=$folder/$kind.tsv
  "$bench" make "$list" "$edges" "$nodes" "$kind"
  echo "== $kind ids: $(stat -c %s "$list") bytes"
  /usr/bin/time -f 'wc -l: %e s' wc -l "$list" >/dev/null
  "$bench" parse "$list"
  if [ "$kind" = integer ] && [ -n "$python" ]; then
    head -n 2000000 "$list" >"$folder/head.tsv"
    "$python" - "$folder/head.tsv" <<'PYTHON'
import os, sys, time, numpy
start = time.time(); numpy.fromfile(sys.argv[1], dtype=numpy.int64, sep=' ')
print(f"numpy.fromfile: {os.path.getsize(sys.argv[1]) / 1e6 / (time.time() - start):.0f} MB/s")
PYTHON
  fi
  /usr/bin/time -f 'convert: %e s, peak %M KiB' "$program" convert "$list" "$folder/$kind" --memory 1G --threads 2
  /usr/bin/time -f 'open: %e s' "$program" info "$folder/$kind" >/dev/null
  rm -rf "$list" "${folder:?}/$kind"
done

#!/usr/bin/env bash
# Opens reports in Debian's chromium, headless: no console message, nothing fetched, charts drawn, hover, zoom and class
# choice, dark mode, 375 px to 4K, cues of wide tables, folded runs, print, tables without JavaScript, hostile names, size and time to open.
# Usage: scripts/test-browser.sh [--quick] [BINARY [FOLDER FOR PICTURES]]   (needs the packages chromium and python3)
# --quick opens the report of one small run: nothing on the console, nothing fetched, charts drawn, size. It takes seconds.
# L2GCN_SLOW_MACHINE=1 leaves out the limit on the time to open. L2GCN_AMAZON_SCALE=1 makes the large run as large as the
# paper's amazon3m (2.5 million nodes, minutes); otherwise it has a fiftieth of that.
set -euo pipefail
cd "$(dirname "$0")/.."
quick=
if [ "${1:-}" = --quick ]; then quick=1; shift; fi
binary=$(realpath "${1:-build/release/l2gcn}")
shots=${2:-build/browser}
command -v chromium >/dev/null || { echo "chromium is missing: apt-get install chromium" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# size NAME FILE MOST: a report may not be larger than so many bytes.
size() {
  local bytes; bytes=$(stat -c %s "$2")
  echo "report of a $1 run: $bytes bytes"
  [ "$bytes" -le "$3" ] || { echo "larger than $3 bytes" >&2; exit 1; }
}

if [ -n "$quick" ]; then
  "$binary" train synthetic:cora -o "$work/cora-run" --epochs 10 --quiet --report >/dev/null
  size cora-shaped "$work/cora-run/report.html" 1000000
  L2GCN_QUICK=1 python3 scripts/test-browser.py "$shots" "cora=file://$work/cora-run/report.html"
  exit
fi

# A small data set whose names would run if anything let them.
cat >"$work/nodes.csv" <<'CSV'
id,label,x,y,z
CSV
cat >"$work/edges.csv" <<'CSV'
source,target
CSV
python3 - "$work" <<'PY'
import csv, random, sys
random.seed(1)
labels = ['<script>window.hacked = true</script>', '"><img src=x onerror="window.hacked = true">', "\u05e9\u05dc\u05d5\u05dd \u202etfel-ot-thgir"]
with open(sys.argv[1] + '/nodes.csv', 'a', newline='') as file:
    rows = csv.writer(file)
    for i in range(150):
        k = i % 3
        rows.writerow([f"<svg onload='window.hacked=true'>{i}", labels[k]] + [round(random.gauss(2 if c == k else 0, 1), 4) for c in range(3)])
with open(sys.argv[1] + '/edges.csv', 'a', newline='') as file:
    rows = csv.writer(file)
    for i in range(150):
        for _ in range(3):
            j = random.randrange(50) * 3 + i % 3
            if i != j:
                rows.writerow([f"<svg onload='window.hacked=true'>{i}", f"<svg onload='window.hacked=true'>{j}"])
PY

"$binary" train synthetic:cora -o "$work/cora-run" --runs 3 --quiet --report >/dev/null
"$binary" train --edges "$work/edges.csv" --nodes "$work/nodes.csv" --label label -o "$work/hostile-run" --quiet --report >/dev/null
"$binary" compare synthetic:cora --methods lgcn,l2gcn,gcn --epochs 10 --json --quiet >"$work/compare.json"
"$binary" train synthetic:cora -o "$work/gcn-run" --preset paper --method gcn --epochs 10 --quiet >/dev/null
"$binary" report "$work/cora-run" "$work/gcn-run" -o "$work/runs.html" --quiet >/dev/null
"$binary" report "$work/compare.json" -o "$work/comparison.html" --quiet >/dev/null
"$binary" generate amazon3m --scale "${L2GCN_AMAZON_SCALE:-0.02}" -o "$work/amazon3m" --quiet >/dev/null
"$binary" train "$work/amazon3m" --preset paper --method lgcn --epochs 2 -o "$work/amazon3m-run" --quiet --report >/dev/null
size cora-shaped "$work/cora-run/report.html" 1000000
size amazon3m-shaped "$work/amazon3m-run/report.html" 3000000
python3 scripts/test-browser.py "$shots" "cora=file://$work/cora-run/report.html" "hostile=file://$work/hostile-run/report.html" \
  "amazon3m=file://$work/amazon3m-run/report.html" \
  "runs=file://$work/runs.html" "comparison=file://$work/comparison.html"
echo "pictures: $shots"

#!/usr/bin/env bash
# Checks that a run resolves its split once for each seed: in the modules that a training passes through, the one call of
# ResolveSplit is that of run/job.cpp, whose Job is passed down. What needs only the sizes of the parts asks CountSplit.
# A controller's search draws splits of its own, and reports redraw those of runs that did not store them.
set -euo pipefail
cd "$(dirname "$0")/../.."
modules=(core config graph ranks kernels pipeline model train run)
found=$(grep -rnE --include='*.h' --include='*.cpp' --include='*.cu' '\bResolveSplit\(' "${modules[@]/#/src/}" || true)
if [[ $(wc -l <<<"$found") != 1 || $found != src/run/job.cpp:* ]]; then
  echo "$found"
  echo "expected one call, in src/run/job.cpp; take the split from the Job, or its sizes from CountSplit" >&2
  exit 1
fi

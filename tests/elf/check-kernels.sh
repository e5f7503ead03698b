#!/usr/bin/env bash
# Objects for instruction sets beyond the baseline may export tables of functions and no function: one would be called,
# or its copy of an inline function linked, on processors that cannot run it.
#   check-kernels.sh OBJECT...
set -euo pipefail
[ $# -gt 0 ] || { echo "check-kernels.sh: name the objects to check" >&2; exit 2; }
found=$(nm -CAg --defined-only "$@" | grep -E ' [TWi] ' || true)
[ -z "$found" ] || { echo "exported functions:"; echo "$found"; exit 1; } >&2

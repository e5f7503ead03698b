#!/usr/bin/env bash
# Checks the include arrows between the rooms of src/ against the table in docs/architecture.md, which is the one
# place that says which room may include which. A row of that table reads
#
#   | `src/ROOM/` | what is in it | ROOM, ROOM, … |
#
# Every room may include itself and the public headers (l2gcn/…). Besides: public headers, the command line and the
# Python bindings include public headers alone, and only kernels/ itself includes kernels/cpu/ and kernels/cuda/.
set -euo pipefail
cd "$(dirname "$0")/../.."
status=0
fail() {
  echo "$1" >&2
  status=1
}

# "file room-included" for every quoted include below the given folders.
includes() {
  grep -rnE --include='*.h' --include='*.cpp' --include='*.cu' --include='*.cuh' '^#include "[a-z0-9_]+/' "$@" |
    sed -E 's#^([^:]+):[0-9]+:\#include "([a-z0-9_]+)/.*#\1 \2#'
}

declare -A allowed
while IFS='|' read -r _ folder _ may _; do
  room=$(sed -nE 's#^ *`src/([a-z]+)/` *$#\1#p' <<<"$folder")
  [[ -n $room ]] && allowed[$room]=" ${may//,/ } "
done <docs/architecture.md
[[ ${#allowed[@]} -gt 5 ]] || fail "docs/architecture.md: the table of rooms was not found"

for folder in src/*/; do
  room=$(basename "$folder")
  [[ -v allowed[$room] ]] || fail "src/$room/: has no row in docs/architecture.md"
done

while read -r file target; do
  room=${file#src/}
  room=${room%%/*}
  [[ $target == "$room" || $target == l2gcn || ${allowed[$room]-} == *" $target "* ]] ||
    fail "$file: includes $target/, which docs/architecture.md does not allow to $room"
done < <(includes src | sort -u)

while read -r file target; do
  [[ $target == l2gcn ]] || fail "$file: includes $target/; public headers, command line and bindings see l2gcn/ alone"
done < <(includes include apps python | sort -u)

while read -r line; do
  fail "$line: only kernels/ includes the files of a device"
done < <(grep -rnE '^#include "kernels/(cpu|cuda)/' src apps include | grep -v '^src/kernels/' || true)

exit $status

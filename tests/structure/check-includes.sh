#!/usr/bin/env bash
# Checks the dependencies between the modules of src/ against the table in docs/development/architecture.md, the one place that
# says which module may include which. A row of that table reads
#
#   | `src/MODULE/` | content | MODULE, MODULE, … |
#
# Every module may include itself and the public headers (l2gcn/…). Besides: public headers, the command line and the
# Python bindings include public headers alone, and only kernels/ itself includes kernels/cpu/ and kernels/cuda/.
set -euo pipefail
cd "$(dirname "$0")/../.."
table=docs/development/architecture.md
status=0
fail() {
  echo "$1" >&2
  status=1
}

# "file module-included" for every quoted include below the given folders.
includes() {
  grep -rnE --include='*.h' --include='*.cpp' --include='*.cu' --include='*.cuh' '^#include "[a-z0-9_]+/' "$@" |
    sed -E 's#^([^:]+):[0-9]+:\#include "([a-z0-9_]+)/.*#\1 \2#'
}

declare -A allowed
while IFS='|' read -r _ folder _ may _; do
  module=$(sed -nE 's#^ *`src/([a-z]+)/` *$#\1#p' <<<"$folder")
  [[ -n $module ]] && allowed[$module]=" ${may//,/ } "
done <$table
[[ ${#allowed[@]} -gt 5 ]] || fail "$table: the table of modules was not found"

for folder in src/*/; do
  module=$(basename "$folder")
  [[ -v allowed[$module] ]] || fail "src/$module/: has no row in $table"
done

while read -r file target; do
  module=${file#src/}
  module=${module%%/*}
  [[ $target == "$module" || $target == l2gcn || ${allowed[$module]-} == *" $target "* ]] ||
    fail "$file: includes $target/, which $table does not allow to $module"
done < <(includes src | sort -u)

while read -r file target; do
  [[ $target == l2gcn ]] || fail "$file: includes $target/; public headers, command line and bindings see l2gcn/ alone"
done < <(includes include apps python | sort -u)

while read -r line; do
  fail "$line: only kernels/ includes the files of a device"
done < <(grep -rnE '^#include "kernels/(cpu|cuda)/' src apps include | grep -v '^src/kernels/' || true)

exit $status

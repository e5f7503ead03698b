#!/usr/bin/env bash
# Checks that no code outside the table of methods and the presets spells a method's name: what a method does is
# a column of the table (src/config/methods.h), so that a new method is one row. The names come from the table
# itself. Module data is left out: it knows no methods, and two of its file formats share a name with one.
set -euo pipefail
cd "$(dirname "$0")/../.."
names=$(sed -nE 's/^ *\{\.name = "([^"]+)",$/\1/p' src/config/methods.cpp)
[[ $(wc -w <<<"$names") -gt 5 ]] || {
  echo "src/config/methods.cpp: the rows of the table were not found" >&2
  exit 1
}
pattern="\"($(paste -sd '|' <<<"$names"))\""
# The program and the library have the name of a method, too; these lines mean the program.
program='apps/l2gcn/program.cpp:.*app_\('
found=$(grep -rnE --include='*.h' --include='*.cpp' --include='*.cu' --include='*.in' "$pattern" src apps include |
  grep -vE '^src/config/(methods|presets)\.|^src/data/' | grep -vE "$program" || true)
if [[ -n $found ]]; then
  echo "$found"
  echo "use a column of the table (config/methods.h) in place of these names" >&2
  exit 1
fi

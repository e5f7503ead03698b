#!/usr/bin/env bash
# Checks that JSON is parsed with a limit on nesting everywhere: the library's parser recurses once a level, so that a
# file of a few hundred thousand brackets would end the program. Code calls ParseJson (core/json_text.h, and
# apps/l2gcn/result_text.h for the command line). The places below may call the parser itself:
allowed=(
  src/core/json_text.cpp      # ParseJson
  apps/l2gcn/result_text.cpp  # the command line's, over the public CheckJsonDepth
  src/data/json_maps.cpp      # events, refused beyond the depth that the file's shape has
  src/data/feature_files.cpp  # likewise
)
set -euo pipefail
cd "$(dirname "$0")/../.."
found=$(grep -rnE --include='*.h' --include='*.cpp' --include='*.cu' '(json|Json)::(parse|accept|sax_parse|from_[a-z]+)\(|>> *json' \
  src apps include python | grep -vE "^($(IFS='|'; echo "${allowed[*]//./\\.}")):" || true)
if [[ -n $found ]]; then
  echo "$found"
  echo "use ParseJson in place of these calls: it limits how deep JSON may be nested" >&2
  exit 1
fi

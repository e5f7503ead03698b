#!/usr/bin/env bash
# clang-tidy over every source file of the release build (.clang-tidy holds the settings). --changed takes only the files
# that differ from the last commit but one. scripts/test.sh does not run this: a file takes about 12 seconds of processor
# time, all of them together over 20 minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install-deps.sh --lint
cmake --preset release >/dev/null
files() {
  if [ "${1:-}" = --changed ]; then
    git diff --name-only --diff-filter=d HEAD~1 -- 'src/*.cpp' 'apps/*.cpp'
  else
    git ls-files -- 'src/*.cpp' 'apps/*.cpp'
  fi
}
files "$@" | xargs --no-run-if-empty -P "$(nproc)" -n 1 clang-tidy --quiet -p build/release

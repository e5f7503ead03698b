#!/usr/bin/env bash
# clang-tidy over every source file of the release build; .clang-tidy holds the settings.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install-deps.sh --lint
cmake --preset release >/dev/null
git ls-files -- 'src/*.cpp' 'apps/*.cpp' | xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p build/release

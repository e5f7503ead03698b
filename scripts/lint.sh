#!/usr/bin/env bash
# clang-tidy over every source file of the release build (.clang-tidy holds the settings), and the library as
# one translation unit: the sanitiser builds compile it by groups of files, which shift when one is added.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install-deps.sh --lint
cmake --preset release >/dev/null
git ls-files -- 'src/*.cpp' 'apps/*.cpp' | xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p build/release

cmake --preset asan -B build/one-unit -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 -DCMAKE_CXX_FLAGS="-Wno-subobject-linkage" >/dev/null
cmake --build build/one-unit --target l2gcn

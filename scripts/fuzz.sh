#!/usr/bin/env bash
# Fuzzes the readers with libFuzzer and the address and undefined-behaviour sanitizers (needs clang).
# usage: scripts/fuzz.sh [SECONDS [TARGET…]]   600 seconds a target unless told; findings go to build/fuzz/findings
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}; shift || true
targets=("$@"); [ ${#targets[@]} -gt 0 ] || targets=(npy unpickle npz edges table json svmlight yaml)
mkdir -p build/fuzz/objects build/fuzz/findings
flags=(-std=c++20 -O1 -g1 -Iinclude -Isrc -Itests -DL2GCN_VERSION='"fuzz"' -fsanitize=address,undefined
       -fno-sanitize-recover=all)
failed=0
objects=()
for source in src/core/*.cpp src/graph/build.cpp src/config/*.cpp src/data/*.cpp; do
  object=build/fuzz/objects/$(echo "$source" | tr / _).o
  [ "$object" -nt "$source" ] || clang++ "${flags[@]}" -fsanitize=fuzzer-no-link -c "$source" -o "$object"
  objects+=("$object")
done
for target in "${targets[@]}"; do
  clang++ "${flags[@]}" -fsanitize=fuzzer "tests/fuzz/fuzz_$target.cpp" "${objects[@]}" -o "build/fuzz/$target" \
    -lfmt -lyaml-cpp -ldeflate -lzstd -lz -lpthread
  mkdir -p "build/fuzz/corpus-$target"
  log=build/fuzz/$target.log
  if "build/fuzz/$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/findings/$target-" "build/fuzz/corpus-$target" "tests/fuzz/seeds/$target" >"$log" 2>&1; then
    echo "$target: $(grep -o 'Done .*' "$log")"
  else
    echo "$target: FOUND SOMETHING, see $log"
    failed=1
  fi
done
exit "$failed"

#!/usr/bin/env bash
# Fuzzes every reader, and whole commands (program), with libFuzzer and the address and undefined-behaviour sanitizers, as many at a time as there are cores.
# What need not be instrumented comes from a library without CUDA, which is built in build/fuzz/library; L2GCN_ARCHIVE
# names another one.
# usage: scripts/fuzz.sh [--quick | SECONDS [SEEDS…]]   each folder of tests/fuzz/seeds for 600 seconds unless told;
# --quick: 3 seconds; 0: builds only.
# Findings go to build/fuzz/findings; the exit status is not 0 if there are any.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/install-deps.sh --fuzz
export seconds=${1:-600}; [ $# -eq 0 ] || shift
[ "$seconds" != --quick ] || seconds=3
kinds=("$@"); [ ${#kinds[@]} -gt 0 ] || mapfile -t kinds < <(ls tests/fuzz/seeds)
mkdir -p build/fuzz/objects build/fuzz/findings
cache=; if command -v ccache >/dev/null; then cache=ccache; fi
export cache

compile() {  # SOURCE: an object of the library or, from tests/fuzz, of a target
  local object=build/fuzz/objects/${1//\//_}.o
  $cache clang++ -std=c++20 -O1 -g1 -Iinclude -Isrc -Itests -Iapps/l2gcn -DL2GCN_VERSION='"fuzz"' \
    -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -c "$1" -o "$object"
}
# The target of seeds/KIND or seeds/TARGET_KIND.
fuzz() {  # KIND
  local target=build/fuzz/${1%%_*} log=build/fuzz/$1.log
  mkdir -p "build/fuzz/corpus-$1"
  if "$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/findings/$1-" "build/fuzz/corpus-$1" "tests/fuzz/seeds/$1" >"$log" 2>&1; then
    echo "$1: $(grep -o 'Done .*' "$log"), $(grep -o 'cov: [0-9]*' "$log" | tail -n 1)"
  else
    echo "$1: FOUND SOMETHING, see $log"
    return 1
  fi
}
export -f compile fuzz

sources=(src/core/*.cpp src/graph/build.cpp src/config/*.cpp src/data/*.cpp src/model/model_files.cpp src/model/safetensors.cpp
  src/controller/controller_files.cpp src/controller/controller_impl.cpp src/controller/policy_net.cpp
  src/run/checkpoint.cpp src/run/run_lock.cpp src/run/run_directory.cpp src/run/file_sums.cpp src/run/result_json.cpp src/train/snapshot.cpp
  src/model/align.cpp src/model/score.cpp src/report/confusion.cpp src/report/export.cpp src/report/html/*.cpp
  src/report/serve/http_message.cpp src/report/serve/run_pages.cpp src/report/serve/serve.cpp src/report/figure/*.cpp)
commands=(apps/l2gcn/*.cpp)  # of the target program alone
for i in "${!commands[@]}"; do [ "${commands[i]}" != apps/l2gcn/main.cpp ] || unset "commands[i]"; done
# What reads no file (kernels, trainers, eigenvectors, which need Eigen's headers) comes as it is from an ordinary build.
for i in "${!sources[@]}"; do [ "${sources[i]}" != src/data/pca.cpp ] || unset "sources[i]"; done
sources=("${sources[@]}")
archive=${L2GCN_ARCHIVE:-build/fuzz/library/src/libl2gcn.a}
if [ -z "${L2GCN_ARCHIVE:-}" ]; then
  cmake -S . -B build/fuzz/library -G Ninja -DCMAKE_BUILD_TYPE=Release -DL2GCN_CUDA=OFF -DL2GCN_TESTS=OFF -DL2GCN_BENCH=OFF >/dev/null
  cmake --build build/fuzz/library --target src/libl2gcn.a >/dev/null
fi
targets=$(for kind in "${kinds[@]}"; do echo "${kind%%_*}"; done | sort -u)
[[ " ${targets//$'\n'/ } " == *" program "* ]] || commands=()
{ printf '%s\n' "${sources[@]}" "${commands[@]}"; for target in $targets; do echo "tests/fuzz/fuzz_$target.cpp"; done; } |
  xargs -P "$(nproc)" -I{} bash -c 'compile {}'
objects() { local files=("${@//\//_}"); printf 'build/fuzz/objects/%s.o\n' "${files[@]}"; }
for target in $targets; do
  files=("tests/fuzz/fuzz_$target.cpp" "${sources[@]}")
  [ "$target" != program ] || files+=("${commands[@]}")
  mapfile -t linked < <(objects "${files[@]}")
  clang++ -fsanitize=address,undefined,fuzzer "${linked[@]}" \
    -Wl,--allow-multiple-definition "$archive" -o "build/fuzz/$target" -lfmt -lyaml-cpp -ldeflate -lzstd -lz -lmetis -latomic -lpthread
done
[ "$seconds" = 0 ] || printf '%s\n' "${kinds[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz {}'

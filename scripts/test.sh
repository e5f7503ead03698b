#!/usr/bin/env bash
# Installs what is missing, checks the layout of the code, builds three times and runs every test:
#   release   all tests, as users run them
#   asan      all tests under address and undefined-behaviour sanitisers
#   tsan      the tests that use several threads, under the thread sanitiser
# Then it builds the Python package as a wheel, installs it into an environment of its own and runs its tests
# (scripts/test-python.sh); what needs torch is skipped there and runs in scripts/test-interop.sh.
# Then the short versions of the studies of damage: killed commands, failing system calls, mutated data sets and checkpoints,
# hostile clients (scripts/test-kills.sh, test-faults.sh, test-mutations.py, test-checkpoints.py, test-serve.sh without
# --quick are the long ones; scripts/fuzz.sh fuzzes for longer what ctest replays).
# A report is opened in a browser if chromium is installed.
# clang-tidy is not among them, as it takes longer than all the rest (scripts/lint.sh).
# --fast: the layout, the release build and its tests alone.
# With CI=true warnings are errors, if the compiler is Debian 12's GCC 12; newer ones know other warnings.
# Ends with "N passed, N failed" on a line of its own; the exit status says whether all is well.
set -euo pipefail
cd "$(dirname "$0")/.."

fast=no
for option in "$@"; do
  case $option in
    --fast) fast=yes ;;
    *) echo "test.sh: unknown option '$option'; it takes --fast or none" >&2; exit 2 ;;
  esac
done

# What all builds take together. What is built already need not be free.
needed_mb=4000
built_mb=$(du -sm build 2>/dev/null | cut -f 1 || true)
free_mb=$(df -m --output=avail . | tail -n 1)
if [ $((free_mb + ${built_mb:-0})) -lt $needed_mb ]; then
  echo "The tests build up to $needed_mb MB below $PWD/build; only $((free_mb)) MB are free there. Free some space, or clone to a larger disk." >&2
  exit 1
fi
echo "== the builds take up to $needed_mb MB of disk ($((free_mb)) MB are free)"

bash scripts/install-deps.sh --mpi --format

export L2GCN_WERROR=OFF
if [ "${CI:-}" = true ] && [[ $(c++ --version) == *"(Debian 12."* ]]; then L2GCN_WERROR=ON; fi

passed=0 failed=0 skipped=0
count() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3)); }

# check NAME COMMAND…: one check that is not a test of its own.
check() {
  local name=$1
  shift
  if "$@"; then count 1 0 0; else count 0 1 0; echo "FAILED: $name" >&2; fi
}

# The layout of the code is that of clang-format 14. Other versions lay some lines out differently.
formatter() {
  local name
  for name in clang-format-14 clang-format; do
    if [[ $("$name" --version 2>/dev/null) == *" version 14."* ]]; then echo "$name"; return; fi
  done
}
formatted() {
  find apps bench include python src tests -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' |
    xargs "$(formatter)" --dry-run -Werror
}

# attribute NAME FILE: a number from the first line of a JUnit report that has it.
attribute() { sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1; }

# build PRESET [TARGET…]
build() {
  local preset=$1
  shift
  echo "== build $preset"
  cmake --preset "$preset" -D L2GCN_WERROR="$L2GCN_WERROR" >/dev/null
  cmake --build --preset "$preset" ${1:+--target "$@"}
}

# run_tests PRESET: under its test preset, a few more at a time than there are cores, as many tests wait.
run_tests() {
  local preset=$1 report="$PWD/build/$1/tests.xml"
  echo "== test $preset"
  rm -f "$report"
  ctest --preset "$preset" -j $(($(nproc) * 3 / 2)) --output-junit "$report" >"build/$preset/tests.log" 2>&1 || tail -n 60 "build/$preset/tests.log"
  if [ ! -s "$report" ]; then
    echo "FAILED: the tests of $preset did not run" >&2
    count 0 1 0
    return
  fi
  local all bad not_run
  all=$(attribute tests "$report") bad=$(attribute failures "$report") not_run=$(attribute skipped "$report")
  echo "$preset: $((all - bad - not_run)) passed, $bad failed, $not_run skipped"
  count $((all - bad - not_run)) "$bad" "$not_run"
}

# run_python: the Python package's tests, counted like the others.
run_python() {
  local report="$PWD/build/python/tests.xml"
  echo "== test python"
  rm -f "$report"
  mkdir -p build/python
  bash scripts/test-python.sh --junitxml="$report" >build/python/tests.log 2>&1 || tail -n 60 build/python/tests.log
  if [ ! -s "$report" ]; then
    echo "FAILED: the tests of the Python package did not run" >&2
    count 0 1 0
    return
  fi
  local all bad not_run
  all=$(attribute tests "$report") not_run=$(attribute skipped "$report")
  bad=$(($(attribute failures "$report") + $(attribute errors "$report")))
  echo "python: $((all - bad - not_run)) passed, $bad failed, $not_run skipped"
  count $((all - bad - not_run)) "$bad" "$not_run"
}

if [ -n "$(formatter)" ]; then
  check 'code layout (clang-format -i fixes it)' formatted
else
  echo "layout check skipped: clang-format 14 is not installed (Debian 12 has it)"
  count 0 0 1
fi
# finish: the closing line and the exit status.
finish() {
  [ "$skipped" -eq 0 ] || echo "$skipped skipped (data, devices or tools that are not here; build/*/tests.log says which tests)"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}

build release
run_tests release
[ $fast = no ] || finish
run_python
build asan
run_tests asan
build tsan thread_tests
run_tests tsan

# The programs of the release build, as users run them.
for study in scripts/test-{kills,faults,serve}.sh scripts/test-{mutations,checkpoints}.py; do
  check "$study --quick" env L2GCN_SLOW_MACHINE=1 "$study" --quick
done

# A report opened in a real browser, where there is one.
if command -v chromium >/dev/null; then
  check 'the report in a browser (scripts/test-browser.sh --quick)' env L2GCN_SLOW_MACHINE=1 bash scripts/test-browser.sh --quick
else
  echo "browser check skipped: chromium is not installed (scripts/install-deps.sh --browser)"
  count 0 0 1
fi

finish

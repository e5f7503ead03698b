#!/usr/bin/env bash
# Installs what building and testing need, on Debian 12 and 13. Does nothing, and needs no root, when everything is there.
# This is the one list of packages. Options add to it:
#   --mpi      Open MPI (docs/guides/cluster.md)
#   --format   clang-format for the layout check of scripts/test.sh: Debian 12 alone has the version that it needs
#   --lint     scripts/lint.sh
#   --fuzz     scripts/fuzz.sh
#   --browser  scripts/test-browser.sh
#   --torch    scripts/test-interop.sh
#   --serve    ab, for scripts/test-serve.sh
set -euo pipefail

packages=(
  g++ cmake ninja-build make ccache     # compiler and build; make is CMake's default for projects that use the library
  mold                                  # links the sanitizer builds
  libfmt-dev nlohmann-json3-dev         # text and JSON
  libcli11-dev                          # command line
  zlib1g-dev libdeflate-dev libzstd-dev # compressed archives
  libxxhash-dev                         # checksums
  libmetis-dev                          # graph partitions for clustergcn
  libeigen3-dev                         # eigenvectors for --pca
  libyaml-cpp-dev                       # metadata of GraphBolt folders
  libmicrohttpd-dev                     # l2gcn serve
  libgtest-dev libbenchmark-dev         # tests and benchmarks
  python3                               # writes the tables that tests read
  python3-dev python3-venv              # the Python package
)
for option in "$@"; do
  case $option in
    --mpi) packages+=(libopenmpi-dev openmpi-bin) ;;
    --format) if (. /etc/os-release && [ "${VERSION_ID:-}" = 12 ]); then packages+=(clang-format-14); fi ;;
    --lint) packages+=(clang-tidy) ;;
    --fuzz) packages+=(clang libclang-rt-dev) ;;
    --browser) packages+=(chromium python3) ;;
    --torch) packages+=(python3-torch libopenblas0-pthread) ;;
    --serve) packages+=(apache2-utils) ;;
    *) echo "install-deps.sh: unknown option '$option'" >&2; exit 2 ;;
  esac
done

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || echo absent)
  [ "$status" = 'install ok installed' ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=(env DEBIAN_FRONTEND=noninteractive)
elif command -v sudo >/dev/null; then
  as_root=(sudo env DEBIAN_FRONTEND=noninteractive)
else
  echo "These packages are missing and need root to install: ${missing[*]}" >&2
  echo "Run as root: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null

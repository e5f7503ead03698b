#!/usr/bin/env bash
# Installs what building and testing need, on Debian 12; does nothing, and needs no root, when all of it is there.
# This is the one list of packages. --lint adds what scripts/lint.sh needs, --fuzz what scripts/fuzz.sh needs,
# --browser what scripts/test-browser.sh needs, --serve ab for scripts/test-serve.sh, --torch what scripts/test-interop.sh needs, --mpi Open MPI
# (docs/cluster.md).
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache          # compiler and build
  mold                                  # links the sanitiser builds
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
  clang-format                          # layout check
)
[ "${1:-}" = --lint ] && packages+=(clang-tidy)
[ "${1:-}" = --browser ] && packages+=(chromium python3)
[ "${1:-}" = --serve ] && packages+=(apache2-utils)
[ "${1:-}" = --torch ] && packages+=(python3-torch libopenblas0-pthread)
[ "${1:-}" = --mpi ] && packages+=(libopenmpi-dev openmpi-bin)
[ "${1:-}" = --fuzz ] && packages+=(clang libclang-rt-14-dev)

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

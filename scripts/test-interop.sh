#!/usr/bin/env bash
# Every Python test, those that need torch, PyTorch Geometric and DGL and the long comparisons with the program included.
# torch is Debian's (python3-torch); PyG 2.5.3 goes with it and with NumPy before 2, and so does DGL 1.1.3, whose list of
# requirements is left aside. Where DGL cannot be installed or imported, its test says so. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install-deps.sh
bash scripts/install-deps.sh --torch
folder=build/python
venv=$folder/venv-torch
mkdir -p "$folder"
packages=(scikit-build-core nanobind 'numpy<2' scipy pandas scikit-learn networkx matplotlib tqdm joblib mypy pytest auditwheel torch_geometric==2.5.3)
if [ "$(cat "$venv/packages" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$venv"
  /usr/bin/python3 -m venv --system-site-packages "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps dgl==1.1.3 psutil ||
    echo "DGL cannot be installed: its test is skipped"
  echo "${packages[*]}" >"$venv/packages"
fi
cmake --preset release >/dev/null
cmake --build --preset release --target l2gcn_cli
rm -rf "$folder/wheel"
CXX=${CXX:-c++} "$venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$folder/wheel" .
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$folder"/wheel/*.whl
# A wheel that other machines of the kind can use names the C library that it needs, and holds all other libraries.
tag=$("$venv/bin/auditwheel" show "$folder"/wheel/*.whl | grep -o 'manylinux_[0-9]*_[0-9]*_x86_64' | sort -u) ||
  { echo "the wheel is for this machine alone" >&2; exit 1; }
echo "auditwheel: $tag"
L2GCN_EVERYTHING=1 "$venv/bin/python" -m pytest python/tests "$@"

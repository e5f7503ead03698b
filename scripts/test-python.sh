#!/usr/bin/env bash
# Builds the Python package as a wheel, installs it into an environment of its own (build/python/venv) and runs its
# tests; arguments go to pytest. The wheel is compiled with the flags of the release preset, so where that is built
# already the compiler cache has every object of the library: it knows them by the compiler's name, too, hence CXX.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/install-deps.sh
folder=build/python
venv=$folder/venv
mkdir -p "$folder"
# A stamp says that the environment is whole, and for which list of packages.
packages=(scikit-build-core nanobind numpy scipy pandas polars scikit-learn networkx matplotlib tqdm joblib mypy pytest)
if [ "$(cat "$venv/packages" 2>/dev/null)" != "${packages[*]}" ]; then
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
  echo "${packages[*]}" >"$venv/packages"
fi
rm -rf "$folder/wheel"
CXX=${CXX:-c++} "$venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$folder/wheel" \
  --config-settings=cmake.define.L2GCN_WERROR="${L2GCN_WERROR:-OFF}" .
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$folder"/wheel/*.whl
"$venv/bin/python" -m pytest python/tests "$@"

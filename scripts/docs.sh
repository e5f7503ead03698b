#!/usr/bin/env bash
# Builds the documentation site into build/site, strictly: a broken link or a page outside the navigation is an error.
#   scripts/docs.sh           needs a built program (build/release/l2gcn, or $L2GCN_PROGRAM) and PyPI for the first run
#   scripts/docs.sh --serve   the same, served while you write
#   scripts/docs.sh --check   word counts, sentences, links, vocabulary and code blocks; Python's standard library alone
set -euo pipefail
cd "$(dirname "$0")/.."

action=build
case ${1-} in
  '') ;;
  --serve) action=serve ;;
  --check) exec python3 scripts/check-docs.py ;;
  *) echo "docs.sh: unknown option '$1'; expected --check or --serve" >&2; exit 2 ;;
esac

export L2GCN_PROGRAM=${L2GCN_PROGRAM:-$PWD/build/release/l2gcn}
if [ ! -x "$L2GCN_PROGRAM" ]; then
  echo "docs.sh: $L2GCN_PROGRAM: not found; build it with scripts/quickstart.sh or name a program with L2GCN_PROGRAM" >&2
  exit 2
fi
python3 scripts/check-docs.py
venv=build/docs/venv
if ! cmp -s docs/requirements.txt "$venv/requirements.txt"; then
  rm -rf "$venv"
  mkdir -p build/docs
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r docs/requirements.txt
  cp docs/requirements.txt "$venv/requirements.txt"
fi
if [ "$action" = serve ]; then
  exec "$venv/bin/mkdocs" serve
fi
"$venv/bin/mkdocs" build --strict --clean
echo "build/site/index.html"

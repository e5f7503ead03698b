#!/usr/bin/env bash
# Checks that no code outside src/config compares a setting with a word: settings that are one of a few words are enums
# (l2gcn/choices.h, l2gcn/controller.h), and the tables of settings alone know the words.
set -euo pipefail
cd "$(dirname "$0")/../.."
found=$(grep -rnE --include='*.h' --include='*.cpp' --include='*.cu' \
  '\b(config|complete|search|impl)(_|\(\))?(\.|->)[a-z_]+ *(==|!=) *"' src include apps python/bindings |
  grep -vE '^src/config/' || true)
if [[ -n $found ]]; then
  echo "$found"
  echo "make the setting an enum (config/choice_names.h has the words) in place of these comparisons" >&2
  exit 1
fi

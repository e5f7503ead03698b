#!/usr/bin/env bash
# Checks the hardening that docs/explanation/security.md promises of the ELF files we ship.
#   check.sh FILE...                each file is hardened
#   check.sh --can-fail COMPILER    every check finds what is wrong with a file built without any hardening
set -euo pipefail

# Functions that _FORTIFY_SOURCE replaces with checked ones. A small library may call none of them.
fortifiable='memcpy|memmove|memset|strcpy|strncpy|strcat|sprintf|snprintf|vsnprintf|fprintf|printf|read|fgets|fread'

# check FILE: prints what is wrong with it, one line each.
check() {
  local file=$1 header segments dynamic symbols
  header=$(readelf -hW "$file") segments=$(readelf -lW "$file")
  dynamic=$(readelf -dW "$file") symbols=$(readelf --dyn-syms -W "$file")

  grep -q 'Type: *DYN' <<<"$header" || echo "$file: is not position-independent"
  grep -q 'GNU_RELRO' <<<"$segments" && grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*\bNOW\b' <<<"$dynamic" ||
    echo "$file: has no full RELRO"
  grep -qE 'GNU_STACK.* RW +0x' <<<"$segments" || echo "$file: has an executable stack"
  grep -q '__stack_chk_fail' <<<"$symbols" || echo "$file: has no stack protector"
  grep -qE " __($fortifiable)_chk@" <<<"$symbols" ||
    ! grep -qE " ($fortifiable)@" <<<"$symbols" || echo "$file: is not compiled with _FORTIFY_SOURCE"

  # An empty element, as in "/lib:", is the current directory.
  local path element
  while IFS= read -r path; do
    while IFS= read -r -d : element; do
      case $element in
        /* | '$ORIGIN' | '$ORIGIN/'*) ;;
        '') echo "$file: has an empty element in its RUNPATH: [$path]" ;;
        *) echo "$file: has a relative element in its RUNPATH: [$path]" ;;
      esac
    done <<<"$path:"
  done < <(sed -nE 's/.*\((RUNPATH|RPATH)\).*\[(.*)\].*/\2/p' <<<"$dynamic")
}

if [ "$1" = --can-fail ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  printf '#include <cstdio>\nint main(int n, char** words) { char text[64]; std::snprintf(text, n * 9, "%%s", words[0]); return text[0]; }\n' >"$folder/bad.cpp"
  "$2" -O1 -U_FORTIFY_SOURCE -fno-stack-protector -no-pie -Wl,-z,norelro,-z,lazy,-z,execstack,-rpath,lib:/lib: \
    -o "$folder/bad" "$folder/bad.cpp" 2>/dev/null
  found=$(check "$folder/bad")
  status=0
  for complaint in 'position-independent' 'full RELRO' 'executable stack' 'stack protector' '_FORTIFY_SOURCE' 'empty element' 'relative element'; do
    grep -q "$complaint" <<<"$found" || { echo "not found in a file without hardening: $complaint" >&2; status=1; }
  done
  exit $status
fi

[ $# -gt 0 ] || { echo "check.sh: name the files to check" >&2; exit 2; }
found=$(for file in "$@"; do check "$file"; done)
[ -z "$found" ] || { echo "$found" >&2; exit 1; }
echo "hardened: $*"

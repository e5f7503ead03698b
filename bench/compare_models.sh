#!/usr/bin/env bash
# Trains the same models with two builds of the program and compares their tensors byte for byte. The header of
# model.safetensors is left out: it holds a checksum that older builds did not write.
#
#   bench/compare_models.sh BEFORE AFTER [-e EPOCHS] [-s "SETS"] [-m "METHODS"] [-t THREADS] [-o "OPTIONS"]
#
# BEFORE and AFTER are two programs, built with the same flags: another optimisation level rounds differently.
# A set is a name, or a folder of $L2GCN_DATA. Without -e every run has its preset's epochs, which takes long on
# ppi-largest. A set that is not found is left out and said so; demo is the embedded graph. -o adds options to both
# sides; $PRESET names a preset other than paper. Ends with status 1 if a model differs.
set -euo pipefail
before=${1:?name the program before}
after=${2:?name the program after}
shift 2
epochs='' threads=2 more=''
sets='demo cora citeseer pubmed ppi-largest'
methods=$("$after" train --help | sed -nE '/^Methods:/,/^$/s/^  ([a-z0-9-]+) .*/\1/p' | tr '\n' ' ')
while getopts e:s:m:t:o: option; do
  case $option in
    e) epochs=$OPTARG ;;
    s) sets=$OPTARG ;;
    m) methods=$OPTARG ;;
    t) threads=$OPTARG ;;
    o) more=$OPTARG ;;
    *) exit 2 ;;
  esac
done
# tensors FILE: everything behind the header, whose length the first eight bytes hold.
tensors() { tail -c +"$(($(od -An -t u8 -N 8 "$1") + 9))" "$1"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0 compared=0
for set in $sets; do
  spec=("$set")
  [[ $set == demo ]] && spec=()
  [[ -d ${L2GCN_DATA-}/$set ]] && spec=("$L2GCN_DATA/$set")
  if ! "$after" info "${spec[@]:-synthetic:cora}" --quiet >/dev/null 2>&1; then
    echo "$set: not found, left out"
    continue
  fi
  for method in $methods; do
    options=(--preset "${PRESET:-paper}" --method "$method" --threads "$threads" --device cpu --quiet --force)
    [[ -n $more ]] && read -ra extra <<<"$more" && options+=("${extra[@]}")
    [[ -n $epochs ]] && options+=(--epochs "$epochs")
    for side in before after; do
      "${!side}" train "${spec[@]}" "${options[@]}" -o "$work/$side" >/dev/null 2>"$work/$side.err" ||
        { echo "$set $method: $side failed: $(tail -1 "$work/$side.err")"; status=1; continue 2; }
    done
    compared=$((compared + 1))
    if cmp -s <(tensors "$work/before/model.safetensors") <(tensors "$work/after/model.safetensors"); then
      echo "$set $method: equal"
    else
      echo "$set $method: DIFFERENT"
      status=1
    fi
  done
done
echo "$compared models compared"
exit $status

#!/usr/bin/env bash
# Learns the controllers that ship inside the binary, on generated graphs alone, and puts them in
# src/controller/shipped/. Seeded: the same files, bit for bit, on the same instruction set, for any number of threads.
# About ten minutes on two cores. Rebuild afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${L2GCN_BINARY:-build/release/l2gcn}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# make NAME SHAPE SEED [generate options]: a data set; a name ending in -other trains with the preset of sets the paper
# does not treat (2 layers, 128 wide, lr 0.001, 80 epochs).
make_set() {
  local name=$1 shape=$2 seed=$3
  shift 3
  "$binary" generate "$shape" --seed "$seed" "$@" -o "$work/$name" --quiet
  case $name in *-other) sed -i 's/"recipe": *"[^"]*"/"recipe": ""/' "$work/$name/dataset.json" ;; esac
}

make_set cora cora 101
make_set cora-dense cora 102 --nodes 2000 --edges 6000 --features 800 --classes 5
make_set pubmed pubmed 103
make_set pubmed-small pubmed 104 --nodes 6000 --edges 20000 --features 300 --classes 4
make_set amazon-other amazon670k 105 --nodes 12000 --edges 150000 --classes 8
make_set reddit-other reddit 106 --nodes 10000 --edges 200000 --features 60 --classes 6
make_set ppi-other ppi 107 --nodes 4000 --edges 30000 --classes 20

"$binary" search "$work"/* --kind general --reward f1 --nodes 0 --rollout-batch 256 --problems 3 --lr-spread 3 \
  --rounds 300 --search-lr 0.02 --seed 7 -o src/controller/shipped/general.safetensors --force
"$binary" search synthetic:pubmed --kind paper --seed 7 -o src/controller/shipped/paper.safetensors --force
rm -f src/controller/shipped/*.json

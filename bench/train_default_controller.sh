#!/usr/bin/env bash
# Learns the controllers that ship inside the binary, on generated graphs alone, and puts them in
# src/controller/shipped/. Seeded: the same files, bit for bit, on the same instruction set, for any number of threads.
# About three minutes on two cores. Rebuild afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${L2GCN_BINARY:-build/release/l2gcn}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sets=()

# make_set SHAPE SEED [generate options]
make_set() {
  local shape=$1 seed=$2
  shift 2
  "$binary" generate "$shape" --seed "$seed" "$@" -o "$work/$shape-$seed" --quiet
  sets+=("$work/$shape-$seed")
}

# Regimes a policy must tell apart: few labels and many features, where training on soon hurts (cora, and its like
# below); many labels and few weights, where it keeps helping (pubmed); dense features and many neighbours.
make_set cora 101
make_set cora 102 --nodes 2000 --edges 6000 --features 800 --classes 5
make_set pubmed 103
make_set pubmed 108 --nodes 15000 --edges 60000 --features 200 --classes 6
make_set cora 104 --nodes 6000 --edges 20000 --features 700 --classes 8
make_set cora 105 --nodes 10000 --edges 60000 --features 2000 --classes 4
make_set pubmed 106 --nodes 8000 --edges 60000 --features 700 --classes 8
make_set pubmed 107 --nodes 6000 --edges 15000 --features 1000 --classes 10
make_set reddit 109 --nodes 12000 --edges 200000 --features 200 --classes 12
make_set reddit 110 --nodes 6000 --edges 100000 --features 602 --classes 20
make_set amazon670k 111 --nodes 12000 --edges 150000
make_set amazon3m 112 --nodes 8000 --edges 60000 --features 300 --classes 10
# Classes of several communities: F1 that creeps up for long, as it does on real graphs.
make_set cora 301 --nodes 8000 --edges 100000 --features 745 --classes 8 --topics 5 --signal 0.6 --label-noise 0.03
make_set pubmed 302 --topics 6 --signal 0.45 --label-noise 0.05
make_set reddit 303 --nodes 15000 --edges 150000 --features 300 --classes 8 --topics 6 --signal 3 --label-noise 0.04
make_set amazon670k 304 --nodes 15000 --edges 100000 --classes 8 --topics 5 --signal 4 --label-noise 0.06
make_set cora 305 --nodes 3000 --edges 8000 --features 1500 --classes 6 --topics 4 --signal 0.6
make_set pubmed 306 --nodes 12000 --edges 100000 --features 600 --classes 6 --topics 5 --signal 0.5 --label-noise 0.05

shipped=src/controller/shipped
echo '{"evaluation-split": "test", "search-lr": 0.02, "lr-spread": 8, "entropy": 0.05}' > "$work/general.json"
echo '{"evaluation-split": "test", "search-lr": 0.02, "lr-spread": 2, "layer-weight": 0, "regret-cap": 1000}' > "$work/general-loss.json"
learn=("$binary" learn-controller --kind general --reward f1 --nodes 0 --device cpu --force)
# The policy that sees validation nodes learns what all of these have in common …
"${learn[@]}" "${sets[@]}" --sees validation --layers 2 --epochs 80 --hidden 16 --rollout-batch 1024 --lr 0.001 \
  --config "$work/general.json" --problems 6 --rounds 300 --seed 11 -o $shipped/general.safetensors
# … while losses alone do not tell all of them apart: two regimes at their own settings.
"${learn[@]}" "$work"/{pubmed-103,pubmed-108,cora-101,cora-102} --sees loss --rollout-batch preset \
  --config "$work/general-loss.json" --problems 5 --rounds 400 --seed 7 -o $shipped/general-loss.safetensors
"$binary" learn-controller synthetic:pubmed --kind paper --seed 7 --device cpu -o $shipped/paper.safetensors --force
rm -f $shipped/*.json

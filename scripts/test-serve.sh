#!/usr/bin/env bash
# l2gcn serve as others may treat it: mutated requests, 600 slow clients, HTTP/1.0 and 1.1 under load. It must stay
# alive, answer other clients within 100 ms meanwhile, and stop on Ctrl-C. Everything happens on the loopback interface.
# Time for which a busy machine gave it no core does not count; the slowest request by the clock is printed, too. ab sends
# the HTTP/1.0 requests if it is installed
# (install-deps.sh --serve), else a client of the script's own.
# usage: scripts/test-serve.sh [--quick] [BINARY]   --quick sends fewer requests, for less than 20 s.
set -euo pipefail
cd "$(dirname "$0")/.."
quick=; [ "${1:-}" != --quick ] || { quick=--quick; shift; }
binary=$(realpath "${1:-build/release/l2gcn}")
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
"$binary" train synthetic:cora -o "$work/run" --preset paper --method lgcn --hidden 16 --epochs 2 --quiet >/dev/null
"$binary" serve "$work/run" --port 0 --host lab.example --map-nodes 200 --json --quiet >"$work/url" &
server=$!
for _ in $(seq 100); do [ -s "$work/url" ] && break; sleep 0.1; done
python3 scripts/test-serve.py "$work/url" "$server" $quick
# Ctrl-C came while clients hung.
status=0; wait "$server" || status=$?
server=
[ "$status" -eq 130 ] || { echo "serve ended with status $status after Ctrl-C; expected 130" >&2; exit 1; }

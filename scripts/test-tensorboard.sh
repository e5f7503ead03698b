#!/usr/bin/env bash
# TensorBoard itself, installed from PyPI into a folder that is removed again, reads what --tensorboard writes; its tags and
# values are compared with the run's own record.
# Usage: scripts/test-tensorboard.sh [BINARY]   (needs python3 with venv, and the network)
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(realpath "${1:-build/release/l2gcn}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet tensorboard 'setuptools<81'
"$binary" train synthetic:cora -o "$work/run" --runs 2 --val-every 5 --tensorboard "$work/events" --quiet --json >"$work/result.json"
"$work/venv/bin/python" - "$work" <<'PY'
import json, struct, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
work = sys.argv[1]
result = json.load(open(work + '/result.json'))
float32 = lambda v: struct.unpack('f', struct.pack('f', v))[0]
compared = 0
for run in result['runs']:
    seen = EventAccumulator(f"{work}/events/seed-{run['seed']}", size_guidance={'scalars': 0, 'histograms': 0})
    seen.Reload()
    tags = seen.Tags()
    expected = {}
    for l, losses in enumerate(run['loss'], 1):
        expected[f'layer{l}/loss'] = [(i + 1, v) for i, v in enumerate(losses)]
        decisions = run['layers'][l - 1]['probabilities']
        if decisions:
            expected[f'layer{l}/stop_probability'] = [(e, p) for e, p in decisions]
    expected['epochs'] = list(enumerate(run['epochs'], 1))
    for part in ('train', 'val', 'test'):
        expected[f'f1/{part}'] = [(0, run['f1'][part])]
    for tag, points in expected.items():
        assert tag in tags['scalars'], (tag, tags['scalars'])
        got = sorted((e.step, e.value) for e in seen.Scalars(tag))
        assert got == sorted((s, float32(v)) for s, v in points), (tag, got[:3], points[:3])
        compared += len(got)
    assert any(t.endswith('/validation_f1') for t in tags['scalars']), tags['scalars']
    for l in range(1, len(run['loss']) + 1):
        assert f'layer{l}/weights' in tags['histograms'], tags['histograms']
        assert sum(seen.Histograms(f'layer{l}/weights')[0].histogram_value.bucket) > 0
print(f'TensorBoard reads {compared} values, all equal')
PY

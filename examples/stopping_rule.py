"""A stopping rule of your own in Python: a layer ends when its loss has fallen by less than one per cent in three epochs."""

from __future__ import annotations

import l2gcn


def slow_progress(decision: l2gcn.Decision) -> bool:
    losses = decision.losses
    return len(losses) > 3 and bool(losses[-1] > 0.99 * losses[-4])


run = l2gcn.train("synthetic:cora", preset="paper", stop="early", patience=1000, epochs=60, callbacks=slow_progress)
for number, layer in enumerate(run.layers, start=1):
    print(f"layer {number}: {layer['epochs']} epochs, stopped by {layer['stopped_by']}")
print(f"test F1 {run.f1['test']:.3f}")

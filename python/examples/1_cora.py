"""Cora from its public files: train, look, save, open again.

    python python/examples/1_cora.py [FOLDER]

FOLDER holds the Planetoid files (ind.cora.x, ind.cora.graph, …); without it $L2GCN_DATA is asked, and where there are
none a generated graph of Cora's shape takes their place. The cells (# %%) run one by one in an editor or a notebook.
"""

# %% The data
from __future__ import annotations

import sys
import tempfile

import l2gcn

folder = sys.argv[1] if len(sys.argv) > 1 else ""
try:
    data = l2gcn.load_dataset("cora", data_dir=folder)
except l2gcn.Error as problem:
    print(f"{problem}\nA generated graph takes its place.")
    data = l2gcn.load_dataset("synthetic:cora")
print(data)

# %% Two layers, one after the other; each goes back to its best validation epoch
run = l2gcn.train(data, seed=0)
print(run)
for number, layer in enumerate(run.layers, start=1):
    print(f"layer {number}: {layer['epochs']} epochs, ended by {layer['stopped_by']}")

# %% The paper's layers with fixed epochs, three seeds, and a look at every decision
fixed = l2gcn.train(data, preset="paper", method="lgcn", epochs=[40, 120], runs=3)
print(f"fixed epochs, mean of three seeds: test F1 {fixed.f1['test']:.3f}")


def patient(decision: l2gcn.Decision) -> bool:
    """Ends a layer once its loss has not fallen for ten epochs."""
    recent = decision.losses[-10:]
    return len(recent) == 10 and bool(recent.argmin() == 0)


own = l2gcn.train(data, preset="paper", method="lgcn", stop="early", patience=1000, epochs=200, callbacks=patient)
print("a rule of one's own:", [layer["epochs"] for layer in own.layers], "epochs, test F1", own.f1["test"])

# %% Scores by class
test = l2gcn.evaluate(run)["test"]
for row in test["classes"]:
    print(f"{row['class']:>24}  precision {row['precision']:.2f}  recall {row['recall']:.2f}  of {row['count']} nodes")

# %% Saved, and opened again
with tempfile.TemporaryDirectory() as place:
    path = run.save(f"{place}/my-run")
    model = l2gcn.load_model(path)
    assert (model.predict(data) == run.model.predict(data)).all()
    print("opened again:", model)

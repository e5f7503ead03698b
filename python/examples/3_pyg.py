"""PyTorch Geometric: a `Data` in, predictions and a torch module out.

    python python/examples/3_pyg.py

Needs torch and torch_geometric.
"""

# %% A Data object, here from a generated graph
from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

import l2gcn

source = l2gcn.load_dataset("synthetic:cora").to_pyg()
graph = Data(
    x=source.x,
    edge_index=source.edge_index,
    y=source.y,
    train_mask=source.train_mask,
    val_mask=source.val_mask,
    test_mask=source.test_mask,
)
print(graph)

# %% In: features and masks are taken as they are; the features are shared, not copied
data = l2gcn.Dataset.from_pyg(graph)
run = l2gcn.train(data, preset="paper", method="lgcn", epochs=40, hidden=16, batch=256, lr=0.005)
print(run)

# %% Out: predictions beside the graph, and a module with the same logits
graph.predicted = torch.from_numpy(run.model.predict(data)).long()
right = (graph.predicted == graph.y)[graph.test_mask].float().mean()
print(f"test accuracy by torch: {float(right):.3f}")

module = run.model.to_torch()
with torch.no_grad():
    logits = module(graph.x, graph.edge_index)
difference = float(np.abs(logits.numpy() - run.model.logits(data)).max())
print(f"largest difference of logits: {difference:.1e}")
assert difference < 1e-5

# %% Back as a Data, with the split that was trained on
back = data.to_pyg()
assert torch.equal(back.train_mask, graph.train_mask)

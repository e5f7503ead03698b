"""The same work in PyTorch: layer-wise training as a competent user writes it, on the same cores.

usage: peers.py --threads N --json FILE [cora pubmed reddit ppi amazon670k aggregate best-cora best-pubmed ...]

Times are wall-clock seconds. "total" is aggregation + training + transformation of all layers, evaluation not
counted; where --epochs limits the epochs run, training is scaled up to the shape's own number and the key says
so. "aggregate" is one torch.sparse CSR product with the train graph of the reddit shape. "best-NAME" is the preset
of preset `best` on that shape: powers of the operator side by side, LayerNorm, heads of two layers, AdamW.
"""
import argparse
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

SHAPES = {  # nodes, undirected edges, features, classes, hidden, layers, batch, epochs a layer, train share, multi-label
    "cora": (2708, 5278, 1433, 7, 16, 2, 256, 80, 0.446, False),
    "pubmed": (19717, 44324, 500, 3, 16, 2, 1024, 100, 0.924, False),
    "ppi": (56944, 818716, 50, 121, 512, 3, 1024, 400, 0.79, True),
    "reddit": (232965, 11606919, 602, 41, 128, 3, 1024, 80, 0.66, False),
    "amazon670k": (643474, 16800000, 100, 32, 128, 2, 1024, 80, 0.653, False),
}


def make_graph(nodes, edges, classes, generator):
    """Heavy-tailed degrees, three edges in four inside a class; both directions, no repeats."""
    labels = torch.sort(torch.randint(classes, (nodes,), generator=generator))[0]
    size = torch.bincount(labels, minlength=classes)
    start = torch.cumsum(size, 0) - size
    place = torch.randperm(nodes, generator=generator)
    source = place[(nodes * torch.rand(edges, generator=generator).pow(1.7)).long().clamp_(max=nodes - 1)]
    same = torch.rand(edges, generator=generator) < 0.75
    u = torch.rand(edges, generator=generator)
    inside = start[labels[source]] + (size[labels[source]] * u.pow(1.7)).long()
    target = torch.where(same, inside, (nodes * u).long()).clamp_(max=nodes - 1)
    key = torch.unique(torch.cat([source * nodes + target, target * nodes + source]))
    return key // nodes, key % nodes, labels


def normalised(row, col, nodes):
    """D^-1 (A + I) + I as a CSR tensor."""
    degree = torch.bincount(row, minlength=nodes).float() + 1
    i = torch.arange(nodes)
    index = torch.stack([torch.cat([row, i]), torch.cat([col, i])])
    value = torch.cat([1 / degree[row], 1 + 1 / degree])
    return torch.sparse_coo_tensor(index, value, (nodes, nodes)).coalesce().to_sparse_csr()


def induced(row, col, keep):
    number = torch.full((keep.numel(),), -1)
    number[keep] = torch.arange(int(keep.sum()))
    inside = keep[row] & keep[col]
    return number[row[inside]], number[col[inside]]


def train_shape(name, epochs_run):
    nodes, edges, features, classes, hidden, layers, batch, epochs, share, multilabel = SHAPES[name]
    generator = torch.Generator().manual_seed(1)
    row, col, labels = make_graph(nodes, edges, classes, generator)
    train = torch.rand(nodes, generator=generator) < share
    r, c = induced(row, col, train)
    count = int(train.sum())
    operator = normalised(r, c, count)
    x = torch.randn(count, features, generator=generator)
    target = (torch.rand(count, classes) < 0.3).float() if multilabel else labels[train]
    loss_of = nn.BCEWithLogitsLoss() if multilabel else nn.CrossEntropyLoss()
    run = min(epochs, epochs_run or epochs)
    seconds = {"aggregate": 0.0, "train": 0.0, "transform": 0.0}
    per_layer = []
    for _ in range(layers):
        begin = time.perf_counter()
        x = operator @ x
        seconds["aggregate"] += time.perf_counter() - begin
        w = nn.Linear(x.shape[1], hidden, bias=False)
        theta = nn.Linear(hidden, classes, bias=False)
        optimiser = torch.optim.Adam([*w.parameters(), *theta.parameters()], lr=1e-3)
        begin = time.perf_counter()
        for _ in range(run):
            order = torch.randperm(count)
            for step in range(max(1, count // batch)):
                rows = order[step * batch:(step + 1) * batch]
                optimiser.zero_grad()
                loss_of(theta(F.relu(w(x[rows]))), target[rows]).backward()
                optimiser.step()
        per_layer.append((time.perf_counter() - begin) * epochs / run)
        begin = time.perf_counter()
        with torch.no_grad():
            x = F.relu(w(x))
        seconds["transform"] += time.perf_counter() - begin
    seconds["train"] = sum(per_layer)
    return {**seconds, "train_layers": per_layer, "total": sum(seconds.values()), "epochs_run": run,
            "epochs": epochs}


def symmetric(row, col, nodes):
    """D^-1/2 (A + I) D^-1/2 as a CSR tensor."""
    scale = (torch.bincount(row, minlength=nodes).float() + 1).rsqrt()
    i = torch.arange(nodes)
    index = torch.stack([torch.cat([row, i]), torch.cat([col, i])])
    value = torch.cat([scale[row] * scale[col], scale * scale])
    return torch.sparse_coo_tensor(index, value, (nodes, nodes)).coalesce().to_sparse_csr()


def train_best(name, epochs_run, width=256, reach=2, epochs=30, batch=256):
    """Two layers of preset `best`, `epochs` each, with no stop: features as sparse as the shape's own."""
    nodes, edges, features, classes, _, _, _, _, share, multilabel = SHAPES[name]
    generator = torch.Generator().manual_seed(1)
    row, col, labels = make_graph(nodes, edges, classes, generator)
    train = torch.rand(nodes, generator=generator) < share
    r, c = induced(row, col, train)
    count = int(train.sum())
    operator = symmetric(r, c, count)
    x = torch.randn(count, features, generator=generator)
    if name == "cora":
        x = (torch.rand(count, features, generator=generator) < 0.0127).float()
    target = (torch.rand(count, classes) < 0.3).float() if multilabel else labels[train]
    loss_of = nn.BCEWithLogitsLoss() if multilabel else nn.CrossEntropyLoss()
    run = min(epochs, epochs_run or epochs)
    seconds = {"aggregate": 0.0, "train": 0.0, "transform": 0.0}
    for _ in range(2):
        begin = time.perf_counter()
        parts = [x]
        for _ in range(reach):
            parts.append(operator @ parts[-1])
        x = torch.cat(parts, 1)
        seconds["aggregate"] += time.perf_counter() - begin
        layer = nn.Sequential(nn.Linear(x.shape[1], width, bias=False), nn.LayerNorm(width), nn.ReLU())
        head = nn.Sequential(nn.Dropout(0.5), nn.Linear(width, width, bias=False), nn.LayerNorm(width), nn.ReLU(),
                             nn.Dropout(0.5), nn.Linear(width, classes))
        drop = nn.Dropout(0.3)
        optimiser = torch.optim.AdamW([*layer.parameters(), *head.parameters()], lr=3e-3, weight_decay=0)
        begin = time.perf_counter()
        for _ in range(run):
            order = torch.randperm(count)
            for first in range(0, count, batch):
                rows = order[first:first + batch]
                optimiser.zero_grad()
                loss_of(head(layer(drop(x[rows]))), target[rows]).backward()
                optimiser.step()
        seconds["train"] += (time.perf_counter() - begin) * epochs / run
        begin = time.perf_counter()
        with torch.no_grad():
            x = layer(x)
        seconds["transform"] += time.perf_counter() - begin
    return {**seconds, "total": sum(seconds.values()), "epochs_run": run, "epochs": epochs, "batch": batch}


def aggregate_reddit(repeats=3):
    nodes, edges, features, classes, *_, share, _ = SHAPES["reddit"]
    generator = torch.Generator().manual_seed(1)
    row, col, _ = make_graph(nodes, edges, classes, generator)
    train = torch.rand(nodes, generator=generator) < share
    r, c = induced(row, col, train)
    operator = normalised(r, c, int(train.sum()))
    x = torch.randn(int(train.sum()), features, generator=generator)
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        operator @ x
        best = min(best, time.perf_counter() - begin)
    return {"seconds": best, "entries": r.numel(), "features": features,
            "gbps": r.numel() * features * 4 / best / 1e9}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["cora", "pubmed", "aggregate"])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=0, help="run this many epochs a layer and scale up")
    parser.add_argument("--json", default="")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    out = {"torch": torch.__version__, "threads": torch.get_num_threads()}
    for what in arguments.what:
        if what == "aggregate":
            out[what] = aggregate_reddit()
        elif what.startswith("best-"):
            out[what] = train_best(what[5:], arguments.epochs)
        else:
            out[what] = train_shape(what, arguments.epochs)
        print(what, json.dumps(out[what]), flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(out, file, indent=1)


if __name__ == "__main__":
    main()

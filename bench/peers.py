"""Layer-wise training as a PyTorch user would write it, on graphs of the paper's shapes, to stand beside
`l2gcn train synthetic:SHAPE --device cuda --json` on the same machine.

    peers.py [shape ...]      shapes: cora pubmed ppi reddit reddit-dgl amazon670k amazon3m

Per shape: seconds of aggregation (cuSPARSE), and of aggregation + training + transform over the whole run, eager and
with the step captured in a CUDA graph. A run that would take long is timed over a few epochs and scaled; the line
says so. reddit-dgl is aggregated only. Graphs and labels are drawn here; they need only the shape.
"""
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

# nodes, undirected edges, features, classes, hidden, layers, batch, epochs a layer, train share, multilabel,
# epochs timed eagerly, epochs timed with a graph
SHAPES = {
    'cora': (2708, 5278, 1433, 7, 16, 2, 256, 80, .446, False, 80, 80),
    'pubmed': (19717, 44324, 500, 3, 16, 2, 1024, 100, .899, False, 20, 100),
    'ppi': (56944, 818716, 50, 121, 512, 3, 1024, 400, .79, True, 8, 40),
    'reddit': (232965, 11606919, 602, 41, 128, 3, 1024, 80, .66, False, 4, 40),
    'reddit-dgl': (232965, 57307946, 602, 41, 128, 3, 1024, 0, .66, False, 0, 0),
    'amazon670k': (643474, 16800000, 100, 32, 128, 2, 1024, 80, .653, False, 4, 40),
    'amazon3m': (2460406, 61859140, 100, 38, 128, 2, 1024, 80, .576, False, 2, 8),
}
device = 'cuda'
torch.backends.cuda.matmul.allow_tf32 = True


def seconds(body):
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = body()
    torch.cuda.synchronize()
    return time.perf_counter() - start, result


def train_operator(nodes, edges, share):
    """D^-1 (A + I) + I of the train nodes' subgraph of a random graph with skewed degrees; and how many nodes."""
    generator = torch.Generator(device=device).manual_seed(1)
    draw = lambda: torch.rand(edges, generator=generator, device=device)
    order = torch.randperm(nodes, generator=generator, device=device)
    source = order[(nodes * draw().pow(1.7)).long().clamp_(max=nodes - 1)]
    target = (nodes * draw().pow(1.3)).long().clamp_(max=nodes - 1)
    keep = torch.rand(nodes, generator=generator, device=device) < share
    renumbered = torch.cumsum(keep, 0) - 1
    inside = keep[source] & keep[target]
    source, target = renumbered[source[inside]], renumbered[target[inside]]
    count = int(keep.sum())
    key = torch.unique(torch.cat([source * count + target, target * count + source]))
    row, column = key // count, key % count
    degree = torch.bincount(row, minlength=count).float() + 1
    diagonal = torch.arange(count, device=device)
    indices = torch.stack([torch.cat([row, diagonal]), torch.cat([column, diagonal])])
    values = torch.cat([1 / degree[row], 1 + 1 / degree])
    return torch.sparse_coo_tensor(indices, values, (count, count)).coalesce().to_sparse_csr(), count


def train_layer(x, labels, hidden, classes, multilabel, batch, epochs, graphed):
    w = nn.Linear(x.shape[1], hidden, bias=False, device=device)
    theta = nn.Linear(hidden, classes, bias=False, device=device)
    adam = torch.optim.Adam([*w.parameters(), *theta.parameters()], lr=1e-3, fused=True, capturable=graphed)
    loss_of = nn.BCEWithLogitsLoss() if multilabel else nn.CrossEntropyLoss()
    rows, targets = x[:batch].clone(), labels[:batch].clone()

    def step(rows, targets):
        adam.zero_grad(set_to_none=not graphed)
        loss_of(theta(F.relu(w(rows))), targets).backward()
        adam.step()

    graph = None
    if graphed:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step(rows, targets)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step(rows, targets)
    else:
        for _ in range(3):
            step(rows, targets)

    def run():
        for _ in range(epochs):
            order = torch.randperm(x.shape[0], device=device)
            for i in range(max(1, x.shape[0] // batch)):
                picked = order[i * batch:(i + 1) * batch]
                if graphed:
                    torch.index_select(x, 0, picked, out=rows)
                    torch.index_select(labels, 0, picked, out=targets)
                    graph.replay()
                else:
                    step(x[picked], labels[picked])

    return seconds(run)[0], w


def measure(shape):
    nodes, edges, features, classes, hidden, layers, batch, epochs, share, multilabel, eager, captured = SHAPES[shape]
    operator, count = train_operator(nodes, edges, share)
    start = torch.randn(count, features, device=device)
    labels = (torch.rand(count, classes, device=device) < .3).float() if multilabel else torch.randint(
        classes, (count,), device=device)
    operator @ start
    best = min(seconds(lambda: operator @ start)[0] for _ in range(3))
    print(f'PEER {shape:11s} cuSPARSE {operator.values().numel()} entries x {features}: {best * 1e3:.3f} ms', flush=True)
    for name, timed in (('eager', eager), ('graphed', captured)):
        if timed == 0:
            continue
        total, x = 0.0, start
        for _ in range(layers):
            took, x = seconds(lambda: operator @ x)
            fit, w = train_layer(x, labels, hidden, classes, multilabel, batch, timed, name == 'graphed')
            with torch.no_grad():
                transform, x = seconds(lambda: F.relu(w(x)))
            total += took + transform + fit * epochs / timed
        scaled = '' if timed == epochs else f' (scaled from {timed} of {epochs} epochs)'
        print(f'PEER {shape:11s} {name:8s} {total:8.3f} s{scaled}', flush=True)


for shape in sys.argv[1:] or SHAPES:
    measure(shape)
    torch.cuda.empty_cache()

"""The default beside PyTorch Geometric's GCN: the same splits, machine and cores; test scores and seconds.

usage: gcn_vs_pyg.py [--program FILE] [--seeds N] [--threads N] [--tuned] [SET …]

The GCN has two layers, 256 wide, dropout 0.5, Adam at 0.01 with weight decay 5e-4, 200 full-batch epochs, and keeps its
best validation epoch. --tuned adds self-connections and LayerNorm and trains for 1,000 epochs. l2gcn's seconds are those of
the whole process, from files to scores; PyG's begin with arrays in memory. Sets whose usual figure is the area under the
curve (tolokers, minesweeper) show it. Needs torch, torch_geometric and NumPy; data sets are found as `l2gcn info` says.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv

AUC = {"tolokers", "minesweeper"}


class Gcn(torch.nn.Module):
    def __init__(self, features, classes, hidden, tuned):
        super().__init__()
        self.convs = torch.nn.ModuleList([GCNConv(features, hidden, cached=True), GCNConv(hidden, classes, cached=True)])
        self.own = torch.nn.Linear(features, hidden) if tuned else None
        self.norm = torch.nn.LayerNorm(hidden) if tuned else None

    def forward(self, x, edges):
        h = self.convs[0](x, edges)
        if self.own is not None:
            h = self.norm(h + self.own(x))
        return self.convs[1](F.dropout(h.relu(), 0.5, self.training), edges)


def area(scores, labels):
    """The area under the ROC curve; ties count half."""
    values, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    positive = labels == 1
    n = positive.sum()
    return (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(labels) - n))


def score(logits, labels, nodes, auc):
    if auc:
        return area((logits[nodes, 1] - logits[nodes, 0]).numpy(), labels[nodes].numpy())
    return (logits[nodes].argmax(1) == labels[nodes]).double().mean().item()


def train_gcn(x, edges, labels, roles, seed, auc, tuned):
    """Test score of the best validation epoch, and seconds."""
    torch.manual_seed(seed)
    began = time.perf_counter()
    nodes = [torch.from_numpy(np.flatnonzero(roles == role)) for role in (1, 2, 3)]
    model = Gcn(x.shape[1], int(labels.max()) + 1, 256, tuned)
    adam = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best, test = -1.0, 0.0
    for _ in range(1000 if tuned else 200):
        model.train()
        adam.zero_grad()
        F.cross_entropy(model(x, edges)[nodes[0]], labels[nodes[0]]).backward()
        adam.step()
        model.eval()
        with torch.no_grad():
            logits = model(x, edges)
        validation = score(logits, labels, nodes[1], auc)
        if validation > best:
            best, test = validation, score(logits, labels, nodes[2], auc)
    return test, time.perf_counter() - began


def arrays_of(program, name, folder):
    """Features, edges (both directions) and labels, as the program reads them."""
    file = folder / "data.npz"
    subprocess.run([program, "convert", name, file, "--force", "-q"], check=True, capture_output=True)
    data = np.load(file)
    nodes = int(data["shape"][0])
    rows = np.repeat(np.arange(nodes), np.diff(data["indptr"].astype(np.int64)))
    edges = torch.from_numpy(np.stack([rows, data["indices"].astype(np.int64)]))
    if "attr_matrix" in data.files:
        x = data["attr_matrix"].astype(np.float32)
        x = (x - x.mean(0)) / np.maximum(x.std(0), 1e-6)
    else:
        x = np.zeros(tuple(int(n) for n in data["attr_shape"]), dtype=np.float32)
        of = np.repeat(np.arange(nodes), np.diff(data["attr_indptr"].astype(np.int64)))
        x[of, data["attr_indices"].astype(np.int64)] = data["attr_data"]
    return torch.from_numpy(x), edges, torch.from_numpy(data["labels"].astype(np.int64))


def train_l2gcn(program, name, split, seed, threads, folder, auc):
    """Test score, seconds of the whole process, roles."""
    run = folder / "run"
    command = [program, "train", name, *split, "--seed", str(seed), "--threads", str(threads), "--device", "cpu", "-q", "--json", "--force", "-o", run]
    began = time.perf_counter()
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seconds = time.perf_counter() - began
    test = result["f1"]["test"]
    if auc:
        out = subprocess.run([program, "evaluate", run, "--json"], check=True, capture_output=True, text=True).stdout
        test = json.loads(out)["scores"]["test"]["roc_auc"]
    return test, seconds, np.load(run / "split.npy")


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=root / "build/release/l2gcn")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("sets", nargs="*", default=["cora", "citeseer", "pubmed", "amazon_photo", "musae-facebook", "tolokers"])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    print(f"{'set':18} {'l2gcn':>14} {'s':>7} {'GCN':>14} {'s':>7} {'times':>6}")
    for name in options.sets:
        with tempfile.TemporaryDirectory() as folder:
            rows = []
            x, edges, labels = arrays_of(options.program, name, pathlib.Path(folder))
            for seed in range(options.seeds):
                split = ["--split", f"file:{seed}"] if name in AUC else []
                ours, seconds, roles = train_l2gcn(options.program, name, split, seed, options.threads, pathlib.Path(folder), name in AUC)
                theirs, longer = train_gcn(x, edges, labels, roles, seed, name in AUC, options.tuned)
                rows.append((100 * ours, seconds, 100 * theirs, longer))
            a, s, b, t = zip(*rows)
            spread = [statistics.stdev(v) if len(v) > 1 else 0 for v in (a, b)]
            print(f"{name:18} {statistics.mean(a):7.2f} ± {spread[0]:4.2f} {statistics.median(s):7.2f} {statistics.mean(b):7.2f} ± {spread[1]:4.2f}"
                  f" {statistics.median(t):7.2f} {statistics.median(t) / statistics.median(s):6.1f}", flush=True)
    print(f"peak memory of PyTorch's process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()

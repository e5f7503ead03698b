"""R² of the default on generated regressions, beside what is known to be hard to beat there.

usage: bench/regression.py [L2GCN]      (default: build/release/l2gcn; scikit-learn adds a column)

For each family, a graph of 4,000 nodes with `generate --regression`, three random splits. The columns are the test R² of
l2gcn's default, of a ridge regression in double precision on [X, ÂX, Â²X] whose penalty the validation nodes choose, and,
where scikit-learn is installed, of its MLPRegressor on the same columns. Â averages over neighbours.
"""
from __future__ import annotations

import ast
import json
import struct
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

FAMILIES = ("reddit", "amazon670k", "amazon3m")
SEEDS = (0, 1, 2)
PENALTIES = (1e-3, 1.0, 10.0, 100.0)
TYPES = {"<f4": "f", "<u4": "I", "<u8": "Q", "|u1": "B"}
Rows = list[list[float]]


def read(path: Path) -> tuple[list[int], array]:
    """(shape, elements) of an .npy file."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + length].decode())
    return list(header["shape"]), array(TYPES[header["descr"]], data[10 + length :])


def neighbour_means(indptr: array, indices: array, x: Rows) -> Rows:
    means = []
    for node, row in enumerate(x):
        near = [x[other] for other in indices[indptr[node] : indptr[node + 1]]]
        means.append([sum(column) / len(near) for column in zip(*near)] if near else row)
    return means


def inputs_of(folder: Path) -> Rows:
    """1, X, ÂX and Â²X side by side."""
    (nodes, width), values = read(folder / "features.npy")
    indptr, indices = read(folder / "graph_indptr.npy")[1], read(folder / "graph_indices.npy")[1]
    x = [list(values[node * width : (node + 1) * width]) for node in range(nodes)]
    hops = [x]
    for _ in range(2):
        hops.append(neighbour_means(indptr, indices, hops[-1]))
    return [[1.0, *(value for hop in hops for value in hop[node])] for node in range(nodes)]


def solve(system: Rows) -> list[float]:
    """The solution of width equations; each row ends with its right side."""
    width = len(system)
    for k in range(width):
        pivot = max(range(k, width), key=lambda r: abs(system[r][k]))
        system[k], system[pivot] = system[pivot], system[k]
        for r in range(width):
            if r != k:
                factor = system[r][k] / system[k][k]
                system[r] = [a - factor * b for a, b in zip(system[r], system[k])]
    return [system[k][width] / system[k][k] for k in range(width)]


def ridge(x: Rows, y: list[float], penalty: float) -> list[float]:
    columns = list(zip(*x))
    system = [[sum(a * b for a, b in zip(c, d)) for d in columns] + [sum(a * b for a, b in zip(c, y))] for c in columns]
    for k in range(1, len(system)):
        system[k][k] += penalty
    return solve(system)


def r2(truth: list[float], predicted: list[float]) -> float:
    mean = sum(truth) / len(truth)
    return 1 - sum((t - p) ** 2 for t, p in zip(truth, predicted)) / sum((t - mean) ** 2 for t in truth)


def predict(weights: list[float], x: Rows) -> list[float]:
    return [sum(w * value for w, value in zip(weights, row)) for row in x]


def mlp(train: tuple[Rows, list[float]], test: tuple[Rows, list[float]]) -> float | None:
    try:
        from sklearn.neural_network import MLPRegressor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError:
        return None
    model = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(128,), early_stopping=True, max_iter=500, random_state=0))
    return r2(test[1], list(model.fit(*train).predict(test[0])))


def compare(program: str, folder: Path, x: Rows, y: list[float], seed: int) -> tuple[float, float, float | None]:
    run = folder.parent / f"run-{seed}"
    command = [program, "train", str(folder), "--split", "random:0.6,0.2,0.2", "--seed", str(seed), "--json", "-o", str(run)]
    ours = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["r2"]["test"]
    roles = read(run / "split.npy")[1]
    part = [([x[i] for i, r in enumerate(roles) if r == k], [y[i] for i, r in enumerate(roles) if r == k]) for k in (1, 2, 3)]
    models = [ridge(*part[0], penalty) for penalty in PENALTIES]
    best = max(models, key=lambda weights: r2(part[1][1], predict(weights, part[1][0])))
    return ours, r2(part[2][1], predict(best, part[2][0])), mlp(part[0], part[2])


def main() -> int:
    program = sys.argv[1] if len(sys.argv) > 1 else "build/release/l2gcn"
    print("| family | seed | l2gcn | ridge | MLP |\n|---|---|---|---|---|")
    for family in FAMILIES:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "set"
            counts = ["--nodes", "4000", "--edges", "16000", "--features", "8"]
            subprocess.run([program, "generate", family, "--regression", *counts, "-o", str(folder)], check=True, capture_output=True)
            x, y = inputs_of(folder), list(read(folder / "labels.npy")[1])
            for seed in SEEDS:
                ours, linear, network = compare(program, folder, x, y, seed)
                print(f"| {family} | {seed} | {ours:.4f} | {linear:.4f} | {'–' if network is None else f'{network:.4f}'} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

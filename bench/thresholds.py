#!/usr/bin/env python3
"""Compares rules that choose thresholds on validation nodes, on generated sets alone.

usage: bench/thresholds.py L2GCN FOLDER [SEEDS]        (needs NumPy; SEEDS is 1,2,3,4 by default)

Every family is a graph of circles of friends whose labels follow a hidden place of each node. Families differ in how
strongly labels follow it (signal 0 is chance), in how rare labels are, and in size. One model is trained on each set
with plain and one with balanced class weights; every rule sees its validation nodes and is judged on its test nodes.
FOLDER keeps the sets and the runs, and a second call uses what it finds there.
"""
import itertools
import os
import subprocess
import sys
import zlib

import numpy as np

STEEPEST = 30.0
WEIGHTS = {"plain": [], "balanced": ["--class-weights", "balanced"]}


# ---- Families.

def families():
    for signal, (low, high), (nodes, labels) in itertools.product(
            [0.0, 0.5, 1.5, 4.0], [(0.01, 0.1), (0.02, 0.5), (0.1, 0.6)], [(1000, 20), (3000, 60)]):
        yield f"s{signal}-r{low}-{high}-n{nodes}", dict(nodes=nodes, labels=labels, low=low, high=high, signal=signal)
    for signal, rate, nodes in itertools.product([0.0, 1.0, 3.0], [0.02, 0.1, 0.25], [1000, 4000, 12000]):
        yield f"two-s{signal}-r{rate}-n{nodes}", dict(nodes=nodes, labels=2, low=rate, high=rate, signal=signal)


def make_set(seed, nodes, labels, low, high, signal, degree=8, circles=12, homophily=0.8, dims=8):
    """Edges, features and labels; `labels` of 2 is one column of two classes."""
    rng = np.random.default_rng(seed)
    circle = rng.integers(circles, size=nodes)
    place = rng.normal(size=(circles, dims))[circle] + 0.7 * rng.normal(size=(nodes, dims))
    edges = nodes * degree // 2
    source = rng.integers(nodes, size=edges)
    order = np.argsort(circle, kind="stable")
    start = np.searchsorted(circle[order], np.arange(circles + 1))
    inside = rng.random(edges) < homophily
    size = start[circle[source] + 1] - start[circle[source]]
    friend = order[start[circle[source]] + (rng.random(edges) * size).astype(int)]
    target = np.where(inside, friend, rng.integers(nodes, size=edges))
    features = place @ rng.normal(size=(dims, 32)) / dims ** 0.5 + rng.normal(size=(nodes, 32))
    rates = np.array([high]) if labels == 2 else np.exp(rng.uniform(np.log(low), np.log(high), size=labels))
    strength = signal * rng.uniform(0.3, 1.7, size=len(rates))
    direction = rng.normal(size=(dims, len(rates)))
    lean = place @ (direction / np.linalg.norm(direction, axis=0)) * strength
    below, above = np.full(len(rates), -30.0), np.full(len(rates), 30.0)
    for _ in range(60):  # The offset that gives each label its rate, by bisection.
        middle = (below + above) / 2
        rate = (1 / (1 + np.exp(-(lean + middle)))).mean(0)
        below, above = np.where(rate > rates, below, middle), np.where(rate > rates, middle, above)
    on = rng.random(lean.shape) < 1 / (1 + np.exp(-(lean + below)))
    return np.stack([source, target], 1), features.astype(np.float32), on


def train(program, folder, name, seed, shape):
    if os.path.exists(f"{folder}/done"):
        return
    os.makedirs(folder, exist_ok=True)
    edges, features, on = make_set(seed * 1000 + zlib.crc32(name.encode()) % 100000, **shape)
    np.savetxt(f"{folder}/e.csv", edges, "%d", delimiter=",")
    np.save(f"{folder}/x.npy", features)
    np.save(f"{folder}/y.npy", on[:, 0].astype(np.int64) if shape["labels"] == 2 else on.astype(np.uint8))
    for weights, options in WEIGHTS.items():
        run = f"{folder}/{weights}"
        subprocess.run([program, "train", "--edges", f"{folder}/e.csv", "--features", f"{folder}/x.npy", "--labels",
                        f"{folder}/y.npy", "--no-ids", "--method", "graphsage", "--hidden", "32", "--epochs", "30",
                        "--lr", "0.01", "--scale", "standard", "--seed", str(seed), "--threads", "1", "--device",
                        "cpu", "-q", "-o", run, "--force", *options], check=True, capture_output=True)
        subprocess.run([program, "predict", run, "-o", run + ".npy", "-q"], check=True, capture_output=True)
    open(f"{folder}/done", "w").close()


# ---- Rules for label sets: (logits, truth, rates among the train nodes) to one cut a label.

def cuts_of(z, y):
    """Every cut from the highest logit down, with the members above it and all that lie above it."""
    order = np.argsort(-z, kind="stable")
    z, y = z[order], y[order]
    hits, chosen = np.concatenate([[0], np.cumsum(y)]), np.arange(len(z) + 1)
    above, below = np.concatenate([[z[0] + 1], z]), np.concatenate([z, [z[-1] - 1]])
    keep = above > below
    return (above + below)[keep] / 2, hits[keep], chosen[keep]


def f1(hits, chosen, members):
    return 2 * hits / np.maximum(chosen + members, 1)


def nearest_best(cut, value, allowed=None):
    value = value if allowed is None else np.where(allowed, value, -1)
    top = np.flatnonzero(value == value.max())
    return cut[top[np.argmin(np.abs(cut[top]))]]


def best(z, y):
    cut, hits, chosen = cuts_of(z, y)
    return nearest_best(cut, f1(hits, chosen, y.sum()))


def common(z, y):
    return best(z.ravel(), y.ravel())


def each(choose):
    """A rule that chooses for one label from (logits, truth, members, the common cut)."""
    def rule(z, y, rates):
        shared = common(z, y)
        return np.array([choose(z[:, c], y[:, c], y[:, c].sum(), shared) for c in range(z.shape[1])])
    return rule


def own(few):
    return each(lambda z, y, members, shared: best(z, y) if members >= few else shared)


def shrunk(toward):
    def choose(z, y, members, shared):
        own_share = members / (members + toward)
        return own_share * best(z, y) + (1 - own_share) * shared if members else shared
    return each(choose)


def five_fold(z, y, members, shared):
    """The label's own cut, if it beats all on also on fifths it was not chosen on; else all on."""
    if members < 10:
        return shared
    on = np.zeros(len(z), bool)
    for part in range(5):
        here = np.arange(len(z)) % 5 == part
        on[here] = z[here] > best(z[~here], y[~here])
    return best(z, y) if f1((on & y).sum(), on.sum(), members) > f1(members, len(y), members) else -STEEPEST


def curve(z, y, members, shared, ridge=1.0):
    """A logistic curve through the truth, and the cut with the best expected F1 under it."""
    if members < 10:
        return shared
    x = np.stack([(z - z.mean()) / (z.std() + 1e-9), np.ones(len(z))], 1)
    w = np.array([0.0, np.log((y.mean() + 1e-3) / (1 - y.mean() + 1e-3))])
    for _ in range(25):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -500, 500)))
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + np.diag([ridge, 1e-6]),
                               x.T @ (p - y) + [ridge * w[0], 0])
        w = w - step
    if w[0] <= 0:
        return -STEEPEST
    p = 1 / (1 + np.exp(-np.clip(x @ w, -500, 500)))
    cut, hits, chosen = cuts_of(z, p)
    return cut[np.argmax(2 * hits / (chosen + p.sum()))]


LABEL_RULES = {
    "one half": lambda z, y, rates: np.zeros(z.shape[1]),
    "all labels on": lambda z, y, rates: np.full(z.shape[1], -STEEPEST),
    "as many on as among the train nodes": lambda z, y, rates: np.array(
        [np.quantile(z[:, c], 1 - np.clip(rates[c], 1e-4, 1 - 1e-4)) for c in range(z.shape[1])]),
    "one for all labels, best micro F1": lambda z, y, rates: np.full(z.shape[1], common(z, y)),
    "best F1 of each label": own(1),
    "the same, with under 10 members the common one": own(10),
    "the same, if five-fold it beats all on": each(five_fold),
    "expected F1 under a logistic curve": each(curve),
    "own and common, weights members and 10": shrunk(10),
    "own and common, weights members and 25": shrunk(25),
    "own and common, weights members and 50": shrunk(50),
}


# ---- Rules for two classes: (margins, truth) to one cut.

def best_of_two(worth, bars):
    """The best cut by worth(right, macro), among those that pass the first bar any cut passes."""
    def rule(z, y):
        cut, hits, chosen = cuts_of(z, y)
        nodes, members = len(y), y.sum()
        others, others_hit = nodes - members, nodes - members - (chosen - hits)
        right, larger = hits + others_hit, max(members, others)
        macro = (f1(hits, chosen, members) + f1(others_hit, nodes - chosen, others)) / 2
        error = np.sqrt(larger * (1 - larger / nodes))
        for bar in [*bars, -1]:
            allowed = right >= (larger + bar * error if bar >= 0 else 0)
            if allowed.any():
                return nearest_best(cut, worth(right / nodes, macro), allowed)
    return rule


TWO_RULES = {
    "one half": lambda z, y: 0.0,
    "best accuracy": best_of_two(lambda right, macro: right, []),
    "best macro F1": best_of_two(lambda right, macro: macro, []),
    "best sum of both": best_of_two(lambda right, macro: right + macro, []),
    "best macro F1, accuracy not below the larger class": best_of_two(lambda right, macro: macro, [0]),
    "the same, by a standard error where it can be": best_of_two(lambda right, macro: macro, [1, 0]),
}


# ---- Judging.

def judge_labels(folder, weights):
    p = np.load(f"{folder}/{weights}.npy").astype(float)
    y, split = np.load(f"{folder}/y.npy").astype(bool), np.load(f"{folder}/{weights}/split.npy")
    z = np.log(np.maximum(p, 1e-30)) - np.log(np.maximum(1 - p, 1e-8))
    val, test = split == 2, split == 3
    members = y[test].sum(0)
    for rule in LABEL_RULES.values():
        on = z[test] > rule(z[val], y[val], y[split == 1].mean(0))
        hits, chosen = (on & y[test]).sum(0), on.sum(0)
        yield 2 * hits.sum() / max(chosen.sum() + members.sum(), 1), f1(hits, chosen, members).mean()


def judge_two(folder, weights):
    p = np.load(f"{folder}/{weights}.npy").astype(float)
    y, split = np.load(f"{folder}/y.npy") == 1, np.load(f"{folder}/{weights}/split.npy")
    z = np.log(np.maximum(p[:, 1], 1e-30)) - np.log(np.maximum(p[:, 0], 1e-30))
    val, test = split == 2, split == 3
    truth = y[test]
    answers = [np.full(len(truth), y[split == 1].mean() > 0.5)]
    answers += [z[test] > rule(z[val], y[val]) for rule in TWO_RULES.values()]
    for on in answers:
        macro = (f1((on & truth).sum(), on.sum(), truth.sum()) + f1((~on & ~truth).sum(), (~on).sum(), (~truth).sum())) / 2
        yield (on == truth).mean(), macro


def show(title, names, scores, baseline):
    """scores: (sets × rules × 2), of which row `baseline` is the trivial answer."""
    print(f"\n{title}, {len(scores)} sets\n| rule | micro F1 | macro F1 | mean | sets not below the trivial answer: micro, macro, both |")
    print("|---|---|---|---|---|")
    for k, name in enumerate(names):
        micro, macro = 100 * scores[:, k].mean(0)
        level = scores[:, k] >= scores[:, baseline] - 1e-9
        shares = ", ".join(f"{100 * share:.0f} %" for share in [*level.mean(0), level.all(1).mean()])
        print(f"| {name} | {micro:.2f} | {macro:.2f} | {(micro + macro) / 2:.2f} | {shares} |")


def main():
    program, root = sys.argv[1:3]
    seeds = [int(seed) for seed in (sys.argv[3] if len(sys.argv) > 3 else "1,2,3,4").split(",")]
    sets = [(name, f"{root}/{name}-{seed}") for seed in seeds for name, _ in families()]
    for seed in seeds:
        for name, shape in families():
            train(program, f"{root}/{name}-{seed}", name, seed, shape)
    for weights in WEIGHTS:
        labels = np.array([list(judge_labels(folder, weights)) for name, folder in sets if not name.startswith("two")])
        show(f"Label sets, {weights} weights", LABEL_RULES, labels, list(LABEL_RULES).index("all labels on"))
        two = np.array([list(judge_two(folder, weights)) for name, folder in sets if name.startswith("two")])
        show(f"Two classes, {weights} weights", ["larger class of the train nodes", *TWO_RULES], two, 0)


main()

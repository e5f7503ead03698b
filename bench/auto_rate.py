#!/usr/bin/env python3
"""How well --lr auto does against fixed rates and epochs picked in hindsight.

  bench/auto_rate.py make DIR                     generates the families below into DIR
  bench/auto_rate.py run OUT PRESET SEEDS DATA…   trains, one line of JSON a training, appended to OUT
  bench/auto_rate.py table OUT PRESET             each set's best cell in hindsight and the difference to it
  bench/auto_rate.py real                         prints the DATA of the eight real sets under $L2GCN_DATA
  bench/auto_rate.py goal                         prints the commands that measure seconds to a goal F1

DATA is a path or name that `l2gcn train` opens, or NAME=PATH,OPTION,… . Trainings run side by side, one thread each
(--jobs, default: all cores); those that OUT holds already are not repeated. --minutes ends it early, seed by seed.
--program: the l2gcn to run, default build/release/l2gcn. --only KINDS: names of kinds, with commas between, such as auto.

Cells: method lgcn, rates 0.001, 0.003, 0.01 and 10, 20, 40, 80 epochs. Steps are counted against 80 epochs a layer; looks
count as the steps they take the time of. Baselines that were tuned: bench/tune_rate.py.
"""
import argparse
import json
import os
import queue
import statistics
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RATES, EPOCHS = ("0.001", "0.003", "0.01"), ("10", "20", "40", "80")
BUDGET = 80
GRACE = 20  # seconds that a training may go on after the last minute

# name: shape and options of `l2gcn generate`. Few labels, many labels, slow classes, several labels a node, edges
# that say little, tiny and large sets, epochs of one and of three steps, classes of very unequal size, noisy labels, weak
# features of many communities that are learned for dozens of epochs, validation sets large and small, sets whose layers
# grow too sure of themselves within a few epochs while their answers get better for dozens, and sets with plenty of train
# nodes.
FAMILIES = {
    "few-labels": "cora --seed 101",
    "few-features": "cora --seed 104 --nodes 6000 --edges 20000 --features 700 --classes 8",
    "dense-graph": "cora --seed 301 --nodes 8000 --edges 100000 --features 745 --classes 8 --topics 5 --signal 0.6"
                   " --label-noise 0.03",
    "slow-words": "cora --seed 305 --nodes 3000 --edges 8000 --features 1500 --classes 6 --topics 4 --signal 0.6",
    "weighted-words": "pubmed --seed 103",
    "slow-weighted": "pubmed --seed 302 --topics 6 --signal 0.45 --label-noise 0.05",
    "heterophilous": "pubmed --seed 402 --nodes 6000 --edges 60000 --classes 5 --homophily 0.25 --topics 2",
    "dense": "reddit --seed 109 --nodes 12000 --edges 200000 --features 200 --classes 12",
    "slow-dense": "reddit --seed 303 --nodes 15000 --edges 150000 --features 300 --classes 8 --topics 6 --signal 3"
                  " --label-noise 0.04",
    "products": "amazon670k --seed 304 --nodes 15000 --edges 100000 --classes 8 --topics 5 --signal 4"
                " --label-noise 0.06",
    "binary": "amazon670k --seed 404 --nodes 10000 --edges 200000 --features 20 --classes 2 --homophily 0.55"
              " --label-noise 0.15 --topics 4",
    "short-epochs": "reddit --seed 405 --scale 0.02",
    "tiny": "cora --seed 403 --nodes 400 --edges 1200 --features 300 --classes 4",
    "labels": "ppi --seed 401 --scale 0.08",
    "few-of-many-labels": "ppi --seed 407 --nodes 3000 --edges 20000",
    "wide-words": "cora --seed 408 --nodes 4000 --edges 6000 --features 3500 --classes 6 --topics 2 --signal 0.4"
                  " --label-noise 0.05",
    "large": "reddit --seed 406 --scale 0.2",
    "slow-binary": "amazon670k --seed 501 --nodes 6000 --edges 150000 --features 12 --classes 2 --skew 3.5 --topics 12"
                   " --homophily 0.2 --signal 2.5 --label-noise 0.08",
    "slow-unequal": "reddit --seed 502 --nodes 8000 --edges 120000 --features 40 --classes 5 --skew 1.8 --topics 10"
                    " --homophily 0.2 --signal 2.5 --label-noise 0.08",
    "slow-mixture": "pubmed --seed 503 --nodes 12000 --edges 30000 --classes 3 --topics 12 --signal 0.3 --homophily 0.6"
                    " --label-noise 0.05",
    "unequal-words": "cora --seed 504 --nodes 5000 --edges 15000 --features 1000 --classes 7 --skew 1.6 --topics 2"
                     " --signal 0.5",
    "noisy-labels": "pubmed --seed 505 --nodes 6000 --edges 24000 --topics 3 --signal 0.4 --label-noise 0.3",
    "noisy-words": "cora --seed 506 --nodes 3000 --edges 9000 --features 900 --classes 5 --label-noise 0.25",
    "few-steps": "cora --seed 507 --nodes 1500 --edges 5000 --features 500 --classes 5 --topics 2",
    "many-looked": "pubmed --seed 508 --nodes 8000 --edges 40000 --classes 4 --topics 5 --signal 0.4",
    "late-binary": "amazon670k --seed 601 --nodes 4000 --edges 60000 --features 30 --classes 2 --skew 3 --topics 24"
                   " --homophily 0.3 --signal 2 --label-noise 0.1",
    "late-words": "pubmed --seed 602 --nodes 4000 --edges 9000 --classes 3 --topics 20 --signal 0.3 --label-noise 0.1",
    "steady-binary": "amazon670k --seed 801 --nodes 9000 --edges 180000 --features 10 --classes 2 --skew 3 --topics 30"
                     " --homophily 0.3 --signal 2.5 --label-noise 0.05",
    "steady-classes": "reddit --seed 802 --nodes 10000 --edges 60000 --features 30 --classes 4 --topics 20 --homophily 0.3"
                      " --signal 2.5 --label-noise 0.05",
    "steady-dense": "reddit --seed 803 --nodes 9000 --edges 90000 --features 60 --classes 6 --topics 12 --homophily 0.35"
                    " --signal 3 --label-noise 0.03",
    "steady-labels": "ppi --seed 804 --nodes 6000 --edges 40000 --features 30 --classes 30",
    "late-labels": "ppi --seed 805 --nodes 4000 --edges 25000 --features 50 --classes 60 --signal 0.5",
    "faint-binary": "amazon670k --seed 1001 --nodes 11000 --edges 300000 --features 10 --classes 2 --skew 3.5 --topics 30"
                    " --homophily 0.3 --signal 1.5 --label-noise 0.1",
    "faint-classes": "reddit --seed 1002 --nodes 12000 --edges 250000 --features 16 --classes 4 --skew 1.5 --topics 24"
                     " --homophily 0.25 --signal 2 --label-noise 0.1",
    "few-looked": "pubmed --seed 1003 --nodes 18000 --edges 44000 --classes 3 --topics 8 --signal 0.5 --label-noise 0.06",
    "plenty-products": "amazon670k --seed 902 --scale 0.25 --classes 30",
    "plenty-words": "pubmed --seed 903 --nodes 150000 --edges 400000 --classes 6 --topics 3 --signal 0.4 --label-noise 0.05",
    "plenty-dense": "reddit --seed 904 --scale 0.5 --features 300 --topics 5 --signal 3 --label-noise 0.05",
}
# Where not the shape's own split.
SPLITS = {
    "slow-binary": "uniform:0.5,0.25,0.25", "slow-unequal": "uniform:0.5,0.25,0.25",
    "unequal-words": "uniform:0.6,0.2,0.2", "noisy-words": "uniform:0.48,0.32,0.2", "few-steps": "uniform:0.2,0.4,0.4",
    "many-looked": "uniform:0.3,0.4,0.3", "late-binary": "uniform:0.5,0.25,0.25", "late-words": "uniform:0.6,0.2,0.2",
    "steady-binary": "uniform:0.5,0.25,0.25", "steady-classes": "uniform:0.5,0.25,0.25",
    "steady-dense": "uniform:0.5,0.25,0.25", "faint-binary": "uniform:0.5,0.25,0.25",
    "faint-classes": "uniform:0.5,0.25,0.25", "few-looked": "uniform:0.9,0.03,0.07",
}
# name: what is opened under the folder of real sets, and options.
REAL_SETS = {
    "cora": "cora", "citeseer": "citeseer", "pubmed": "pubmed", "photo": "{}/npz/amazon_photo.npz",
    "facebook": "{}/musae-facebook", "gnn-benchmark-cora": "{}/npz/gnn-benchmark-cora.npz",
    "tolokers": "{}/npz/tolokers.npz", "ppi-largest": "{}/ppi-largest",
}
# Seconds to the goal that the published settings set (docs/reproducing.md), found rate and baselines; for two quiet cores.
GOAL = """{0} generate reddit -o reddit
{0} compare reddit --preset paper --methods layerwise --lr auto --to-f1 93.9976 --threads 2 --device cpu
{0} compare reddit --preset paper --methods vrgcn,graphsage,sgc --to-f1 93.9976 --max-seconds 130 --threads 2 --device cpu"""


def make(folder, program, jobs):
    left = list(FAMILIES.items())
    running = []
    while left or running:
        if left and len(running) < jobs:
            name, words = left.pop()
            if not os.path.exists(f"{folder}/{name}"):
                running.append(subprocess.Popen([program, "generate", *words.split(), "-o", f"{folder}/{name}", "--quiet",
                                                 "--threads", "1"]))
        elif running and running.pop(0).wait():
            raise SystemExit("a family could not be generated")


def kinds():
    """What is trained on every set: name and settings."""
    yield "auto", ["--lr", "auto", "--epochs", str(BUDGET)]
    yield "learned", ["--method", "l2gcn", "--epochs", str(BUDGET)]
    for rate in RATES:
        for epochs in EPOCHS:
            yield f"cell {rate} x {epochs}", ["--method", "lgcn", "--lr", rate, "--epochs", epochs]


def train(program, words, preset, seed):
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [program, "train", *words, "--preset", preset, "--seed", str(seed), "--threads", "1", "--device", "cpu",
             "--json", "--quiet", "-o", scratch + "/run"], capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr[-300:]}
    run = json.loads(done.stdout)["runs"][0]
    return {"test": 100 * run["f1"]["test"], "seconds": run["seconds"],
            "layers": [{key: layer[key] for key in ("rate", "steps", "epochs", "kept_epoch")} for layer in run["layers"]]}


def run_jobs(out, jobs, one, width, until=float("inf")):
    """Appends the rows that one(*job) returns to OUT, `width` at a time, and begins none after the time `until`."""
    left, lock = queue.Queue(), threading.Lock()
    for job in jobs:
        left.put(job)
    with open(out, "a", encoding="utf-8") as file:
        def work():
            while time.time() < until:
                try:
                    rows = one(*left.get_nowait())
                except queue.Empty:
                    return
                with lock:
                    file.writelines(json.dumps(row) + "\n" for row in rows)
                    file.flush()
        workers = [threading.Thread(target=work) for _ in range(width)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


def run(options, until):
    preset = options.preset
    done = {(row["set"], row["kind"], row["seed"]) for row in read(options.out, preset)}
    jobs = []
    for seed in range(options.seeds):
        for item in options.data:
            name, _, words = item.rpartition("=")
            words = words.split(",")
            name = name or os.path.basename(words[0])
            for kind, settings in kinds():
                if (name, kind, seed) not in done and (not options.only or kind in options.only.split(",")):
                    jobs.append((name, kind, words + settings, seed))

    def one(name, kind, words, seed):
        return [{"preset": preset, "set": name, "kind": kind, "seed": seed, **train(options.program, words, preset, seed)}]
    run_jobs(options.out, jobs, one, options.jobs, until)


def read(out, preset):
    if not os.path.exists(out):
        return []
    with open(out, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [row for row in rows if row["preset"] == preset and "error" not in row]


class Results:
    """F1 and share of steps by set, kind and seed."""

    def __init__(self, rows):
        self.f1, self.share, self.looks = {}, {}, {}
        steps = {}
        for row in rows:
            if row["kind"] == "auto":
                steps[row["set"]] = sum(layer["steps"] / layer["epochs"] for layer in row["layers"])
        for row in rows:
            key = (row["set"], row["kind"], row["seed"])
            self.f1[key] = row["test"]
            used = sum(layer["steps"] for layer in row["layers"])
            looks = row["seconds"].get("validate", 0) / max(row["seconds"]["train"], 1e-9)
            self.looks[key] = looks
            if row["set"] in steps:
                self.share[key] = used * (1 + looks) / (BUDGET * steps[row["set"]])
        self.sets = sorted({row["set"] for row in rows})
        kinds_of = {name: {row["kind"] for row in rows if row["set"] == name} for name in self.sets}
        self.sets = [name for name in self.sets if "auto" in kinds_of[name] and name in steps]

    def seeds(self, name, kind):
        return sorted(seed for (s, k, seed) in self.f1 if s == name and k == kind)

    def mean(self, name, kind):
        return statistics.mean(self.f1[name, kind, seed] for seed in self.seeds(name, kind))

    def best_cell(self, name):
        cells = [kind for (s, kind, _) in self.f1 if s == name and kind.startswith("cell")]
        return max(cells, key=lambda kind: self.mean(name, kind))


def table(out, preset):
    results = Results(read(out, preset))
    lost, shares = [], []
    print(f"{'set':<20} {'best cell':>12} {'F1':>7} {'auto':>7} {'differs':>8} {'steps':>7} {'looks':>7}")
    for name in results.sets:
        best, seeds = results.best_cell(name), results.seeds(name, "auto")
        share = statistics.mean(results.share[name, "auto", seed] for seed in seeds)
        looks = statistics.mean(results.looks[name, "auto", seed] for seed in seeds)
        difference = results.mean(name, "auto") - results.mean(name, best)
        lost.append(difference)
        shares.append(share)
        print(f"{name:<20} {best[5:]:>12} {results.mean(name, best):7.2f} {results.mean(name, 'auto'):7.2f}"
              f" {difference:+8.2f} {100 * share:6.1f}% {100 * looks:6.1f}%")
    print(f"mean {statistics.mean(lost):+.2f}, worst {min(lost):+.2f}, steps {100 * statistics.mean(shares):.1f} %")


def real_sets():
    folder = os.environ.get("L2GCN_DATA", "../shared/data")
    return [f"{name}={path.format(folder)}" for name, path in REAL_SETS.items()]


def options_of_runs():
    """Options that the commands of this script and of tune_rate.py share."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--jobs", type=int, default=os.cpu_count())
    shared.add_argument("--minutes", type=float, default=float("inf"))
    return shared


def main():
    shared = options_of_runs()
    shared.add_argument("--program", default=ROOT + "/build/release/l2gcn")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("make", parents=[shared]).add_argument("folder")
    running = commands.add_parser("run", parents=[shared])
    showing = commands.add_parser("table")
    for command in (running, showing):
        command.add_argument("out")
        command.add_argument("preset")
    running.add_argument("seeds", type=int)
    running.add_argument("data", nargs="+")
    running.add_argument("--only", default="")
    commands.add_parser("real")
    commands.add_parser("goal", parents=[shared])
    options = parser.parse_args()
    if options.command == "make":
        make(options.folder, options.program, options.jobs)
    elif options.command == "run":
        run(options, time.time() + 60 * options.minutes)
    elif options.command == "table":
        table(options.out, options.preset)
    elif options.command == "real":
        print("\n".join(real_sets()))
    else:
        print(GOAL.format(options.program))


if __name__ == "__main__":
    main()

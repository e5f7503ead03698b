#!/usr/bin/env python3
"""Chooses the constants of --lr auto (src/train/course.h) on generated families alone.

  scripts/tune-rate.py make DIR        generates the families of scripts/bench-controller.py into DIR
  scripts/tune-rate.py cells OUT DIR   fixed rates and epochs on every family: what losses of F1 are counted from
  scripts/tune-rate.py search OUT DIR  the trials, in rounds, and what they choose; OUT holds the cells already
  scripts/tune-rate.py choose OUT      what the trials in OUT choose, and how that does on families left out in turn
  scripts/tune-rate.py rivals OUT DIR  trains with the constants in the source, and rivals, on the same families
  scripts/tune-rate.py compare OUT     those rivals, each tuned on all families but the one it is judged on

OUT gets a line of JSON for each training; those it holds already are not repeated. Trainings run side by side, one
thread each (JOBS, default: all cores). SECONDS_AT_MOST ends it early. TRIALS: build/release/bench/course_trials.

A setting is judged by what its trainings lose: the best fixed cell of the family (preset and seeds alike, in hindsight)
minus the test F1. First counts the tail, the mean of the worst twentieth of all trainings, cut to steps of TAIL points
because it hangs on a few of them; then the mean over families. Settings that take more than a fifth of the steps of
80 epochs a layer, on the mean, are out. Both presets count alike. The first round draws settings around the one
that was picked by hand, each further one near the best eight of the last. All that is drawn follows from SEED, so the same
binary finds the same constants.

Rivals: one cell for all families; patience on validation F1 or loss with the best weights restored, its rate, patience
and margin tuned; power laws fitted to the validation losses, rate and margin tuned; the learned stop at the preset's
rate; stops drawn at random at rate 0.003, with the mean steps of --lr auto. All with preset paper. Cost J = points of F1
lost + 2 x share of steps, looks counted as the steps they take the time of.
"""
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRIALS = os.environ.get("TRIALS", ROOT + "/build/release/bench/course_trials")
SEED, TAIL, MOST_STEPS = 18, 0.25, 0.20
PRESETS = ("paper", "best")
TOO_DEAR = {("best", "large")}  # not tried

# Constant: the values that are tried.
SPACE = {
    "plain_rate": (0.01, 0.014, 0.02, 0.028, 0.04), "plain_power": (0.4, 0.5, 0.6, 0.7),
    "norm_rate": (0.012, 0.025, 0.05, 0.1), "norm_power": (0.35, 0.5, 0.65),
    "many_steps": (500, 1000, 1500, 2500), "few_power": (0.2, 0.4, 0.6),
    "loss_part": (0, 0.1, 0.25, 0.5, 1), "labels_loss_part": (0, 0.25, 1), "sure": (0, 0.5, 1, 1.5),
    "worth": (0.005, 0.01, 0.02, 0.03, 0.045), "patience": (0.5, 0.7, 1, 1.5, 2),
    "least_steps": (0, 15, 30, 60), "landing": (0.25, 0.4, 0.6, 0.9),
}
# The setting that was picked by hand before there was this script.
FIRST = {"plain_rate": 0.02, "plain_power": 0.6, "norm_rate": 0.05, "norm_power": 0.5, "many_steps": 1500,
         "few_power": 0.6, "loss_part": 1, "labels_loss_part": 1, "sure": 1, "worth": 0.03, "patience": 0.7,
         "least_steps": 0, "landing": 0.4}
RIVALS_SEEDS = 1
ROUNDS = ((48, 1), (20, 2), (8, 4))  # settings and seeds of each round


def bench():
    spec = importlib.util.spec_from_file_location("bench_controller", ROOT + "/scripts/bench-controller.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BENCH = bench()


def auto(course):
    return {"name": json.dumps(course, sort_keys=True), "course": course,
            "settings": {"method": "l2gcn", "lr": "auto", "epochs": str(BENCH.BUDGET)}}


def cells():
    return [{"name": f"cell {rate} x {epochs}", "settings": {"method": "lgcn", "lr": rate, "epochs": epochs}}
            for rate in BENCH.RATES for epochs in BENCH.EPOCHS]


def rivals():
    """The constants in the source; patience with its margin, and extrapolated curves, at each rate; the learned stop."""
    yield {**auto({}), "name": "--lr auto"}
    yield {"name": "learned", "settings": {"method": "l2gcn", "epochs": str(BENCH.BUDGET)}}
    for rate in BENCH.RATES:
        settings = {"method": "lgcn", "lr": rate, "epochs": str(BENCH.BUDGET), "drop-last": "false"}
        for margin in (0.03, 0.1):
            yield {"name": f"power-law {rate} {margin}", "settings": settings,
                   "stop": {"kind": "power-law", "margin": margin}}
        for patience, margin in ((3, 0), (6, 0), (12, 0), (6, 0.003), (12, 0.003)):
            for watch in ("val", "val-loss"):
                yield {"name": f"patience {rate} {patience} {margin} {watch}", "settings": settings,
                       "stop": {"kind": "patience", "watch": watch, "patience": patience, "margin": margin}}


def read(out):
    if not os.path.exists(out):
        return []
    with open(out, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def train(out, folder, trials, seeds, presets=PRESETS):
    """Trains what OUT does not hold: jobs of one family, preset and seed, the dearest first."""
    trials = list(trials)
    done = {(row["preset"], row["set"], row["name"], row["seed"]) for row in read(out)}
    parts = []
    for seed in range(seeds):
        for preset in presets:
            for name in reversed(BENCH.FAMILIES):
                if (preset, name) in TOO_DEAR:
                    continue
                left = [trial for trial in trials if (preset, name, trial["name"], seed) not in done]
                parts += [(preset, name, seed, left[at:at + 2]) for at in range(0, len(left), 2)]

    def one(preset, name, seed, left):
        words = "".join(json.dumps(trial) + "\n" for trial in left)
        answer = subprocess.run([TRIALS, f"{folder}/{name}", preset, str(seed)], input=words, text=True, capture_output=True)
        if answer.returncode:
            print(f"{name}, {preset}: {answer.stderr[-300:]}", file=sys.stderr)
        return [{"preset": preset, "set": name, **json.loads(line)} for line in answer.stdout.splitlines()]
    BENCH.run_jobs(out, sorted(parts, key=lambda part: (part[2], part[0] != "best")), one)


class Trials:
    """Lost F1 and share of steps of each setting's trainings, by family."""

    def __init__(self, rows):
        rows = [row for row in rows if "error" not in row]
        cell = {}
        for row in rows:
            if row["name"].startswith("cell"):
                cell.setdefault((row["preset"], row["set"]), {}).setdefault(row["name"], []).append(row["test"])
        best = {task: max(statistics.mean(f1) for f1 in found.values()) for task, found in cell.items()}
        self.lost, self.share, self.seeds = {}, {}, {}
        for row in rows:
            task = (row["preset"], row["set"])
            if row["name"].startswith("{") and task in best:
                budget = BENCH.BUDGET * row["steps_per_epoch"] * len(row["layers"])
                mine = self.lost.setdefault(row["name"], {}).setdefault(row["set"], [])
                mine.append(best[task] - row["test"])
                self.share.setdefault(row["name"], {}).setdefault(row["set"], []).append(
                    sum(layer[1] for layer in row["layers"]) / budget)
        self.families = sorted({name for found in self.lost.values() for name in found})

    def settings(self, seeds=1):
        """Those that were tried on every family with so many seeds."""
        def whole(found, family):
            presets = sum((preset, family) not in TOO_DEAR for preset in PRESETS)
            return len(found.get(family, [])) >= seeds * presets
        return sorted(name for name, found in self.lost.items()
                      if all(whole(found, family) for family in self.families))

    def judge(self, name, families):
        lost = sorted(value for family in families for value in self.lost[name][family])
        tail = statistics.mean(lost[-max(1, len(lost) // 20):])
        mean = statistics.mean(statistics.mean(self.lost[name][family]) for family in families)
        share = statistics.mean(statistics.mean(self.share[name][family]) for family in families)
        return tail, mean, share

    def order(self, names, families):
        def rank(name):
            tail, mean, share = self.judge(name, families)
            return (max(0, share - MOST_STEPS), round(tail / TAIL), mean, name)
        return sorted(names, key=rank)


def drawn(source, parents, new):
    """Constants of two parents, each replaced by any other value with probability `new`."""
    a, b = source.choice(parents), source.choice(parents)
    child = {}
    for key, values in SPACE.items():
        child[key] = source.choice(values) if source.random() < new else source.choice((a, b))[key]
    return child


def search(out, folder):
    source, best = random.Random(SEED), [FIRST]
    for count, seeds in ROUNDS:
        # The best of the last round are tried with the seeds of this one, too.
        courses = best[:count // 2]
        while len(courses) < count:
            courses.append(drawn(source, best[:8], 0.5 if len(best) == 1 else 0.2))
        train(out, folder, [auto(course) for course in courses], seeds)
        trials = Trials(read(out))
        names = trials.order(set(trials.settings(seeds)) & {auto(course)["name"] for course in courses}, trials.families)
        best = [json.loads(name) for name in names]
    choose(out)


def choose(out):
    trials = Trials(read(out))
    most = max(seeds for _, seeds in ROUNDS if trials.settings(seeds))
    names = trials.settings(most)
    print(f"{len(names)} settings with {most} seeds on {len(trials.families)} families")
    for name in trials.order(names, trials.families)[:5]:
        print("tail {:.2f}, mean {:.2f}, steps {:.1%}  {}".format(*trials.judge(name, trials.families), name))
    lost, shares = [], []
    for family in trials.families:
        others = [other for other in trials.families if other != family]
        chosen = trials.order(names, others)[0]
        lost.append(statistics.mean(trials.lost[chosen][family]))
        shares.append(statistics.mean(trials.share[chosen][family]))
        print(f"left out {family:<16} loses {lost[-1]:6.2f} with {shares[-1]:6.1%} of the steps")
    print(f"left out: mean {statistics.mean(lost):.2f}, worst {max(lost):.2f}, steps {statistics.mean(shares):.1%}")
    for key, value in json.loads(trials.order(names, trials.families)[0]).items():
        print(f"  {key} = {value}")


class Costs:
    """J of every training with preset paper, by kind, family and seed."""

    def __init__(self, rows):
        rows = [row for row in rows if "error" not in row and row["preset"] == PRESETS[0]]
        self.lost, self.share = {}, {}
        best = {}
        for name in {row["set"] for row in rows}:
            found = {}
            for row in rows:
                if row["set"] == name and row["name"].startswith("cell"):
                    found.setdefault(row["name"], []).append(row["test"])
            best[name] = max(statistics.mean(f1) for f1 in found.values())
        for row in rows:
            if row["name"].startswith("{") or row["seed"] >= RIVALS_SEEDS:
                continue
            key = (row["name"], row["set"], row["seed"])
            looks = 1 + row["look_seconds"] / max(row["train_seconds"], 1e-9)
            budget = BENCH.BUDGET * row["steps_per_epoch"] * len(row["layers"])
            self.lost[key] = best[row["set"]] - row["test"]
            self.share[key] = looks * sum(layer[1] for layer in row["layers"]) / budget
        self.families = sorted({name for _, name, _ in self.lost})

    def mean(self, values, kind, family):
        return statistics.mean(value for key, value in values.items() if key[:2] == (kind, family))

    def cost(self, kind, family):
        return self.mean(self.lost, kind, family) + 2 * self.mean(self.share, kind, family)


def drawn_stops(costs, rate):
    """For each family, J of epochs drawn among the two cells beside the mean steps of --lr auto."""
    answer = {}
    cells_of = [(int(epochs) / BENCH.BUDGET, f"cell {rate} x {epochs}") for epochs in BENCH.EPOCHS]
    for family in costs.families:
        mean = costs.mean(costs.share, "--lr auto", family)
        below = max([cell for cell in cells_of if cell[0] <= mean], default=cells_of[0])
        above = min([cell for cell in cells_of if cell[0] > mean], default=cells_of[-1])
        weight = 0 if above[0] == below[0] else min(1, max(0, (mean - below[0]) / (above[0] - below[0])))
        answer[family] = tuple((1 - weight) * a + weight * b for a, b in zip(
            (costs.mean(costs.lost, below[1], family), below[0]), (costs.mean(costs.lost, above[1], family), above[0])))
    return answer


def compare(out):
    costs = Costs(read(out))
    kinds = sorted({kind for kind, _, _ in costs.lost})
    whole = [kind for kind in kinds if all((kind, family, 0) in costs.lost for family in costs.families)]
    groups = {}
    for label, start in (("--lr auto", "--lr auto"), ("one cell for all", "cell"), ("patience", "patience"), ("power law", "power-law"),
                         ("learned stop", "learned")):
        groups[label] = [kind for kind in whole if kind.startswith(start)]
    own = [costs.cost("--lr auto", family) for family in costs.families]
    print(f"{'rival':<18} {'J':>7} {'F1 lost':>8} {'worst':>7} {'steps':>7}   J minus that of --lr auto")

    def line(label, lost, share):
        cost = [a + 2 * b for a, b in zip(lost, share)]
        differences = [a - b for a, b in zip(cost, own)]
        error = statistics.stdev(differences) / len(differences) ** 0.5
        print(f"{label:<18} {statistics.mean(cost):7.2f} {statistics.mean(lost):8.2f} {max(lost):7.2f}"
              f" {statistics.mean(share):7.1%}   {statistics.mean(differences):+.2f} ± {error:.2f}")

    for label, group in groups.items():
        choice = []
        for family in costs.families:
            others = [other for other in costs.families if other != family]
            choice.append(min(group, key=lambda kind: statistics.mean(costs.cost(kind, o) for o in others)))
        line(label, [costs.mean(costs.lost, kind, family) for kind, family in zip(choice, costs.families)],
             [costs.mean(costs.share, kind, family) for kind, family in zip(choice, costs.families)])
    stops = drawn_stops(costs, BENCH.RATES[1])
    line("random stops", [stops[family][0] for family in costs.families], [stops[family][1] for family in costs.families])
    print("\nF1 lost against steps, mean over families")
    for kind in whole:
        print(f"{kind:<34} {statistics.mean(costs.mean(costs.share, kind, f) for f in costs.families):7.1%}"
              f" {statistics.mean(costs.mean(costs.lost, kind, f) for f in costs.families):7.2f}")


def main(words):
    if len(words) == 2 and words[0] == "make":
        return BENCH.make(words[1])
    if len(words) == 3 and words[0] == "cells":
        return train(words[1], words[2], cells(), ROUNDS[0][1])
    if len(words) == 3 and words[0] == "search":
        return search(words[1], words[2])
    if len(words) == 3 and words[0] == "rivals":
        return train(words[1], words[2], [*cells(), *rivals()], RIVALS_SEEDS, PRESETS[:1])
    if len(words) == 2 and words[0] in ("choose", "compare"):
        return {"choose": choose, "compare": compare}[words[0]](words[1])
    sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])

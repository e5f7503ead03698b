#!/usr/bin/env python3
"""Chooses the constants of --lr auto (src/train/auto_schedule.h) on generated families alone.

  bench/tune_rate.py cells OUT    fixed rates and epochs on every family of bench/auto_rate.py
  bench/tune_rate.py search OUT   the trials, in rounds, and what they choose
  bench/tune_rate.py try OUT SEEDS PRESETS SETTING…   settings named by hand, such as '{"norm_threshold": 0.1}'; {} is FIRST
  bench/tune_rate.py choose OUT   what the trials in OUT choose, and how that does on families left out in turn
  bench/tune_rate.py baselines OUT   baselines on the same families, beside the constants that OUT chooses
  bench/tune_rate.py compare OUT  those baselines, each tuned on all families but the one it is judged on

OUT gets a line of JSON for each training; those it holds already are not repeated, so a command that was cut short goes
on where it was. Trainings run side by side, one thread each: --jobs, default all cores. --minutes bounds a command.
--trials names the binary, default build/release/bench/schedule_trials; it draws the families itself. --write puts the
chosen constants into src/train/auto_schedule.h. What is drawn follows from SEED and from the trainings in OUT, so the same
trainings choose the same constants, whoever runs them and on how many cores.

A setting is judged by the cost of its trainings, J = points of F1 lost + 2 x share of the steps of 80 epochs a layer; lost
against the best that OUT holds for the family and preset (fixed cells and settings, mean over seeds, in hindsight), at
most MOST_LOST in one training, so that one collapse does not outweigh all else. To the mean over families comes a quarter
of the mean of the worst tenth of all trainings, and a high price on the share of steps above a fifth, on the mean over
families with epochs of FEW_STEPS steps and more: of shorter ones the whole budget is next to nothing. Both presets count
alike. The first round tries FIRST, PATIENT and settings drawn around them. Every further round takes the best of the
rounds before, the setting that an additive model of all trials expects to be best, and children of the best; with more
seeds each time.

Baselines: one cell for all families; patience on validation F1 or loss with the best weights restored, its rate, patience
and margin tuned; power laws fitted to the validation losses, rate and margin tuned; the learned stop at the preset's
rate; stops drawn at random at rate 0.003, with the mean steps of --lr auto. All with preset paper, by J; looks count as the
steps they take the time of.
"""
import argparse
import importlib.util
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCHEDULE = ROOT + "/src/train/auto_schedule.h"
SEED, MOST_LOST, MOST_STEPS, STEPS_PRICE, EXCESS_PRICE, TAIL_WEIGHT, FEW_STEPS = 18, 10, 0.20, 2, 10, 0.25, 5
PRESETS = ("paper", "best")
TOO_DEAR = {("best", name) for name in ("large", "plenty-products", "plenty-words", "plenty-dense")}  # not tried

# Constant: the values that are tried.
SPACE = {
    "basic_rate": (0.016, 0.02, 0.028), "norm_rate": (0.015, 0.025, 0.04), "few_power": (0.4, 0.6),
    "sure": (0.5, 1), "basic_threshold": (2, 2.8, 4), "f1_threshold": (0.2, 0.4, 0.6), "inner_factor": (1, 2),
    "norm_threshold": (0.2, 0.4, 0.8), "much": (0.25, 0.5, 1), "nothing": (0.02, 0.05, 0.1), "basic_patience": (0.5, 1),
    "norm_patience": (1, 1.5, 2), "least_steps": (30, 60), "cool_down": (0.4, 0.6),
}
# What was chosen before, and more of every kind of patience.
FIRST = {"basic_rate": 0.02, "norm_rate": 0.025, "few_power": 0.6, "sure": 0.5, "basic_threshold": 2.8, "f1_threshold": 0.4,
         "inner_factor": 2, "norm_threshold": 0.4, "much": 0.5, "nothing": 0.05, "basic_patience": 0.5, "norm_patience": 1.5,
         "least_steps": 30, "cool_down": 0.4}
PATIENT = {**FIRST, "basic_threshold": 2, "inner_factor": 1, "nothing": 0.1, "basic_patience": 1, "norm_patience": 2,
           "cool_down": 0.6}
ROUNDS = ((18, 1), (10, 1), (6, 2), (4, 3))  # settings and seeds of each round
BASELINE_SEEDS = 3


def bench():
    spec = importlib.util.spec_from_file_location("bench_controller", ROOT + "/bench/auto_rate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BENCH = bench()


def auto(schedule):
    return {"name": json.dumps(schedule, sort_keys=True), "schedule": schedule,
            "settings": {"lr": "auto", "epochs": str(BENCH.BUDGET)}}


def cells():
    return [{"name": f"cell {rate} x {epochs}", "settings": {"method": "lgcn", "lr": rate, "epochs": epochs}}
            for rate in BENCH.RATES for epochs in BENCH.EPOCHS]


def baselines():
    """The learned stop; extrapolated curves, and patience with its margin, at each rate."""
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
        return [row for row in map(json.loads, file) if "error" not in row]


class Trainer:
    """Trains what OUT does not hold yet, until the minutes are over."""

    def __init__(self, options):
        self.options, self.until = options, time.time() + 60 * options.minutes

    def out_of_time(self):
        return time.time() >= self.until

    def one(self, preset, name, seed, trials):
        split = {"split": BENCH.SPLITS[name]} if name in BENCH.SPLITS else {}
        lines = "".join(json.dumps({**trial, "settings": {**trial["settings"], **split}}) + "\n" for trial in trials)
        words = [self.options.trials, f"generate {BENCH.FAMILIES[name]}", preset, str(seed)]
        left = None if self.until == float("inf") else max(1, self.until + BENCH.GRACE - time.time())
        try:
            answer = subprocess.run(words, input=lines, text=True, capture_output=True, timeout=left)
            if answer.returncode:
                print(f"{name}, {preset}: {answer.stderr[-300:]}", file=sys.stderr)
            told = answer.stdout
        except subprocess.TimeoutExpired as late:
            told = (late.stdout or b"").decode()
            told = told[:told.rfind("\n") + 1]
        return [{"preset": preset, "set": name, **json.loads(line)} for line in told.splitlines()]

    def train(self, trials, seeds, presets=PRESETS):
        """Jobs of one family, preset and seed, and at most two trials; the dearest first."""
        trials, rows = list(trials), read(self.options.out)
        done = {(row["preset"], row["set"], row["name"], row["seed"]) for row in rows}
        seconds = {}
        for row in rows:
            seconds.setdefault((row["preset"], row["set"]), []).append(row["train_seconds"] + row["validate_seconds"])
        jobs = []
        for seed in range(seeds):
            for preset in presets:
                for name in BENCH.FAMILIES:
                    if (preset, name) in TOO_DEAR or self.options.only and name not in self.options.only.split(","):
                        continue
                    left = [trial for trial in trials if (preset, name, trial["name"], seed) not in done]
                    jobs += [(preset, name, seed, left[at:at + 2]) for at in range(0, len(left), 2)]

        def dear(job):
            known = seconds.get(job[:2])
            return statistics.mean(known) if known else 1e3 if job[1] == "large" else 10 if job[0] == "best" else 1
        jobs.sort(key=lambda job: (job[2], -dear(job)))
        BENCH.run_jobs(self.options.out, jobs, self.one, self.options.jobs, self.until)


class Trials:
    """Lost F1 and share of steps of each setting's trainings, by family."""

    def __init__(self, rows):
        found = {}
        for row in rows:
            key = (row["preset"], row["set"])
            if row["name"].startswith(("cell", "{")):
                found.setdefault(key, {}).setdefault(row["name"], []).append(row["test"])
        best = {task: max(statistics.mean(f1) for f1 in of.values()) for task, of in found.items()}
        self.lost, self.share, self.long = {}, {}, set()
        for row in rows:
            if row["steps_per_epoch"] >= FEW_STEPS:
                self.long.add((row["preset"], row["set"]))
            if not row["name"].startswith("{"):
                continue
            budget = BENCH.BUDGET * row["steps_per_epoch"] * len(row["layers"])
            task = (row["preset"], row["set"])
            self.lost.setdefault(row["name"], {}).setdefault(task, []).append(best[task] - row["test"])
            self.share.setdefault(row["name"], {}).setdefault(task, []).append(
                sum(layer[1] for layer in row["layers"]) / budget)
        self.tasks = sorted({task for of in self.lost.values() for task in of})
        self.families = sorted({name for _, name in self.tasks})

    def settings(self, seeds=1):
        """Those that were tried on every family with so many seeds."""
        return sorted(name for name, of in self.lost.items()
                      if all(len(of.get(task, [])) >= seeds for task in self.tasks))

    def judge(self, name, families, preset=None):
        """Cost, F1 lost, its worst tenth, worst family, and share of steps."""
        tasks = [task for task in self.tasks if task[1] in families and preset in (None, task[0])]
        lost = {task: [min(MOST_LOST, value) for value in self.lost[name][task]] for task in tasks}
        every = sorted(value for of in lost.values() for value in of)
        tail = statistics.mean(every[-max(1, len(every) // 10):])
        means = [statistics.mean(of) for of in lost.values()]
        shares = {task: statistics.mean(self.share[name][task]) for task in tasks}
        excess = sum(max(0, statistics.mean([of for task, of in shares.items() if task[0] == p and task in self.long])
                         - MOST_STEPS) for p in {task[0] for task in tasks})
        share, mean = statistics.mean(shares.values()), statistics.mean(means)
        return mean + STEPS_PRICE * share + TAIL_WEIGHT * tail + EXCESS_PRICE * excess, mean, tail, max(means), share

    def order(self, names, families):
        return sorted(names, key=lambda name: (self.judge(name, families)[0], name))


def additive_best(trials, names):
    """The value of each constant with the least mean cost, corrected for the others by a few passes of averaging."""
    costs = {name: trials.judge(name, trials.families)[0] for name in names}
    settings = {name: json.loads(name) for name in names}
    middle = statistics.mean(costs.values())
    effect = {key: dict.fromkeys(values, 0.0) for key, values in SPACE.items()}
    for _ in range(20):
        for key in SPACE:
            rest = {value: [] for value in SPACE[key]}
            for name, setting in settings.items():
                others = sum(effect[other].get(setting[other], 0) for other in SPACE if other != key)
                rest.setdefault(setting[key], []).append(costs[name] - middle - others)
            # Towards 0 where few trials share a value.
            effect[key] = {value: sum(found) / (len(found) + 2) for value, found in rest.items()}
    return {key: min(effect[key], key=lambda value: (effect[key][value], value)) for key in SPACE}


def child(source, parents, new):
    """Constants of two parents, each replaced by any other value with probability `new`."""
    a, b = source.choice(parents), source.choice(parents)
    return {key: source.choice(values) if source.random() < new else source.choice((a, b))[key]
            for key, values in SPACE.items()}


def search(options):
    trainer, best, parents = Trainer(options), [], [FIRST, PATIENT]
    for number, (count, seeds) in enumerate(ROUNDS):
        source = random.Random(SEED + number)
        schedules = best[:count // 2] if best else list(parents)
        while len(schedules) < count:
            one = child(source, parents, 0.4 if number == 0 else 0.1)
            if one not in schedules:
                schedules.append(one)
        trainer.train([auto(schedule) for schedule in schedules], seeds)
        trials = Trials(read(options.out))
        names = trials.settings(seeds)
        if trainer.out_of_time() or not names:
            break
        best = [json.loads(name) for name in trials.order(names, trials.families)]
        parents = best[:6]
        expected = additive_best(trials, trials.settings())
        best = best[:1] + [expected] * (expected not in best) + best[1:]
        print(f"round {number + 1}: {len(names)} settings, cost {trials.judge(names[0], trials.families)[0]:.3f} …", flush=True)
    choose(options)


def schedule_of(setting):
    """FIRST with the constants that a setting named by hand replaces."""
    try:
        given = json.loads(setting)
    except ValueError:
        given = None
    if not isinstance(given, dict) or not all(type(value) in (int, float) for value in given.values()):
        sys.exit(f"tune-rate: '{setting}' is no setting; write JSON of constants in src/train/auto_schedule.h and their values, such as"
                 """ '{"norm_threshold": 0.1}'""")
    with open(SCHEDULE, encoding="utf-8") as file:
        known = set(re.findall(r"(\w+) = [-+.0-9e]+[,;]", file.read()))
    for key in given:
        if key not in known:
            sys.exit(f"tune-rate: src/train/auto_schedule.h has no constant '{key}'; it has {', '.join(sorted(known))}")
    return {**FIRST, **given}


def try_settings(options):
    schedules = [schedule_of(setting) for setting in options.settings]
    Trainer(options).train([auto(schedule) for schedule in schedules], options.seeds, options.presets.split(","))


def most_seeds(trials):
    most = max((seeds for _, seeds in ROUNDS if trials.settings(seeds)), default=0)
    if most == 0:
        sys.exit("no setting was tried on every family yet")
    return most


def chosen_of(trials):
    """The best of the settings that were tried with the most seeds: a lucky seed does not choose."""
    return trials.order(trials.settings(most_seeds(trials)), trials.families)[0]


def choose(options):
    trials = Trials(read(options.out))
    most = most_seeds(trials)
    names = trials.settings(most)
    print(f"{len(names)} settings with {most} seeds on {len(trials.families)} families, {len(trials.settings())} with any")
    line = "{:<28} cost {:.2f}: lost {:.2f}, worst tenth {:.2f}, worst family {:.2f}, steps {:.1%}"
    for name in trials.order(names, trials.families)[:6]:
        print(line.format("both", *trials.judge(name, trials.families)), name)
        for preset in PRESETS:
            print(line.format("  " + preset, *trials.judge(name, trials.families, preset)))
    first = auto(FIRST)["name"]
    if first in trials.settings():
        print(line.format("before", *trials.judge(first, trials.families)))
        for preset in PRESETS:
            print(line.format("  " + preset, *trials.judge(first, trials.families, preset)))
    best = trials.order(names, trials.families)[0]
    lost, shares = [], []
    for family in trials.families:
        others = [other for other in trials.families if other != family]
        chosen = trials.order(names, others)[0]
        tasks = [task for task in trials.tasks if task[1] == family]
        lost.append(statistics.mean(statistics.mean(trials.lost[chosen][task]) for task in tasks))
        shares.append(statistics.mean(statistics.mean(trials.share[chosen][task]) for task in tasks))
        own = "  ".join(f"{task[0]} {statistics.mean(trials.lost[best][task]):.2f} at"
                        f" {statistics.mean(trials.share[best][task]):.1%}" for task in tasks)
        print(f"left out {family:<20} loses {lost[-1]:6.2f} with {shares[-1]:6.1%} of the steps; chosen on all: {own}")
    print(f"left out: mean {statistics.mean(lost):.2f}, worst {max(lost):.2f}, steps {statistics.mean(shares):.1%}")
    for key, value in json.loads(best).items():
        print(f"  {key} = {value}")
    if options.write:
        write(json.loads(best))


def write(schedule):
    with open(SCHEDULE, encoding="utf-8") as file:
        text = file.read()
    for key, value in schedule.items():
        text, count = re.subn(rf"\b{key} = [-+.0-9e]+", f"{key} = {value}", text)
        assert count == 1, key
    with open(SCHEDULE, "w", encoding="utf-8") as file:
        file.write(text)


class Costs:
    """F1 lost and share of steps of every training with preset paper, by kind, family and seed."""

    def __init__(self, rows):
        name = self.auto = chosen_of(Trials(rows))
        rows = [row for row in rows if row["preset"] == PRESETS[0]]
        best, seeds = {}, {}
        for row in rows:
            if row["name"].startswith("cell"):
                best.setdefault(row["set"], {}).setdefault(row["name"], []).append(row["test"])
            if row["name"] == name or not row["name"].startswith("{"):
                seeds.setdefault((row["set"], row["seed"]), set()).add(row["name"])
        kinds = set().union(*seeds.values())
        whole = {task for task, found in seeds.items() if found == kinds}
        best = {family: max(statistics.mean(f1) for f1 in of.values()) for family, of in best.items()}
        self.lost, self.share = {}, {}
        for row in rows:
            if row["name"] not in kinds or (row["set"], row["seed"]) not in whole:
                continue
            key = (row["name"], row["set"], row["seed"])
            looks = 1 + row["validate_seconds"] / max(row["train_seconds"], 1e-9)
            budget = BENCH.BUDGET * row["steps_per_epoch"] * len(row["layers"])
            self.lost[key] = best[row["set"]] - row["test"]
            self.share[key] = looks * sum(layer[1] for layer in row["layers"]) / budget
        self.families = sorted({name for _, name, _ in self.lost})
        self.kinds = sorted(kinds)
        self.trainings = len(whole)

    def mean(self, values, kind, family):
        return statistics.mean(value for key, value in values.items() if key[:2] == (kind, family))

    def cost(self, kind, family, cap=float("inf")):
        """J of a kind on a family; with a cap on what one training may lose."""
        lost = statistics.mean(min(cap, value) for key, value in self.lost.items() if key[:2] == (kind, family))
        return lost + STEPS_PRICE * self.mean(self.share, kind, family)


def drawn_stops(costs, rate):
    """For each family, the two cells beside the mean steps of --lr auto, and the second's weight."""
    answer = {}
    cells_of = [(int(epochs) / BENCH.BUDGET, f"cell {rate} x {epochs}") for epochs in BENCH.EPOCHS]
    for family in costs.families:
        mean = costs.mean(costs.share, costs.auto, family)
        below = max([cell for cell in cells_of if cell[0] <= mean], default=cells_of[0])
        above = min([cell for cell in cells_of if cell[0] > mean], default=cells_of[-1])
        weight = 0 if above[0] == below[0] else min(1, max(0, (mean - below[0]) / (above[0] - below[0])))
        answer[family] = ((below[1], 1 - weight), (above[1], weight))
    return answer


def compare(options):
    costs = Costs(read(options.out))
    if len(costs.families) < 3:
        sys.exit("all kinds have to be tried on three families at least")
    starts = (("--lr auto", costs.auto), ("one cell for all", "cell"), ("patience", "patience"),
              ("power law", "power-law"), ("learned stop", "learned"))
    choices = {}
    for label, start in starts:
        group = [kind for kind in costs.kinds if kind.startswith(start)]
        choices[label] = {}
        for family in costs.families:
            others = [other for other in costs.families if other != family]
            kind = min(group, key=lambda kind: statistics.mean(costs.cost(kind, other) for other in others))
            choices[label][family] = ((kind, 1),)
    choices["random stops"] = drawn_stops(costs, BENCH.RATES[1])

    def means(label, value):
        return [sum(weight * value(kind, family) for kind, weight in choices[label][family]) for family in costs.families]
    print(f"{len(costs.families)} families, {costs.trainings} trainings of each kind")
    print(f"{'baseline':<18} {'J':>6} {'lost':>6} {'worst':>6} {'steps':>6}   J minus that of --lr auto;"
          f" the same, at most {MOST_LOST} lost")
    for label in choices:
        lost = means(label, lambda kind, family: costs.mean(costs.lost, kind, family))
        share = means(label, lambda kind, family: costs.mean(costs.share, kind, family))
        told = ""
        for cap in (float("inf"), MOST_LOST):
            pairs = zip(means(label, lambda k, f: costs.cost(k, f, cap)), means("--lr auto", lambda k, f: costs.cost(k, f, cap)))
            differences = [baseline - own for baseline, own in pairs]
            error = statistics.stdev(differences) / len(differences) ** 0.5
            told += f"   {statistics.mean(differences):+.2f} ± {error:.2f}"
        print(f"{label:<18} {statistics.mean(means(label, costs.cost)):6.2f} {statistics.mean(lost):6.2f} {max(lost):6.2f}"
              f" {statistics.mean(share):6.1%}{told}")
    print("\nF1 lost against steps, mean over families")
    for kind in costs.kinds:
        print(f"{kind[:34]:<34} {statistics.mean(costs.mean(costs.share, kind, f) for f in costs.families):7.1%}"
              f" {statistics.mean(costs.mean(costs.lost, kind, f) for f in costs.families):7.2f}")


def run_baselines(options):
    trainer, trials = Trainer(options), Trials(read(options.out))
    own = [auto(json.loads(chosen_of(trials)))] if trials.lost else [auto({})]
    for seeds in range(1, BASELINE_SEEDS + 1):
        trainer.train([*own, *cells(), *baselines()], seeds, PRESETS[:1])


def main():
    shared = BENCH.options_of_runs()
    shared.add_argument("--trials", default=ROOT + "/build/release/bench/schedule_trials")
    shared.add_argument("--only", default="", help="families, with commas between")
    shared.add_argument("--write", action="store_true")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("cells", "search", "choose", "baselines", "compare"):
        commands.add_parser(name, parents=[shared]).add_argument("out")
    trying = commands.add_parser("try", parents=[shared])
    trying.add_argument("out")
    trying.add_argument("seeds", type=int)
    trying.add_argument("presets")
    trying.add_argument("settings", nargs="+")
    options = parser.parse_args()
    if options.command == "cells":
        Trainer(options).train(cells(), 1)
    else:
        {"search": search, "try": try_settings, "choose": choose, "baselines": run_baselines, "compare": compare}[options.command](options)


if __name__ == "__main__":
    main()

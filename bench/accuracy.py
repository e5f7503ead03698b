#!/usr/bin/env python3
"""Scores of the default preset and of variants of it over data sets and seeds; trainings run side by side.

  bench/accuracy.py table [SET ...]      preset `best`, and preset `paper` on the same splits
  bench/accuracy.py parts [SET ...]      one part left out at a time, and one part alone
  bench/accuracy.py depth [SET ...]      2, 4, 6 and 8 layers
  bench/accuracy.py directions [SET ...] symmetric edges, in- and out-neighbours, both, and what trials choose
  bench/accuracy.py baselines [SET ...]  conventional methods over width, rate and dropout
  bench/accuracy.py try [SET ...] -- OPTION ...   the default beside the default with these options of `l2gcn train`

Options before the sets: --seeds N (10), --jobs N trainings at a time, of one thread each (all cores), --program FILE
(build/release/l2gcn). Data sets lie in $L2GCN_DATA. A row has the number of seeds, the mean validation score, mean and
standard deviation of the test score, mean seconds of the whole process, and what trials chose. Scores are F1 in per cent; of
tolokers and minesweeper the area under the ROC curve. Choose by the validation score; the test score only reports.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("L2GCN_DATA", ROOT / "../shared/data")).resolve()

# Name: what `l2gcn train` opens, the split ({seed} is the number of the seed), the score.
SETS = {
    "cora": ("cora", "", "f1"),
    "citeseer": ("citeseer", "", "f1"),
    "pubmed": ("pubmed", "", "f1"),
    "cora-public": ("cora", "public", "f1"),
    "citeseer-public": ("citeseer", "public", "f1"),
    "pubmed-public": ("pubmed", "public", "f1"),
    "gnn-cora": (DATA / "npz/gnn-benchmark-cora.npz", "", "f1"),
    "photo": (DATA / "npz/amazon_photo.npz", "", "f1"),
    "facebook": (DATA / "musae-facebook", "", "f1"),
    "ppi-largest": (DATA / "ppi-largest", "", "f1"),
    "tolokers": (DATA / "npz/tolokers.npz", "file:{seed}", "auc"),
    "minesweeper": (DATA / "npz/minesweeper.npz", "file:{seed}", "auc"),
    "squirrel": (DATA / "npz/squirrel_filtered.npz", "file:{seed}", "f1"),
    "chameleon": (DATA / "npz/chameleon_filtered_directed.npz", "file:{seed}", "f1"),
    "squirrel-directed": (DATA / "npz/squirrel_filtered_directed.npz", "file:{seed}", "f1"),
}

BASIC_LAYER = ("--preset best --hops 1 --no-self-features --hidden-norm none --head 0 --dropout 0 --input-dropout 0 "
               "--predict-from last --correct off ")
GROUPS = {
    "table": {"best": "--preset best", "paper": "--preset paper --method lgcn"},
    "parts": {
        "best": "--preset best",
        "one hop, no self features": "--preset best --hops 1 --no-self-features",
        "no norm, but bias": "--preset best --hidden-norm none --bias",
        "no head": "--preset best --head 0",
        "no dropout": "--preset best --dropout 0",
        "no input dropout": "--preset best --input-dropout 0",
        "last layer alone": "--preset best --predict-from last",
        "no Correct & Smooth": "--preset best --correct off",
        "basic layer": BASIC_LAYER,
        "+ hops": BASIC_LAYER + "--hops 2 --self-features",
        "+ norm": BASIC_LAYER + "--hidden-norm layer",
        "+ head": BASIC_LAYER + "--head 256",
        "+ both dropouts": BASIC_LAYER + "--dropout 0.5 --input-dropout 0.3",
    },
    "depth": {f"{n} layers": f"--preset best --layers {n}" for n in (2, 4, 6, 8)},
    "directions": {
        "symmetric": "--directed --relations all",
        "in + out": "--directed --relations in,out",
        "symmetric + in + out": "--directed --relations all,in,out",
        "--directed auto": "--directed auto",
    },
    "baselines": {
        f"{method} {hidden} {lr} {dropout}":
        f"--config {{watch_f1}} --method {method} --hidden {hidden} --lr {lr} --dropout {dropout} --stop early --epochs 200 "
        "--patience 30"
        for method in ("gcn", "graphsage", "clustergcn", "vrgcn", "fastgcn", "ladies")
        for hidden in (64, 256) for lr in (0.003, 0.01) for dropout in (0.2, 0.5)
    },
}


def call(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True,
                          env={**os.environ, "L2GCN_DATA": str(DATA)})
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout)


def train(program, name, options, seed):
    """One training: validation score, test score, seconds, parts that trials chose."""
    spec, split, score = SETS[name]
    with tempfile.TemporaryDirectory() as folder:
        run, watch_f1 = os.path.join(folder, "run"), os.path.join(folder, "watch.json")
        pathlib.Path(watch_f1).write_text('{"watch": "val"}')  # of early stopping; for config files alone
        words = ["--split", split.format(seed=seed)] if split else []
        result = call(program, "train", spec, *words, "--seed", seed, "--threads", 1, "--device", "cpu", "-q", "--json",
                      "-o", run, *options.format(watch_f1=watch_f1).split())
        seconds, one = result["seconds"]["total"], result["runs"][0]
        chosen = [t for t in one.get("trials", []) if t["chosen"]]
        parts = " ".join("/".join([*(["+".join(t["relations"])] if "relations" in t else []), "+".join(t["adjacency"]),
                                   t["hidden_norm"]]) for t in chosen)
        if score == "f1":
            return one["f1"]["val"], one["f1"]["test"], seconds, parts
        scores = call(program, "evaluate", run, "--json", "--threads", 1)["scores"]
        return scores["val"]["roc_auc"], scores["test"]["roc_auc"], seconds, parts


def main():
    words, _, options = " ".join(sys.argv[1:]).partition(" -- ")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*GROUPS, "try"])
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--program", default=str(ROOT / "build/release/l2gcn"))
    args = parser.parse_args(words.split())
    for name in args.sets:
        if name not in SETS:
            parser.error(f"unknown set '{name}'; expected one of {', '.join(SETS)}")
    variants = GROUPS.get(args.what) or {"default": "", **({options: options} if options else {})}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = {(name, variant): [pool.submit(train, args.program, name, text, seed) for seed in range(args.seeds)]
                for name in args.sets or SETS for variant, text in variants.items()}
        for (name, variant), futures in rows.items():
            try:
                val, test, seconds, parts = zip(*(future.result() for future in futures))
            except RuntimeError as error:
                print(f"{name:16} {variant}: {error}", flush=True)
                continue
            chosen = ", ".join(f"{count} × {part}" for part, count in collections.Counter(parts).items() if part)
            print(f"{name:16} {variant:32} n {len(test):2}  val {100 * statistics.mean(val):6.2f}  "
                  f"test {100 * statistics.mean(test):6.2f} ± {100 * statistics.pstdev(test):.2f}  "
                  f"{statistics.mean(seconds):7.2f} s  {chosen}", flush=True)


if __name__ == "__main__":
    main()

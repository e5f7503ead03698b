#!/usr/bin/env python3
"""Damages unfinished runs and resumes them: each must end in a clear error, or with the bytes of an undisturbed run.

    scripts/test-checkpoints.py [--quick] [--count N] [--seed S] [PROGRAM]      [N 1200, S 1, build/release/l2gcn]

Runs are cut off by SIGKILL after one and two of three seeds, within their only seed, and between the last file and the
rename. Of each a file gets a bit flipped, bytes changed, cut off or added, or goes; or files of two seeds change places.
--quick makes 60 in place of 1200. Ends with status 1 where a run was resumed without an error to something else.
"""
import argparse
import hashlib
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLOCKS = {"seconds", "train_seconds", "aggregate_seconds", "transform_seconds", "memory", "run", "threads", "files", "checksum"}
TRAIN = "train set --preset paper --method lgcn --hidden 4 --epochs 120,120 --checkpoint-every 20 --threads 1 --device cpu -q"


def without_clocks(value):
    if isinstance(value, dict):
        return {k: without_clocks(v) for k, v in value.items() if k not in CLOCKS}
    return [without_clocks(v) for v in value] if isinstance(value, list) else value


def digest(run):
    """All that must be equal: every file, without wall-clock fields and what is computed from them."""
    total = hashlib.sha256()
    for path in sorted(p for p in run.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if path.suffix == ".json":
            data = json.dumps(without_clocks(json.loads(data))).encode()
        if path.suffix == ".jsonl":
            data = b"".join(json.dumps(without_clocks(json.loads(line))).encode() for line in data.splitlines())
        total.update(str(path.relative_to(run)).encode() + hashlib.sha256(data).digest())
    return total.hexdigest()


class Study:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.bases = []  # (name, a copy of RUN.unfinished, digest of the undisturbed run)
        self.run("generate cora --nodes 120 --edges 300 --features 12 -o set -q")

    def run(self, words):
        done = subprocess.run([self.program, *words.split()], cwd=self.folder, capture_output=True, timeout=120)
        if done.returncode != 0:
            sys.exit(f"l2gcn {words}: {done.stderr.decode()}")

    def cut(self, name, more, awaited):
        """Adds a run that was killed once `awaited` was there and before it was finished."""
        self.run(f"{TRAIN} {more} -o whole-{name}")
        unfinished = self.folder / "cut.unfinished"
        for _ in range(200):
            shutil.rmtree(self.folder / "cut", ignore_errors=True)
            shutil.rmtree(unfinished, ignore_errors=True)
            process = subprocess.Popen([self.program, *f"{TRAIN} {more} -o cut".split()], cwd=self.folder, stdout=subprocess.DEVNULL)
            while process.poll() is None and not (unfinished / "checkpoint" / awaited).exists():
                time.sleep(0.0005)
            process.kill()
            process.wait()
            if (unfinished / "checkpoint" / awaited).exists() and not (unfinished / "result.json").exists():
                return self.add(name, unfinished)
        sys.exit(f"{name}: was never killed in time")

    def nameless(self, name):
        """Adds a run that has everything but its name."""
        shutil.copytree(self.folder / f"whole-{name}", self.folder / f"whole-{name}-nameless")
        shutil.copytree(self.folder / f"whole-{name}", self.folder / "cut.unfinished")
        self.add(f"{name}-nameless", self.folder / "cut.unfinished")

    def add(self, name, unfinished):
        (unfinished / "progress.jsonl").unlink(missing_ok=True)  # for onlookers; nobody resumes from it
        base = self.folder / f"base-{name}"
        shutil.move(unfinished, base)
        self.bases.append((name, base, digest(self.folder / f"whole-{name}")))

    def resume(self, wanted):
        """What came of a damaged run: "", or what is wrong with it; and whether it was refused."""
        done = subprocess.run([self.program, "train", "--resume", "cut", "-q"], cwd=self.folder, capture_output=True, timeout=120)
        said = done.stderr.decode(errors="replace")
        if done.returncode in (1, 2):
            return ("" if said.startswith("l2gcn: ") or "\nl2gcn: " in said else f"no message: {said!r}"), True
        if done.returncode != 0:
            return f"status {done.returncode}: {said}", False
        return ("" if digest(self.folder / "cut") == wanted else f"other bytes; it said {said!r}"), False


def damage(run, chance):
    """Changes one thing below `run`; returns what."""
    files = sorted(p for p in run.rglob("*") if p.is_file())
    path = chance.choice(files)
    name, data = str(path.relative_to(run)), bytearray(path.read_bytes())
    kind = chance.choice(["flip", "flip", "change", "cut", "add", "remove", "swap", "copy", "remove folder"])
    at = chance.randrange(len(data)) if data else 0
    others = [p for p in files if p != path and p.suffix == path.suffix and p.name.split("-")[0] == path.name.split("-")[0]]
    folders = sorted(p for p in run.iterdir() if p.is_dir())
    if kind in ("swap", "copy") and others:
        other = chance.choice(others)
        theirs = other.read_bytes()
        if kind == "swap":
            other.write_bytes(data)
        path.write_bytes(theirs)
        return f"{kind} {name} {other.relative_to(run)}"
    if kind == "remove folder" and folders:
        folder = chance.choice(folders)
        shutil.rmtree(folder)
        return f"{kind} {folder.name}"
    if kind == "remove":
        path.unlink()
        return f"{kind} {name}"
    if kind == "cut":
        del data[at:]
    elif kind == "add":
        data += bytes(chance.randrange(256) for _ in range(chance.randrange(1, 50)))
    elif kind == "change":
        for i in range(at, min(len(data), at + chance.randrange(1, 40))):
            data[i] = chance.randrange(256)
    elif data:
        data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    return f"{kind} {name} at {at}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("program", nargs="?", default=ROOT / "build/release/l2gcn", type=pathlib.Path)
    options = parser.parse_args()
    count, chance = options.count or (60 if options.quick else 1200), random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        study = Study(options.program.resolve(), pathlib.Path(folder))
        study.cut("three", "--runs 3", "seed-1.json")
        study.cut("one-of-three", "--runs 3", "seed-0.json")
        study.cut("one", "", "state-1.safetensors")
        study.nameless("three")
        study.nameless("one")
        refused = same = failures = 0
        for i in range(count):
            name, base, wanted = study.bases[i % len(study.bases)]
            cut = study.folder / "cut.unfinished"
            shutil.rmtree(cut, ignore_errors=True)
            shutil.rmtree(study.folder / "cut", ignore_errors=True)
            shutil.copytree(base, cut)
            what = damage(cut, chance)
            wrong, was_refused = study.resume(wanted)
            if wrong:
                failures += 1
                print(f"FAILED: {name}: {what}: {wrong}", file=sys.stderr)
            refused, same = refused + was_refused, same + (not was_refused and not wrong)
        print(f"{count} damaged checkpoints: {refused} refused, {same} resumed to the same bytes, {failures} failures")
        return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

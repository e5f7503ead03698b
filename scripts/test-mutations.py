#!/usr/bin/env python3
"""Mutates native data sets and recomputes their checksums, so that only checks of the values themselves can notice, then
runs info, train, evaluate and convert on each.

    scripts/test-mutations.py [--quick] [--count N] [--first K] [--seed N] [--build DIR]      [3000 mutations, seed 1, build/release]

A mutation changes array elements, an array's header or its length, or a field of dataset.json. Nothing may die of a
signal, hang, or end with another status than 0 (done), 1 (failed) or 2 (unusable input), and whatever ends with 0 must
have counted right: the script counts nodes, edges, degrees, classes, labelled nodes and missing cells itself. --quick
makes 100 mutations. Mutation K is the same whatever else is made: --only K repeats one and keeps its folder.
"""
import argparse
import concurrent.futures
import ctypes.util
import json
import math
import os
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

MEMORY = 4 << 30  # bytes of address space for each command: a count that asks for more must not take the machine down
TIMEOUT = 60  # seconds
BLOCK = 1 << 20  # bytes that one of the checksums in "blocks" covers
TRAIN = "--preset paper --method lgcn --epochs 1 --hidden 4 --device cpu --threads 1 -q --json".split()
TYPES = {"<u8": "<Q", "<i8": "<q", "<u4": "<I", "<i4": "<i", "|u1": "<B", "<f4": "<f", "<f2": "<e", ">i4": ">i", "<f8": "<d"}

xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
xxhash.XXH3_64bits.restype = ctypes.c_uint64
xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def checksum(data):
    return f"{xxhash.XXH3_64bits(data, len(data)):016x}"


def run(words, folder):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return subprocess.run([str(w) for w in words], cwd=folder, capture_output=True, timeout=TIMEOUT, preexec_fn=limit)


# Arrays

class Npy:
    """The header and the values of a .npy file."""

    def __init__(self, path):
        data = path.read_bytes()
        start = 10 + struct.unpack("<H", data[8:10])[0]
        self.header, self.body = data[10:start].decode(), data[start:]
        described = eval(self.header, {"__builtins__": {}})  # a Python literal, as NumPy defines it
        self.type, self.shape = described["descr"], described["shape"]
        used = math.prod(self.shape) * struct.calcsize(TYPES[self.type])  # what follows is not part of the array
        self.values = [v for (v,) in struct.iter_unpack(TYPES[self.type], self.body[:used])]

    def save(self, path):
        header = self.header.encode()
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + self.body)


def seal(folder):
    """Writes the checksums that the files now have into dataset.json."""
    manifest = json.loads((folder / "dataset.json").read_text())
    files = manifest.get("files")
    for name, entry in files.items() if isinstance(files, dict) else []:
        if isinstance(entry, dict) and (folder / name).is_file():
            data = (folder / name).read_bytes()
            blocks = "".join(checksum(data[at:at + BLOCK]) for at in range(0, len(data), BLOCK))
            entry.update({"bytes": len(data), "xxh3": checksum(data), "blocks": blocks})
    manifest.pop("checksum", None)
    manifest["checksum"] = checksum(json.dumps(manifest, separators=(",", ":"), ensure_ascii=False).encode())
    (folder / "dataset.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


# The script's own counts

def count(folder):
    """What info --json should say of a native directory, from its arrays alone."""
    manifest = json.loads((folder / "dataset.json").read_text())
    array = lambda name: Npy(folder / f"{name}.npy")
    indptr, indices, labels = array("graph_indptr").values, array("graph_indices").values, array("labels")
    nodes = len(indptr) - 1
    rows = [indices[indptr[u]:indptr[u + 1]] for u in range(nodes)]
    degrees = sorted(len(row) for row in rows)
    edges = {(min(u, v), max(u, v)) for u in range(nodes) for v in rows[u] if u != v}
    if manifest["multilabel"]:
        width = labels.shape[1]
        labelled = array("labelled").values if "labelled.npy" in manifest["files"] else [1] * nodes
        members = [sum(labels.values[u * width + c] for u in range(nodes) if labelled[u]) for c in range(width)]
        known = [u for u in range(nodes) if labelled[u]]
    else:
        members = [labels.values.count(c) for c in range(manifest["classes"])]
        known = [u for u in range(nodes) if labels.values[u] >= 0]
    degree = {"min": degrees[0], "median": degrees[nodes // 2], "mean": len(indices) / nodes, "max": degrees[-1],
              "isolated": degrees.count(0)} if nodes else None
    parts = [array(f"split_{k}").values for k in range(len(manifest["splits"]))]
    return {"nodes": nodes, "edges": len(edges), "features": features(folder, manifest)[0], "members": members, "labelled": len(known),
            "degree": degree, "missing": features(folder, manifest)[1],
            "parts": [[sum(part[u] == role for u in known) for role in (1, 2, 3)] for part in parts]}


def features(folder, manifest):
    """The number of features, and the missing cells of each column of a table."""
    nodes = manifest["nodes"]
    if "features.npy" in manifest["files"]:
        dense = Npy(folder / "features.npy")
        width, on = dense.shape[1], lambda c: sum(dense.values[u * dense.shape[1] + c] != 0 for u in range(nodes))
    elif "features_indices.npy" in manifest["files"]:
        indices, values = (Npy(folder / f"features_{part}.npy").values for part in ("indices", "values"))
        width, on = manifest["features"], lambda c: sum(i == c and v != 0 for i, v in zip(indices, values))
    else:
        return 0, {}
    missing, end = {}, 0
    for column in manifest.get("table", {}).get("columns", []):
        end += (len(column["levels"]) if column["kind"] == "category" else 1) + column["marks_missing"]
        if column["marks_missing"] and on(end - 1):
            missing[column["name"]] = on(end - 1)
    return width, missing


def wrong_counts(folder, outcomes):
    """The first difference between what commands that ended well say and what is there; None where there is none."""
    done = [name for name, outcome in outcomes.items() if outcome.returncode == 0]
    if not done:
        return None
    try:
        own = count(folder)
    except Exception as error:  # what cannot be counted must have been refused
        return f"{done} accepted what cannot be counted: {error!r}"
    said = {name: json.loads(outcomes[name].stdout) for name in done if name != "convert"}
    pairs = []
    if "info" in done:
        data, counts = said["info"]["dataset"], said["info"]["counts"]
        pairs += [(f"info {key}", data[key], own[key]) for key in ("nodes", "edges", "features")]
        pairs += [("info classes", [c["count"] for c in counts["classes"]], own["members"]), ("info labelled", counts["labelled"], own["labelled"]),
                  ("info unlabelled", counts["unlabelled"], own["nodes"] - own["labelled"]), ("info degree", counts.get("degree"), own["degree"]),
                  ("info missing", counts.get("missing", {}), own["missing"])]
    if "train" in done:
        split, data = said["train"]["split"], said["train"]["dataset"]
        pairs += [(f"train {key}", data[key], own[key]) for key in ("nodes", "edges", "features")]
        if own["parts"]:
            parts = [[split[part] for part in ("train", "val", "test")]]
            pairs.append(("train split", parts[0] in own["parts"], True))
    if "evaluate" in done:
        pairs.append(("evaluate nodes", said["evaluate"]["scores"]["all"]["nodes"] <= own["labelled"], True))
    if "convert" in done:
        pairs.append(("convert", count(folder.parent / "converted"), own))
    return next((f"{what}: {found}, counted {right}" for what, found, right in pairs if found != right), None)


# Mutations

def numbers(choice, size):
    """Whole numbers at and near the edges of what is valid."""
    return choice.choice([0, 1, -1, 2, size - 1, size, size + 1, 2**31 - 1, -2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1, choice.randrange(size + 2)])


def change_elements(choice, folder, path):
    array = Npy(path)
    kind, width = TYPES[array.type], struct.calcsize(TYPES[array.type])
    body, many = bytearray(array.body), len(array.values)
    if many == 0:
        return f"{path.name} is empty"
    told = []
    for _ in range(choice.choice([1, 1, 1, 2, 3])):
        at = choice.choice([0, many - 1, choice.randrange(many)])
        how = choice.randrange(4)
        if how == 0:  # another element's value
            value = body[choice.randrange(many) * width:][:width]
        elif how == 1:  # a bit
            value = bytearray(body[at * width:][:width])
            value[choice.randrange(width)] ^= 1 << choice.randrange(8)
        elif kind[1] in "fe":
            value = struct.pack(kind, choice.choice([float("nan"), float("inf"), -0.0, 6e4, 1e-7 if kind == "<e" else 3e38]))
        else:
            value = (numbers(choice, max(4, many)) % (1 << 8 * width)).to_bytes(width, "little")
        body[at * width:at * width + width] = value
        told.append(f"[{at}] = {bytes(value).hex()}")
    array.body = bytes(body)
    array.save(path)
    return f"{path.name}{', '.join(told)}"


def change_file(choice, folder, path):
    array = Npy(path)
    how = choice.randrange(4)
    if how == 0:
        array.body = array.body[:choice.randrange(len(array.body) + 1)]
    elif how == 1:
        array.body += bytes(choice.choice([1, 4, 8, 64]))
    elif how == 2:
        array.header = array.header.replace(array.type, choice.choice(list(TYPES) + ["|O", "|S3"]))
    else:
        shape = str(array.shape)
        other = shape.replace(str(array.shape[0]), str(numbers(choice, array.shape[0])), 1)
        array.header = array.header.replace(shape, other)
    array.save(path)
    return f"{path.name}: {['shorter', 'longer', 'type', 'shape'][how]} {array.header.strip()}"


def change_manifest(choice, folder):
    path = folder / "dataset.json"
    manifest = json.loads(path.read_text())
    key = choice.choice([k for k in manifest if k not in ("format", "version", "checksum")])
    value = manifest[key]
    if choice.random() < 0.15:
        manifest[key] = choice.choice([None, [], {}, "", 1.5, True, [[]], "x" * 300])
    elif isinstance(value, bool):
        manifest[key] = not value
    elif isinstance(value, int):
        manifest[key] = numbers(choice, max(4, value))
    elif isinstance(value, list):
        manifest[key] = choice.choice([value + ["one more"], value[:-1], value[::-1], value * 2, [str(v) + "\n=1" for v in value]])
    elif key == "files" and value:
        name = choice.choice(list(value))
        manifest[key][choice.choice([name + ".npy", "../" + name, "labelled.npy", "graph_weights.npy", "node_ids.npy"])] = value.pop(name)
    elif key == "table":
        column = choice.choice(value["columns"])
        field = choice.choice(list(column))
        column[field] = choice.choice([numbers(choice, 60), True, "category", ["a", "b"], 0])
    elif key == "changes":
        value[choice.choice(list(value))] = numbers(choice, 60)
    else:
        manifest[key] = choice.choice(["", "\x1b[31m", "../../x", "cora", "a\nb"])
    path.write_text(json.dumps(manifest, ensure_ascii=False))
    return f"dataset.json {key}: {json.dumps(manifest.get(key))[:80]}"


def mutate(choice, folder):
    kind, path = choice.random(), choice.choice(sorted(folder.glob("*.npy")))
    told = (change_elements(choice, folder, path) if kind < 0.7 else change_file(choice, folder, path) if kind < 0.8 else
            change_manifest(choice, folder))
    seal(folder)
    return told


# The study

def make_sets(program, folder):
    """Data sets of every kind that a native directory can hold, each with a run trained on it."""
    def make(*words):
        outcome = run([program, *words, "-q"], folder)
        if outcome.returncode != 0:
            sys.exit(f"l2gcn {' '.join(map(str, words))}: {outcome.stderr.decode()}")
    size = "--nodes 60 --edges 150 --features 6".split()
    make("generate", "cora", *size, "-o", "sparse")
    make("generate", "reddit", *size, "-o", "dense")
    make("convert", "dense", "half", "--features-as", "f16")
    edges, nodes, choice = ["source,target,weight"], ["id,age,colour,part,kind"], random.Random(1)
    for u in range(60):
        edges += [f"p{u},p{(u * 7 + k) % 60},{0.5 + k}" for k in range(3)]
        nodes.append(f"p{u},{choice.choice(['', str(u)])},{choice.choice(['', 'red', 'blue'])},{choice.choice(['train', 'train', 'val', 'test'])},"
                     f"{choice.choice(['', 'a', 'b', 'b'])}")
    (folder / "edges.csv").write_text("\n".join(edges) + "\n")
    (folder / "nodes.csv").write_text("\n".join(nodes) + "\n")
    labels = ["id,x,y,z"] + [f"p{u},{u % 2},{u % 3 // 2},{choice.randrange(2)}" for u in range(55)]
    (folder / "labels.csv").write_text("\n".join(labels) + "\n")
    make("convert", *"--edges edges.csv --labels labels.csv several-labels".split())
    table = "--edges edges.csv --nodes nodes.csv --label kind".split()
    make("convert", *table, "table")
    make("convert", *table, "directed", "--directed", "--keep-self-loops")
    make("convert", "sparse", "ids", "--min-degree", "2")
    names = ["sparse", "dense", "several-labels", "half", "table", "directed", "ids"]
    for name in names:
        make("train", name, *[word for word in TRAIN if word not in ("-q", "--json")], "-o", name + "-run")
    return names


def study(program, sets, names, seed, number, folder):
    """One mutation. Returns what was done to which set, the statuses, and what is wrong (None: nothing)."""
    choice = random.Random(f"{seed}-{number}")
    name = choice.choice(names)
    shutil.copytree(sets / name, folder / "set")
    told = f"{number}: {name} {mutate(choice, folder / 'set')}"
    commands = {"info": ["info", "set", "--json"], "train": ["train", "set", *TRAIN, "-o", "run"],
                "evaluate": ["evaluate", sets / f"{name}-run", "set", "--json", "-q", "--threads", "1"],
                "convert": ["convert", "set", "converted", "-q", "--threads", "1"]}
    outcomes = {}
    for command, words in commands.items():
        try:
            outcomes[command] = run([program, *words], folder)
        except subprocess.TimeoutExpired:
            return told, {}, f"{command} takes longer than {TIMEOUT} s"
        status, said = outcomes[command].returncode, outcomes[command].stderr.decode(errors="replace").strip()
        if status not in (0, 1, 2):
            return told, {}, f"{command} ended with {status}: {said[-300:]}"
        if status != 0 and not said.startswith("l2gcn: ") and "\nl2gcn: " not in said:
            return told, {}, f"{command} ended with {status} and does not say why: {said[-300:]}"
    return told, {c: o.returncode for c, o in outcomes.items()}, wrong_counts(folder / "set", outcomes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default=pathlib.Path(__file__).parent.parent / "build/release")
    options = parser.parse_args()
    program = pathlib.Path(options.build).resolve() / "l2gcn"
    many = options.count or (100 if options.quick else 3000)
    base = pathlib.Path(tempfile.mkdtemp(prefix="l2gcn-mutations-"))
    os.environ["L2GCN_DATA"] = str(base / "none")
    (base / "sets").mkdir()
    names = make_sets(program, base / "sets")

    def one(number):
        folder = base / str(number)
        folder.mkdir()
        result = study(program, base / "sets", names, options.seed, number, folder)
        if options.only is None:
            shutil.rmtree(folder)
        return result
    chosen = range(options.first, many) if options.only is None else [options.only]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = []
        for told, statuses, problem in pool.map(one, chosen):
            results.append((told, statuses, problem))
            if problem:
                print(f"FAILED {told}\n    {problem}", flush=True)
            if len(results) % 500 == 0:
                print(f"{len(results)} mutations", flush=True)
    wrong = [problem for _, _, problem in results if problem]
    for command in ("info", "train", "evaluate", "convert"):
        statuses = [status[command] for _, status, _ in results if command in status]
        print(f"{command}: {statuses.count(0)} done, {statuses.count(2)} refused, {statuses.count(1)} failed")
    print(f"mutations: {len(results)}, wrong: {len(wrong)}")
    if options.only is None:
        shutil.rmtree(base)
    else:
        print(results[0][0], results[0][1], base / str(options.only), sep="\n")
    sys.exit(1 if wrong else 0)


main()

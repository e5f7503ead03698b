#!/usr/bin/env python3
"""Runs what people met with their own tables on two programs and prints a table of what each did.

usage: scripts/compare-findings.py BEFORE AFTER        (L2GCN programs; Python's standard library is enough)

Every row is a small set of files and a command. The last column is what the program said or found: its first error
or the figure in question. The table in docs/own-data-findings.md is made by it.
"""
import csv
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile

PEOPLE = 60


def write(name, rows, header=None, separator=",", newline="\n"):
    with open(name, "w", newline="") as file:
        out = csv.writer(file, delimiter=separator, lineterminator=newline)
        for row in ([header] if header else []) + rows:
            out.writerow(row)


def text(name, content, encoding="utf-8"):
    with open(name, "wb") as file:
        file.write(content.encode(encoding) if isinstance(content, str) else content)


def ring(name=str):
    return [[name(i), name((i + k) % PEOPLE)] for i in range(PEOPLE) for k in (1, 2)]


def nodes(name=str, extra=lambda i: [i % 7, (i * 37) % 11], label=lambda i: "yes" if i < PEOPLE // 2 else "no"):
    return [[name(i), *extra(i), label(i)] for i in range(PEOPLE)]


HEAD = ["id", "a", "b", "label"]


class Program:
    def __init__(self, path):
        self.path = os.path.abspath(path)

    def run(self, *arguments):
        done = subprocess.run([self.path, *arguments], capture_output=True, text=True, errors="replace", timeout=120)
        status = 128 - done.returncode if done.returncode < 0 else done.returncode
        return status, done.stdout, done.stderr

    def error(self, *arguments):
        """The exit status, and the first line that says what is wrong."""
        status, _, said = self.run(*arguments)
        said = re.sub(r"\S*/(src/\S+)", r"\1", said)  # Where the program was built is of no interest.
        lines = [line for line in said.splitlines() if line.strip()]
        wrong = [line for line in lines if "error" in line or "assert" in line.lower()] or lines[-1:]
        return f"exit {status}" + (": " + short(wrong[0].strip()) if status else "")

    def count(self, field, *arguments):
        status, out, _ = self.run("info", *arguments, "--json")
        return f"exit 0: {json.loads(out)['dataset'][field]} {field}" if status == 0 else self.error("info", *arguments)

    def says(self, words, *arguments):
        """Exit status and whether the words stand in what it says."""
        status, out, said = self.run(*arguments)
        found = [line.strip() for line in (out + "\n" + said).splitlines() if words in line]
        return f"exit {status}: " + (short(found[0]) if found else f"no word of \"{words}\"")

    def train(self, *arguments):
        return self.run("train", *arguments, "--epochs", "20", "--device", "cpu", "-q", "-o", "run", "--force")

    def f1(self, *arguments):
        status, out, _ = self.run("train", *arguments, "--epochs", "60", "--device", "cpu", "-q", "-o", "run", "--force", "--json")
        return f"exit {status}" + (f": test F1 {100 * json.loads(out)['f1']['test']:.0f} %" if status == 0 else "")


def short(line):
    return line if len(line) <= 150 else line[:149] + "…"


CASES = []


def case(number, what):
    def add(body):
        CASES.append((number, what, body))
        return body
    return add


def smith(i):
    return f"Smith, John {i}"


@case(1, "60 quoted names with commas in an edge list")
def _(p):
    write("e.csv", ring(smith), ["source", "target"])
    return p.count("nodes", "--edges", "e.csv")


@case(2, "edges say 1.0 where nodes say 1")
def _(p):
    write("e.csv", ring(lambda i: f"{i}.0"), ["source", "target"])
    write("n.csv", nodes(), HEAD)
    return p.count("nodes", "--edges", "e.csv", "--nodes", "n.csv")


@case(2, "edges share no id with the nodes")
def _(p):
    write("e.csv", ring(lambda i: f"x{i}"), ["source", "target"])
    write("n.csv", nodes(), HEAD)
    return p.count("nodes", "--edges", "e.csv", "--nodes", "n.csv")


@case(2, "a pandas index column before source and target")
def _(p):
    write("e.csv", [[k, *row] for k, row in enumerate(ring())], ["", "source", "target"])
    return p.count("nodes", "--edges", "e.csv")


@case(2, "a header that is not in the list of usual ones (people: p0, p1, …)")
def _(p):
    write("e.csv", ring(lambda i: f"p{i}"), ["caller", "callee"])
    return p.count("nodes", "--edges", "e.csv")


@case(2, "the ids of the edges stand in the table's last column")
def _(p):
    write("e.csv", ring(), ["from", "to"])
    write("n.csv", [[1000 + i, i % 7, i % 2, i] for i in range(PEOPLE)], ["id", "days", "label", "new_id"])
    return p.count("nodes", "--edges", "e.csv", "--nodes", "n.csv", "--label", "label")


@case(3, "predict with the columns in another order: answers that change")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    table = nodes(extra=lambda i: [(i >= PEOPLE // 2) * 3 + i % 2, i % 5])
    write("n.csv", table, HEAD)
    write("m.csv", [[r[0], r[2], r[1], r[3]] for r in table], ["id", "b", "a", "label"])
    p.train("--edges", "e.csv", "--nodes", "n.csv", "--label", "label")
    answers = []
    for name in ("n", "m"):
        status, _, said = p.run("predict", "run", "--edges", "e.csv", "--nodes", f"{name}.csv", "-o", f"{name}.out.csv")
        if status:
            return f"exit {status}: {short(said.splitlines()[-1])}"
        answers.append([row["class"] for row in csv.DictReader(open(f"{name}.out.csv", newline=""))])
    return f"exit 0: {sum(a != b for a, b in zip(*answers))} of {PEOPLE}"


@case(3, "predict a table without the label column")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    write("n.csv", nodes(), HEAD)
    write("m.csv", [row[:-1] for row in nodes()], HEAD[:-1])
    p.train("--edges", "e.csv", "--nodes", "n.csv", "--label", "label")
    return p.error("predict", "run", "--edges", "e.csv", "--nodes", "m.csv", "-o", "out.csv")


@case(4, "evaluate on a table with other classes")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    write("n.csv", nodes(), HEAD)
    write("m.csv", nodes(label=lambda i: f"c{i % 3}"), HEAD)
    p.train("--edges", "e.csv", "--nodes", "n.csv", "--label", "label")
    return p.error("evaluate", "run", "--edges", "e.csv", "--nodes", "m.csv", "--label", "label")


@case(4, "train with labels and no features")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    write("l.csv", [[i, "yes" if i < PEOPLE // 2 else "no"] for i in range(PEOPLE)], ["id", "label"])
    return p.error("train", "--edges", "e.csv", "--labels", "l.csv", "--epochs", "3", "-q", "-o", "run", "--force")


@case(5, "NA among the numbers of a column")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    write("n.csv", nodes(extra=lambda i: ["NA" if i % 9 == 4 else i * 1.5, 1]), HEAD)
    return p.count("features", "--edges", "e.csv", "--nodes", "n.csv")


@case(6, "an unscaled income column beside one that tells the class")
def _(p):
    random.seed(2)
    write("e.csv", ring(), ["source", "target"])
    write("n.csv", nodes(extra=lambda i: [random.randint(20000, 90000), int(i >= PEOPLE // 2)]), HEAD)
    return p.f1("--edges", "e.csv", "--nodes", "n.csv", "--label", "label")


@case(6, "--lr 1e30")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    write("n.csv", nodes(), HEAD)
    return p.error("train", "--edges", "e.csv", "--nodes", "n.csv", "--lr", "1e30", "--epochs", "9", "-q", "-o", "run", "--force")


@case(6, "a model that does not beat the largest class")
def _(p):
    random.seed(3)
    write("e.csv", ring(), ["source", "target"])
    write("n.csv", nodes(extra=lambda i: [1, 1], label=lambda i: "rare" if i % 10 == 0 else "usual"), HEAD)
    return p.says("does not beat", "train", "--edges", "e.csv", "--nodes", "n.csv", "--epochs", "2", "-o", "run", "--force")


@case(7, "macro F1 is in evaluate's JSON with accuracy and AUC")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    write("n.csv", nodes(), HEAD)
    p.train("--edges", "e.csv", "--nodes", "n.csv", "--label", "label")
    status, out, _ = p.run("evaluate", "run", "--json")
    return f"exit {status}: " + ", ".join(k for k in ("macro_f1", "accuracy", "roc_auc", "confusion") if k in json.loads(out))


@case(8, "the split of a run is kept beside it")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    write("n.csv", nodes(), HEAD)
    p.train("--edges", "e.csv", "--nodes", "n.csv", "--label", "label")
    return "split.npy" if os.path.exists("run/split.npy") else "nothing"


@case(8, "predictions on standard output: their columns")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    write("n.csv", nodes(), HEAD)
    p.train("--edges", "e.csv", "--nodes", "n.csv", "--label", "label")
    status, out, _ = p.run("predict", "run", "-o", "-", "-q")
    return f"exit {status}: {out.splitlines()[0] if out else 'nothing'}"


@case(9, "train with an edge list and no labels")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    return p.error("train", "e.csv", "-q", "-o", "run", "--force")


@case(10, "a value of 1e400 in a column")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    write("n.csv", nodes(extra=lambda i: ["1e400" if i == 5 else i, 1]), HEAD)
    return p.error("info", "--edges", "e.csv", "--nodes", "n.csv")


@case(10, "a byte order mark and no header: 3 edges")
def _(p):
    text("e.csv", "\ufeff0,1\n1,2\n2,3\n")
    return p.count("edges", "--edges", "e.csv")


@case(10, "the first row is 007,7: 3 edges")
def _(p):
    text("e.csv", "007,7\n7,8\n8,9\n")
    return p.count("edges", "--edges", "e.csv")


@case(10, "0;1;0,5 with decimal commas: 3 nodes")
def _(p):
    text("e.csv", "0;1;0,5\n1;2;0,25\n")
    return p.count("nodes", "--edges", "e.csv")


@case(10, "lines that end in carriage returns alone: 3 edges")
def _(p):
    text("e.csv", "0,1\r1,2\r2,3\r")
    return p.count("edges", "--edges", "e.csv")


@case(10, "a .gz file whose first bytes are damaged")
def _(p):
    text("e.csv.gz", b"\x00\x00" + gzip.compress(b"0,1\n1,2\n")[2:])
    return p.error("info", "--edges", "e.csv.gz")


@case(10, "a pointer of Git LFS")
def _(p):
    text("e.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12345\n")
    return p.error("info", "--edges", "e.csv")


@case(10, "a node table that is a header and nothing else")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    text("n.csv", "id,a,label\n")
    return p.error("info", "--edges", "e.csv", "--nodes", "n.csv")


@case(11, "features as NumPy's savetxt writes them, no ids and no header")
def _(p):
    write("e.csv", ring())
    text("x.csv", "".join(f"{i % 3}.0 1.0 0.5\n" for i in range(PEOPLE)))
    return p.count("features", "--edges", "e.csv", "--features", "x.csv")


@case(11, "a 0/1 matrix of labels with several ones in a row")
def _(p):
    write("e.csv", ring())
    text("x.csv", "".join(f"{i % 3}.0 1.0 0.5\n" for i in range(PEOPLE)))
    text("y.csv", "".join(f"{i % 2},1,{i % 3 % 2}\n" for i in range(PEOPLE)))
    return p.count("classes", "--edges", "e.csv", "--features", "x.csv", "--labels", "y.csv")


@case(10, "svmlight with a second value for an index")
def _(p):
    write("e.csv", ring())
    text("x.svmlight", "".join(f"{i % 2} 1:1 2:0.5 {'2:0.75' if i == 4 else ''}\n" for i in range(PEOPLE)))
    return p.error("info", "--edges", "e.csv", "--features", "x.svmlight")


@case(9, "compare with a setting that none of its methods takes")
def _(p):
    write("e.csv", ring(), ["source", "target"])
    write("n.csv", nodes(), HEAD)
    return p.error("compare", "--edges", "e.csv", "--nodes", "n.csv", "--methods", "lgcn,gcn", "--hops", "3", "--epochs", "2")


def main():
    before, after = Program(sys.argv[1]), Program(sys.argv[2])
    print("| finding | what | before | after |\n|---|---|---|---|")
    for number, what, body in sorted(CASES, key=lambda one: one[0]):
        answers = []
        for program in (before, after):
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                try:
                    answers.append(body(program).replace("|", "\\|").replace(folder + "/", ""))
                except (subprocess.TimeoutExpired, KeyError, IndexError, ValueError) as wrong:
                    answers.append(f"{type(wrong).__name__}: {wrong}")
                os.chdir("/")
        print(f"| {number} | {what} | {answers[0]} | {answers[1]} |", flush=True)


main()

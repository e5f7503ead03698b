#!/usr/bin/env python3
"""Tests check-vocabulary.py: it names each old word with its place and replacement, and lets ordinary words pass."""
import pathlib
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).resolve().parent / "check-vocabulary.py"

# Each line is one use of an old word, and the replacement that has to be named.
OLD = [
    ("class SnapshotKeeper {", "checkpointer"),
    ("RateCourse course;", "learning-rate schedule"),
    ("PairedStop policy;", "plateau stopping"),
    ("const double price = norm_price;", "improvement threshold"),
    ("std::shared_ptr<RunClaim> claim_;", "run lock"),
    ("// The best look of the layer in training.", "evaluation"),
    ("// Of the layer before.", "a sentence that begins with its subject"),
    ("// The step at hand.", "current"),
    ("// What a card computes.", "GPU"),
    ("const std::string recipe;", "preset"),
    ("void TellRestarts();", "Log*"),
    ("// Every verb moves its data.", "operation"),
]
ORDINARY = [
    "// A ring buffer, an Arrow table, a spreadsheet that cannot be reached, a server that nobody can reach.",
    "// Of course, the result arrives in the course of events: look it up in the lookup table.",
    'json["recipe"] = row;  // a stored name',
    "// A level of SIMD; claims of a header; a discarded row; a keyboard; a narrow street; a string.",
]


def run(folder: pathlib.Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, CHECK, folder], capture_output=True, text=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "src").mkdir()
        (folder / "src/ordinary.h").write_text("\n".join(ORDINARY) + "\n", encoding="utf-8")
        clean = run(folder)
        assert clean.returncode == 0, clean.stdout
        (folder / "src/old.h").write_text("\n".join(line for line, _ in OLD) + "\n", encoding="utf-8")
        (folder / "src/ranks_keeper.h").write_text("// Nothing else.\n", encoding="utf-8")
        found = run(folder)
        assert found.returncode == 1, found.returncode
        for number, (line, word) in enumerate(OLD, start=1):
            hits = [hit for hit in found.stdout.splitlines() if hit.startswith(f"src/old.h:{number}: ")]
            assert any(word in hit for hit in hits), (line, hits)
        assert "src/ranks_keeper.h:0: " in found.stdout, found.stdout
        assert "ordinary.h" not in found.stdout, found.stdout


main()

#!/usr/bin/env python3
"""Checks that the words listed in vocabulary.txt appear nowhere in the project, and names the word to use.

usage: check-vocabulary.py [FOLDER]   FOLDER: a project to check instead of this one

Checked are the text files that git tracks, or all of FOLDER's, below src, include, apps, python, tests, bench, scripts,
examples and docs, and README.md; file names too.
"""
from __future__ import annotations

import fnmatch
import pathlib
import re
import subprocess
import sys
from typing import Iterable, NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
PLACES = ("src/", "include/", "apps/", "python/", "tests/", "bench/", "scripts/", "examples/", "docs/", "README.md")
# The table itself, its test, and bytes and figures that other programs wrote.
LEFT_OUT = ("tests/structure/*vocabulary*", "tests/fuzz/seeds/*", "tests/golden/*.txt", "*.svg")


class Row(NamedTuple):
    pattern: re.Pattern[str]
    word: str
    only_in: list[str]
    not_in: list[str]

    def covers(self, name: str) -> bool:
        return (not self.only_in or matches(name, self.only_in)) and not matches(name, self.not_in)


def matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def read_table() -> list[Row]:
    table = []
    for line in (HERE / "vocabulary.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        pattern, _, rest = line.partition(" => ")
        rest, _, only_in = rest.partition("; only in ")
        word, _, not_in = rest.partition("; not in ")
        table.append(Row(re.compile(pattern), word, only_in.split(), not_in.split()))
    return table


def files_of(root: pathlib.Path) -> list[str]:
    if (root / ".git").exists():
        names = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.splitlines()
    else:
        names = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    names = [name for name in names if name.startswith(PLACES) and (root / name).is_file()]
    return sorted(name for name in names if not matches(name, LEFT_OUT))


def check(root: pathlib.Path) -> list[str]:
    table = read_table()
    any_word = re.compile("|".join(f"(?:{row.pattern.pattern})" for row in table), re.MULTILINE)
    found = []
    for name in files_of(root):
        try:
            text = (root / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if not any_word.search(name) and not any_word.search(text):
            continue
        rows = [row for row in table if row.covers(name)]
        for number, line in enumerate([name, *text.splitlines()]):
            for row in rows:
                if hit := row.pattern.search(line):
                    found.append(f"{name}:{number}: '{hit[0].strip()}': use {row.word}")
    return found


def main() -> None:
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent.parent
    found = check(root)
    print("\n".join(found))
    if found:
        sys.exit(f"{len(found)} uses of words that tests/structure/vocabulary.txt replaces")


if __name__ == "__main__":
    main()

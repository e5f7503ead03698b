#!/usr/bin/env python3
"""Checks README.md and the documentation site (docs/, mkdocs.yml) without building it.

Lengths of README and site, lengths of sentences, relative links and anchors, pages outside the navigation, the
languages of code blocks, and the C++ example. Prints every problem as FILE:LINE and ends with status 1 if there is one.
"""

from __future__ import annotations

import os
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SITE_WORDS = 18_000
NOTES_WORDS = 4_000
README_LINES = 130
SENTENCE_WORDS = 30
MEDIAN_WORDS = 16

# Blocks fenced as `bash` run in tests/cli/pages_test.cpp and those fenced as `python` in python/tests/test_pages.py. `console` marks
# commands that tests cannot run; only these pages have some, for the reason given.
LANGUAGES = {"bash", "python", "console", "text", "json", "csv", "cpp", "cmake", "diff", "bibtex"}
CONSOLE = {
    "README.md": "installs packages and builds the program; scripts/test-bare.sh runs it",
    "docs/index.md": "installs packages and builds the program; scripts/test-bare.sh runs the same commands",
    "docs/guides/python.md": "installs the package; needs PyTorch",
    "docs/guides/gpu.md": "needs a GPU",
    "docs/guides/cluster.md": "needs mpirun or Slurm",
    "docs/guides/larger-than-memory.md": "needs a large data set",
    "docs/guides/reports.md": "starts a server and TensorBoard",
    "docs/guides/own-data.md": "needs downloaded data sets",
    "docs/reference/cpp.md": "builds a project; the test api.outside does",
    "docs/reference/formats.md": "needs downloaded data sets",
    "docs/explanation/stopping.md": "takes minutes",
    "docs/reproducing.md": "takes minutes to hours",
    "docs/performance.md": "takes minutes to hours, or needs a GPU",
    "docs/development/contributing.md": "builds the program",
    "docs/development/testing.md": "builds and tests the program",
    "docs/development/release.md": "builds packages",
    "docs/development/extending.md": "builds the program",
}


class Page:
    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.name = str(path.relative_to(ROOT))
        self.text = path.read_text(encoding="utf-8")
        self.prose: list[tuple[int, str]] = []  # lines outside of code blocks
        self.fences: list[tuple[int, str]] = []
        self.anchors: set[str] = set()
        inside = ""
        for number, line in enumerate(self.text.splitlines(), start=1):
            fence = re.match(r"\s*(```+)(.*)$", line)
            if fence and not inside:
                inside = fence[1]
                self.fences.append((number, fence[2].strip()))
            elif fence and fence[1] == inside and not fence[2].strip():
                inside = ""
            elif not inside:
                self.prose.append((number, line))
                heading = re.match(r"#+ (.*?)(?: *\{#([\w-]+)\})?$", line)
                if heading:
                    self.anchors.add(heading[2] or slug(heading[1]))


def slug(heading: str) -> str:
    """A heading's anchor, as MkDocs makes it."""
    text = re.sub(r"[^\w\s-]", "", heading.replace("`", "").encode("ascii", "ignore").decode()).strip().lower()
    return re.sub(r"[-\s]+", "-", text)


def plain(text: str) -> str:
    """Markdown without its marks: an inline code span or a picture is one word, a link its text."""
    text = re.sub(r"<!--.*?-->", " ", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)(\{[^}]*\})?", " ", text)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<[^>]+>", " ", text)
    return re.sub(r"[*_]{1,2}(\S[^*_]*)[*_]{1,2}", r"\1", text)


def paragraphs(page: Page) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """(first line, text) of paragraphs and list items, and of table cells. Headings are neither."""
    found: list[tuple[int, str]] = []
    cells: list[tuple[int, str]] = []
    current: list[str] = []
    start = last = 0

    def finish() -> None:
        if current:
            found.append((start, " ".join(current)))
            current.clear()

    for number, line in page.prose:
        stripped = line.strip()
        item = re.match(r"(?:[-*]|\d+\.) +(.*)", stripped)
        if stripped.startswith("|"):
            finish()
            cells += [(number, cell.strip()) for cell in re.split(r"(?<!\\)\|", stripped)[1:-1] if not re.fullmatch(r"[\s:-]*", cell)]
        elif not stripped or stripped.startswith(("#", ":::", "!!!", "---")) or line.startswith("    ::"):
            finish()
        else:
            if item or number != last + 1:
                finish()
            if not current:
                start = number
            current.append(item[1] if item else stripped)
        last = number
    finish()
    return found, cells


def sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])[)\"”]?\s+(?=[\w`(\"“ÂΘ−0-9])", plain(text))
    return [part for part in parts if re.search(r"\w", part)]


def count(sentence: str) -> int:
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def main() -> int:
    problems: list[str] = []
    docs = sorted((ROOT / "docs").rglob("*.md"))
    pages = [Page(ROOT / "README.md"), *map(Page, docs)]
    by_path = {page.path: page for page in pages}

    lines = pages[0].text.count("\n")
    if lines > README_LINES:
        problems.append(f"README.md: {lines} lines; at most {README_LINES}")
    words = sum(len(page.text.split()) for page in pages[1:])
    if words > SITE_WORDS:
        problems.append(f"docs/: {words} words; at most {SITE_WORDS}")
    notes = sum(len(path.read_text(encoding="utf-8").split()) for path in (ROOT / "notes").glob("*.md"))
    if notes > NOTES_WORDS:
        problems.append(f"notes/: {notes} words; at most {NOTES_WORDS}")

    lengths: list[int] = []
    for page in pages:
        prose, cells = paragraphs(page)
        for number, text in prose + cells:
            for sentence in sentences(text):
                length = count(sentence)
                if length > SENTENCE_WORDS:
                    problems.append(f"{page.name}:{number}: a sentence of {length} words: {sentence[:80]}…")
        lengths += [count(sentence) for _, text in prose for sentence in sentences(text)]
        for number, language in page.fences:
            if language not in LANGUAGES:
                problems.append(f"{page.name}:{number}: code block of language '{language}'; expected one of {', '.join(sorted(LANGUAGES))}")
            elif language == "console" and page.name not in CONSOLE:
                problems.append(f"{page.name}:{number}: a console block, which no test runs; use bash, or add the page to CONSOLE with a reason")
        problems += broken_links(page, by_path)
    for name in CONSOLE:
        if not any(page.name == name and any(language == "console" for _, language in page.fences) for page in pages):
            problems.append(f"scripts/check-docs.py: CONSOLE names {name}, which has no console block")
    median = statistics.median(lengths)
    if median > MEDIAN_WORDS:
        problems.append(f"README.md and docs/: the median sentence has {median} words; at most {MEDIAN_WORDS}")

    navigation = set(re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M))
    listed = {str(path.relative_to(ROOT / "docs")) for path in docs}
    problems += [f"docs/{name}: is not in the navigation of mkdocs.yml" for name in sorted(listed - navigation)]
    problems += [f"mkdocs.yml: {name} does not exist" for name in sorted(navigation - listed)]

    problems += other_than_example(by_path[ROOT / "docs/reference/cpp.md"])

    for problem in problems:
        print(problem)
    print(f"README {lines} lines; site {words} words; notes {notes} words; longest sentence {max(lengths)}, median {median:g} words")
    return 1 if problems else 0


def other_than_example(page: Page) -> list[str]:
    """The C++ reference shows files of examples/cpp, which a test builds."""
    problems = []
    for language, name in (("cmake", "CMakeLists.txt"), ("cpp", "example.cpp")):
        block = re.search(rf"^```{language}\n(.*?)^```$", page.text, re.S | re.M)
        if block is None or block[1] not in (ROOT / "examples/cpp" / name).read_text(encoding="utf-8"):
            problems.append(f"{page.name}: its {language} block is not what examples/cpp/{name} has")
    return problems


def broken_links(page: Page, by_path: dict[pathlib.Path, Page]) -> list[str]:
    problems = []
    for number, line in page.prose:
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"(https?|mailto):", target):
                continue
            file, _, anchor = target.partition("#")
            path = pathlib.Path(os.path.normpath(page.path.parent / file)) if file else page.path
            if not path.exists():
                problems.append(f"{page.name}:{number}: {target} does not exist")
            elif page.path != ROOT / "README.md" and ROOT / "docs" not in path.parents and path != page.path:
                problems.append(f"{page.name}:{number}: {target} lies outside of the site")
            elif anchor and path in by_path and anchor not in by_path[path].anchors:
                problems.append(f"{page.name}:{number}: {target} names a heading that does not exist")
    return problems


if __name__ == "__main__":
    sys.exit(main())

"""The Python of the documentation runs: the python blocks of each page, one after the other, and the examples."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def python_blocks(path: pathlib.Path) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", path.read_text(encoding="utf-8"), re.S | re.M))


PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if python_blocks(path)]


def run(code: str, folder: pathlib.Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_page(page, tmp_path):
    run(python_blocks(page), tmp_path)


def test_readme_scores(root, tmp_path):
    assert float(run(python_blocks(root / "README.md"), tmp_path).split()[-1]) > 0.8


def test_stopping_rule(root, tmp_path):
    assert "stopped by callback" in run((root / "examples" / "stopping_rule.py").read_text(encoding="utf-8"), tmp_path)


def test_notebook(root, tmp_path):
    cells = json.loads((root / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") for cell in cells)
    run("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"), tmp_path)

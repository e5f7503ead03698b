"""The examples run as they stand."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

NEEDS = {
    "1_cora.py": [],
    "2_own_data_pandas.py": ["pandas"],
    "3_pyg.py": ["torch", "torch_geometric"],
    "4_embeddings.py": ["sklearn", "matplotlib"],
}


@pytest.mark.parametrize("name", NEEDS)
def test_example(name, root, tmp_path):
    for module in NEEDS[name]:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    done = subprocess.run(
        [sys.executable, root / "python" / "examples" / name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"},  # threads that spin stall a busy machine
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if name == "4_embeddings.py":
        assert (tmp_path / "embeddings.png").read_bytes().startswith(b"\x89PNG")


def test_every_example_is_tried(root):
    assert sorted(NEEDS) == sorted(path.name for path in (root / "python" / "examples").glob("*.py"))

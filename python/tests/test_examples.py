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


def test_readme_lines(root, tmp_path):
    """The README's Python block runs, on data that everyone has."""
    import re

    text = (root / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```python\n(.*?)```", text, re.S)
    assert block, "README.md has no Python block"
    done = subprocess.run([sys.executable, "-c", block[1]], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert float(done.stdout.split()[-1]) > 0.8


def test_lines_of_the_guide(root, tmp_path, monkeypatch):
    """Every Python block of docs/python.md runs as it stands, one after the other, on small data of the kind it names."""
    import re

    import numpy as np

    import l2gcn

    pandas, networkx = pytest.importorskip("pandas"), pytest.importorskip("networkx")
    pytest.importorskip("matplotlib").use("Agg")
    model_selection = pytest.importorskip("sklearn.model_selection")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("L2GCN_DATA", "data")
    nodes = np.arange(60)
    pandas.DataFrame({"a": nodes, "b": np.roll(nodes, 1)}).to_csv("edges.csv", index=False)
    pandas.DataFrame({"paper": nodes, "pages": nodes % 7, "topic": np.where(nodes % 2, "x", "y")}).to_csv("nodes.csv", index=False)
    X, edge_index, y = np.eye(60, dtype=np.float32), np.stack([nodes, np.roll(nodes, 1)]), nodes % 2
    names = {
        "X": X, "x": X, "edge_index": edge_index, "y": y, "nodes": nodes, "truth": y, "test": nodes < 9, "X2": X[:9], "A2": edge_index[:, 1:9],
        "train": nodes < 30, "val": (nodes >= 30) & (nodes < 40), "test_nodes": nodes >= 40,
        "edges_frame": pandas.read_csv("edges.csv"), "nodes_frame": pandas.read_csv("nodes.csv"),
        "cross_val_score": model_selection.cross_val_score, "GridSearchCV": model_selection.GridSearchCV,
    }  # fmt: skip
    small = l2gcn.Dataset.from_arrays(X, edge_index, y)
    small.save("data/cora")
    names["A"] = names["adjacency"] = small.to_scipy()[0]
    blocks = re.findall(r"```python\n(.*?)```", (root / "docs" / "python.md").read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 5
    for block in blocks:
        if "load_dataset(data)" in block:
            names["data"] = networkx.path_graph(5)
        elif "from_arrays" in block:
            names["test"] = names["test_nodes"]
        elif "data=data" in block:
            names["data"] = small
        exec(compile(block, "docs/python.md", "exec"), names)
    assert (tmp_path / "report.html").is_file() and (tmp_path / "my-run" / "model.safetensors").is_file()

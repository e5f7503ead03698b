"""Where tests find real data sets and the program. Tests that need what is not here are skipped and say why.

L2GCN_DATA (or ../shared/data beside the source tree) holds data sets; L2GCN_PROGRAM is the program, by default the release build's.
L2GCN_EVERYTHING=1 runs the long comparisons as well.
"""

from __future__ import annotations

import os
import pathlib

import numpy as np
import pytest

import l2gcn

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    return ROOT


@pytest.fixture(scope="session")
def data_dir() -> pathlib.Path:
    named = os.environ.get("L2GCN_DATA")
    folder = pathlib.Path(named) if named else ROOT.parent / "shared" / "data"
    if not (folder / "planetoid").is_dir():
        pytest.skip(f"no real data sets at {folder}; set L2GCN_DATA")
    return folder


@pytest.fixture(scope="session")
def program() -> pathlib.Path:
    path = pathlib.Path(os.environ.get("L2GCN_PROGRAM", ROOT / "build" / "release" / "l2gcn"))
    if not path.is_file():
        pytest.skip(f"the program is not built: {path}")
    return path


@pytest.fixture(scope="session")
def everything() -> None:
    if os.environ.get("L2GCN_EVERYTHING") != "1":
        pytest.skip("takes minutes; L2GCN_EVERYTHING=1 runs it")


@pytest.fixture(scope="session")
def citations() -> l2gcn.Dataset:
    """A generated graph of Cora's shape, so that tests need no files."""
    return l2gcn.load_dataset("synthetic:cora")


def same_data(a: l2gcn.Dataset, b: l2gcn.Dataset, *, weights: bool = True) -> None:
    """Equal graphs, features and labels, to the last bit."""
    np.testing.assert_array_equal(a.indptr, b.indptr)
    np.testing.assert_array_equal(a.indices, b.indices)
    np.testing.assert_array_equal(a.dense_features(), b.dense_features())
    np.testing.assert_array_equal(a.labels, b.labels)
    if weights:
        assert (a.edge_weight is None) == (b.edge_weight is None)
        if a.edge_weight is not None:
            np.testing.assert_array_equal(a.edge_weight, b.edge_weight)


@pytest.fixture
def settings_of_presets(monkeypatch):
    """train() takes also what presets decide, which callers cannot set."""
    from l2gcn import _settings, _training

    monkeypatch.setattr(_training, "train_settings", _settings.every_setting)


def small(seed: int = 0, nodes: int = 60, weighted: bool = False) -> l2gcn.Dataset:
    """A random graph with dense features, three classes, some of them unknown, and a split."""
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, nodes, (2, 3 * nodes))
    y = rng.integers(0, 3, nodes)
    X = (np.eye(3)[y] @ rng.normal(size=(3, 8)) + rng.normal(size=(nodes, 8))).astype(np.float32)
    y[rng.random(nodes) < 0.1] = -1
    graph = (edges, rng.random(3 * nodes).astype(np.float32)) if weighted else edges
    order = rng.permutation(nodes)
    return l2gcn.Dataset.from_arrays(
        X, graph, y, train=order[:36], val=order[36:48], test=order[48:], class_names=["red", "green", "blue"]
    )

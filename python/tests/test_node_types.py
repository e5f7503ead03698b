"""Data sets of several node types: tables, PyG's HeteroData and DGL's heterographs, by stand-ins with their interfaces."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import same_data

import l2gcn
from l2gcn import Dataset

BOUGHT = ("user", "bought", "item")
KNOWS = ("user", "knows", "user")


class Store(dict):
    """What PyG keeps of one type."""

    @property
    def num_nodes(self) -> int:
        return self["num_nodes"] if "num_nodes" in self else len(self["x"])


class HeteroData:
    """As much of PyG's class as its documentation promises."""

    def __init__(self) -> None:
        self.stores: dict = {}

    def __getitem__(self, key):
        return self.stores.setdefault(key, Store())

    @property
    def node_types(self):
        return [key for key in self.stores if isinstance(key, str)]

    @property
    def edge_types(self):
        return [key for key in self.stores if isinstance(key, tuple)]


def hetero() -> HeteroData:
    data = HeteroData()
    data["user"]["x"] = np.arange(8, dtype=np.float32).reshape(4, 2)
    data["user"]["y"] = np.array([0, 1, -1, 1])
    for k, part in enumerate(("train", "val", "test")):
        data["user"][f"{part}_mask"] = np.arange(4) == (0, 1, 3)[k]
    data["item"]["x"] = np.ones((3, 1), dtype=np.float32)
    data["shop"]["num_nodes"] = 2
    data[BOUGHT]["edge_index"] = np.array([[0, 1, 1, 3], [2, 0, 1, 2]])
    data[BOUGHT]["edge_weight"] = np.array([1, 2, 3, 4], dtype=np.float32)
    data[KNOWS]["edge_index"] = np.array([[0, 1], [1, 0]])
    return data


@pytest.fixture
def libraries(monkeypatch):
    """Stand-ins for torch and PyG."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=lambda array: array))
    monkeypatch.setitem(sys.modules, "torch_geometric", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "torch_geometric.data", SimpleNamespace(HeteroData=HeteroData))


def same_hetero(a: HeteroData, b: HeteroData) -> None:
    assert a.node_types == b.node_types and a.edge_types == b.edge_types
    for key in (*a.node_types, *a.edge_types):
        assert a[key].num_nodes == b[key].num_nodes if isinstance(key, str) else True
        for name in {*a[key], *b[key]} - {"num_nodes"}:
            np.testing.assert_array_equal(a[key][name], b[key][name], err_msg=f"{key} {name}")


def test_hetero_data():
    data = l2gcn.load_dataset(hetero())
    assert data.node_types == {"user": slice(0, 4), "item": slice(4, 7), "shop": slice(7, 9)}
    assert data.labelled_types == ["user"] and data.labels.tolist() == [0, 1, -1, 1] + [-1] * 5
    assert data.feature_names == ["user.0", "user.1", "item.0", "type=item", "type=shop", "type=user"]
    np.testing.assert_array_equal(data.dense_features()[4], [0, 0, 1, 1, 0, 0])
    assert np.flatnonzero(data.split().test).tolist() == [3]
    assert data.describe()["node_types"][2] == {"name": "shop", "nodes": 2, "labelled": False}
    assert [one["name"] for one in data.describe()["relations"]] == ["user:bought:item", "user:knows:user"]


def test_hetero_data_round_trip(tmp_path, libraries):
    """HeteroData, this library and a native directory hold the same."""
    data = Dataset.from_pyg(hetero())
    same_hetero(data.to_pyg(), hetero())
    data.save(tmp_path / "native")
    stored = l2gcn.load_dataset(tmp_path / "native")
    same_data(data, stored)
    assert stored.node_types == data.node_types and stored.labelled_types == ["user"]
    same_hetero(stored.to_pyg(), hetero())
    same_data(Dataset.from_pyg(stored.to_pyg()), data)
    copied = pickle.loads(pickle.dumps(data))
    same_hetero(copied.to_pyg(), hetero())


def test_mistakes_in_hetero_data():
    data = hetero()
    data["item"]["y"] = np.array([0, 1, 1])
    with pytest.raises(l2gcn.Error, match="y: user, item have labels; name the type that is predicted with label_type"):
        Dataset.from_pyg(data)
    assert Dataset.from_pyg(data, label_type="item").labelled_types == ["item"]
    with pytest.raises(l2gcn.Error, match="label_type: 'shop' has no labels"):
        Dataset.from_pyg(data, label_type="shop")
    data = hetero()
    data[KNOWS]["edge_index"] = np.array([[0, 4], [0, 1]])
    with pytest.raises(l2gcn.Error, match=r"user:knows:user source\[1\] is 4; expected a node from 0 to 3"):
        Dataset.from_pyg(data)
    data = hetero()
    data["user"]["y"] = np.array([0, 1])
    with pytest.raises(l2gcn.Error, match="y: has 2 values, but user has 4 nodes"):
        Dataset.from_pyg(data)


class Heterograph:
    """As much of DGL's class as its documentation promises."""

    ndata: dict = {}
    edata: dict = {}
    is_homogeneous = False

    def __init__(self, ends, num_nodes_dict):
        self.ends, self.counts = ends, num_nodes_dict
        self.ntypes, self.canonical_etypes = list(num_nodes_dict), list(ends)
        self.nodes = {kind: SimpleNamespace(data={}) for kind in num_nodes_dict}

        class Edges(dict):
            def __call__(self, etype):
                return ends[etype]

        self.edges = Edges({triple: SimpleNamespace(data={}) for triple in ends})

    def num_nodes(self, kind):
        return self.counts[kind]


def test_heterograph_round_trip(libraries, monkeypatch):
    monkeypatch.setitem(sys.modules, "dgl", SimpleNamespace(heterograph=Heterograph))
    data = Dataset.from_pyg(hetero())
    graph = data.to_dgl()
    assert graph.edges[BOUGHT].data["weight"].tolist() == [1, 2, 3, 4]
    again = Dataset.from_dgl(graph)
    assert again.node_types == data.node_types and again.labelled_types == ["user"]
    np.testing.assert_array_equal(again.indices, data.indices)
    np.testing.assert_array_equal(again.labels, data.labels)
    np.testing.assert_array_equal(again.dense_features(), data.dense_features())
    assert np.flatnonzero(again.split().val).tolist() == [1]


def tables() -> tuple[dict, dict]:
    users = {"id": [7, 9, 3], "age": [31, 52, 28], "churn": ["yes", "no", "yes"]}
    items = {"id": ["book", "7"], "price": [12.5, 3]}
    return {"user": users, "item": items}, {BOUGHT: {"user": [7, 9, 7], "item": ["book", "book", "7"]}}


def test_frames_and_paths(tmp_path):
    pandas = pytest.importorskip("pandas")
    nodes, edges = ({key: pandas.DataFrame(table) for key, table in part.items()} for part in tables())
    data = l2gcn.load_dataset(nodes=nodes, edges=edges, label="user:churn")
    assert data.node_types == {"user": slice(0, 3), "item": slice(3, 5)} and data.format == "memory"
    assert data.feature_names == ["user.age", "item.price", "type=item", "type=user"]
    assert data.node_ids.tolist() == ["7", "9", "3", "book", "7"]
    paths = {}
    for key, frame in (*nodes.items(), *edges.items()):
        paths[key] = tmp_path / f"{key if isinstance(key, str) else key[1]}.csv"
        frame.to_csv(paths[key], index=False)
    named = {"user": paths["user"], "item": paths["item"]}
    same_data(l2gcn.load_dataset(nodes=named, edges={BOUGHT: paths[BOUGHT]}, label="user:churn"), data)
    mixed = {"user": nodes["user"].set_index("id"), "item": str(paths["item"])}
    same_data(l2gcn.load_dataset(nodes=mixed, edges={"user:bought:item": paths[BOUGHT]}, label="user:churn"), data)
    schema = tmp_path / "shop.yaml"
    schema.write_text("nodes: {user: user.csv, item: item.csv}\nedges: {'user:bought:item': bought.csv}\nlabel: user:churn\n")
    same_data(l2gcn.load_dataset(schema), data)
    same_data(l2gcn.load_dataset(schema=schema), data)


def test_mistakes_in_frames():
    pandas = pytest.importorskip("pandas")
    nodes, edges = ({key: pandas.DataFrame(table) for key, table in part.items()} for part in tables())
    edges[BOUGHT].loc[1, "item"] = "lamp"
    with pytest.raises(l2gcn.Error) as caught:
        l2gcn.load_dataset(nodes=nodes, edges=edges, label="user:churn")
    assert str(caught.value).startswith("edges['user:bought:item']: row 2: 'lamp' is no item: nodes['item'] has no such id")
    assert "/" not in str(caught.value) and "--" not in str(caught.value)
    with pytest.raises(l2gcn.Error, match="expected \\(source type, name, target type\\)"):
        l2gcn.load_dataset(nodes=nodes, edges={("user", "item"): edges[BOUGHT]}, label="user:churn")
    with pytest.raises(l2gcn.Error, match="expected a dict of tables"):
        l2gcn.load_dataset(nodes=nodes, edges=edges[BOUGHT], label="user:churn")


def test_training_and_predicting():
    rng = np.random.default_rng(0)
    data = HeteroData()
    good = rng.integers(0, 2, 40)
    data["user"]["x"] = rng.normal(size=(120, 2)).astype(np.float32)
    data["item"]["x"] = good.astype(np.float32).reshape(-1, 1)
    bought = np.stack([np.arange(120) % 40, (np.arange(120) + 7) % 40, (np.arange(120) * 3 + 11) % 40])
    data["user"]["y"] = (good[bought].sum(axis=0) >= 2).astype(np.int64)
    data[BOUGHT]["edge_index"] = np.stack([np.tile(np.arange(120), 3), bought.reshape(-1)])
    run = l2gcn.train(Dataset.from_pyg(data), epochs=20, hidden=16)
    assert run.f1["test"] > 0.8
    del data["user"]["y"]
    unlabelled = Dataset.from_pyg(data)
    assert unlabelled.labelled_types == [] and run.model.predict(unlabelled).shape == (160,)

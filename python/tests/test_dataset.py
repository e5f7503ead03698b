"""Data sets from arrays: shared memory, forms of graphs, mistakes."""

from __future__ import annotations

import pickle
import types

import numpy as np
import pytest
from conftest import same_data, small

import l2gcn
from l2gcn import Dataset, Error

X = np.arange(12, dtype=np.float32).reshape(4, 3)
EDGES = np.array([[0, 1, 2], [1, 2, 3]])


def test_features_are_shared():
    data = Dataset.from_arrays(X, EDGES)
    assert np.shares_memory(data.features, X)
    assert not data.features.flags.writeable
    half = X.astype(np.float16)
    assert np.shares_memory(Dataset.from_arrays(half, EDGES).features, half)
    for copied in (X.astype(np.float64), np.asfortranarray(X), X[:, ::-1], X.astype(int)):
        np.testing.assert_array_equal(Dataset.from_arrays(copied, EDGES).features, copied)


def test_unaligned_and_read_only_features_train_alike():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 17)).astype(np.float32)
    y, edges = rng.integers(0, 2, 80), rng.integers(0, 80, (2, 200))
    shifted = np.empty(80 * 17 + 1, dtype=np.float32)[1:].reshape(80, 17)
    shifted[:] = X
    shifted.flags.writeable = False
    settings = {"method": "lgcn", "epochs": 5}
    a, b = (l2gcn.train(Dataset.from_arrays(f, edges, y), **settings) for f in (X, shifted))
    np.testing.assert_array_equal(a.model.tensors["layers.0.weight"], b.model.tensors["layers.0.weight"])


def test_symmetric_rows_are_shared():
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.zeros((4, 4), dtype=np.float32)
    dense[EDGES[0], EDGES[1]] = dense[EDGES[1], EDGES[0]] = 1
    matrix = sparse.csr_matrix(dense)
    data = Dataset.from_arrays(X, matrix)
    assert np.shares_memory(data.indices, matrix.indices)
    assert data.n_edges == 3 and data.edge_weight is None
    weighted = sparse.csr_matrix(dense * 0.5)
    shared = Dataset.from_arrays(X, weighted)
    assert np.shares_memory(shared.edge_weight, weighted.data)
    triangle = sparse.csr_matrix(np.triu(dense))
    built = Dataset.from_arrays(X, triangle)
    assert not np.shares_memory(built.indices, triangle.indices)
    same_data(data, built)


def test_sparse_values_are_shared():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(X)
    data = Dataset.from_arrays(matrix, EDGES)
    assert data.is_sparse and np.shares_memory(data.features.data, matrix.data)
    np.testing.assert_array_equal(data.dense_features(), X)
    twice = sparse.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(4, 3))
    assert Dataset.from_arrays(twice, EDGES).dense_features()[0, 1] == 3


def test_forms_of_a_graph():
    sparse = pytest.importorskip("scipy.sparse")
    networkx = pytest.importorskip("networkx")
    expected = Dataset.from_arrays(X, EDGES)
    dense = np.zeros((4, 4))
    dense[EDGES[0], EDGES[1]] = 1
    graph = networkx.Graph()
    graph.add_nodes_from(range(4))
    graph.add_edges_from(EDGES.T.tolist())
    for form in (EDGES.astype(np.int32), EDGES.tolist(), dense, dense.astype(bool), sparse.coo_array(dense), graph, expected):
        same_data(Dataset.from_arrays(X, form), expected)
    directed = Dataset.from_arrays(X, EDGES, directed=True)
    assert directed.relations == {"in": 3, "out": 3} and not directed.directed
    same_data(pickle.loads(pickle.dumps(directed)), directed)
    assert pickle.loads(pickle.dumps(directed)).relations == directed.relations
    typed = Dataset.from_arrays(X, EDGES, edge_type=["cites", "likes", "cites"])
    assert typed.relations == {"cites": 4, "likes": 2}
    assert Dataset.from_arrays(X, EDGES, edge_type=[7, 7, 8], directed=True).relations == {"7/in": 2, "7/out": 2, "8/in": 1, "8/out": 1}
    with pytest.raises(Error, match="edge_type has 2 values; expected 3"):
        Dataset.from_arrays(X, EDGES, edge_type=[1, 2])
    weighted = Dataset.from_arrays(X, (EDGES, [0.5, 2.0, 3.0]))
    assert weighted.edge_weight.tolist() == [0.5, 0.5, 2.0, 2.0, 3.0, 3.0]
    assert Dataset.from_arrays(X).n_edges == 0


def test_relations_of_tables(tmp_path):
    pandas = pytest.importorskip("pandas")
    edges = pandas.DataFrame({"a": [1, 2, 3], "b": [2, 3, 1], "kind": ["x", "y", "x"], "w": [0.5, 2, 1], "age": [1, 2, 3]})
    assert Dataset.from_pandas(edges, edge_type="kind", weight="none").relations == {"x": 4, "y": 2}
    assert Dataset.from_pandas(edges, weight=["w", "age"]).relations == {"age": 6, "w": 6}
    path = tmp_path / "edges.csv"
    edges.to_csv(path, index=False)
    directed = l2gcn.load_dataset(edges=path, edge_type="kind", weight="w", directed=True)
    assert directed.relations == {"x/in": 2, "x/out": 2, "y/in": 1, "y/out": 1}
    assert l2gcn.load_dataset(edges=path, weight=["w", "age"]).relations == {"age": 6, "w": 6}
    with pytest.raises(Error, match="did you mean kind"):
        l2gcn.load_dataset(edges=path, edge_type="knd")


def test_training_on_relations():
    data = Dataset.from_arrays(np.eye(6, dtype=np.float32), [[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]], [0, 1, 0, 1, 0, 1], directed=True)
    model = l2gcn.train(data, relations=["in", "out"], epochs=2, split="random:0.5,0.25,0.25").model
    assert model.config["relations"] == "in,out"
    assert model.predict_proba(data).shape == (6, 2)
    with pytest.raises(Error, match="was trained on in, out"):
        model.predict(Dataset.from_arrays(np.eye(6, dtype=np.float32), [[0, 1], [1, 2]]))


def test_pickle_and_copies():
    import copy

    for data in (small(), small(weighted=True), l2gcn.load_dataset("synthetic:cora")):
        again = pickle.loads(pickle.dumps(data))
        same_data(data, again)
        assert again.class_names == data.class_names and again.splits.keys() == data.splits.keys()
        for name, split in data.splits.items():
            np.testing.assert_array_equal(split.train, again.splits[name].train)
        assert copy.deepcopy(data) is data


def test_pickles_of_earlier_versions_load():
    data = Dataset.from_arrays([[1.0], [2.0]], [[0], [1]], [0, 1], preset_row="cora")
    restore, (state, *rest) = data.__reduce__()
    state["recipe"] = state.pop("preset_row")
    again = restore(state, *rest)
    same_data(data, again)
    assert again._handle.preset_row == "cora"


def test_splits():
    data = small()
    split = data.split()
    assert split.name == "given" and (data.labels[split.train] >= 0).all()  # only labelled nodes have a role
    assert (split.train | split.val | split.test).sum() == (data.labels >= 0).sum()
    drawn = data.split("random:0.5,0.2,0.3", seed=4)
    assert not (drawn.train & drawn.val).any() and (drawn.train | drawn.val | drawn.test).sum() == (data.labels >= 0).sum()
    other = data.with_split(np.arange(10), val=np.arange(10, 20))
    assert other.split().train.sum() <= 10 and np.shares_memory(other.features, data.features)


def test_native_directory(tmp_path):
    data = small()
    data.save(tmp_path / "set")
    same_data(l2gcn.load_dataset(tmp_path / "set"), data)
    with pytest.raises(Error, match="exists"):
        data.save(tmp_path / "set")


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (dict(X=X[0], graph=EDGES), r"features: an array of 1 dimensions; expected 2"),
        (dict(X=X.astype(complex), graph=EDGES), "Complex data not supported"),
        (dict(X=np.array([["a", "b"]] * 4), graph=EDGES), "could not convert string to float"),
        (dict(X=np.where(X == 5, np.nan, X), graph=EDGES), "feature 2 of node 1 is nan; replace it by a finite number"),
        (dict(X=np.where(X == 5, np.inf, X), graph=EDGES), "feature 2 of node 1 is inf"),
        (dict(X=X, graph=-EDGES), r"\[\d\] is -1; expected a node from 0 to 3"),
        (dict(X=X, graph=EDGES + 1), r"target\[2\] is 4; expected a node from 0 to 3"),
        (dict(X=X, graph=EDGES.T), r"an array of shape \(3, 2\); expected an edge index of shape \(2, edges\).*transpose"),
        (dict(X=X, graph=EDGES.astype(float)), "graph: elements of type float64; expected whole numbers"),
        (dict(X=X, graph=np.eye(5)), "X has 4 rows, but the graph has 5 nodes"),
        (dict(X=X, graph=EDGES, y=[0, 1]), "classes_of has 2 values; expected 4"),
        (dict(X=X, graph=EDGES, y=[0, 1, -2, 0]), r"classes_of\[2\] is -2; expected −1"),
        (dict(X=X, graph=EDGES, y=np.full((4, 2), 3)), "more than 0 and 1"),
        (dict(X=X, graph=(EDGES, [1.0])), "weights has 1 values; expected 3"),
        (dict(X=X, graph=EDGES, train=[0, 9]), "train: node 9; expected a node from 0 to 3"),
        (dict(X=X, graph=EDGES, train=[0, 1], val=[1]), "node 1 is in train and in val"),
        (dict(X=X, graph=EDGES, train=np.ones(3, dtype=bool)), r"a mask of shape \(3,\) for 4 nodes"),
        (dict(graph=EDGES), "how many nodes"),
        (dict(X=np.ma.array(X, mask=X == 5), graph=EDGES), r"features: 1 masked values, the first at \[1, 2\]; fill them in"),
        (dict(X=X, graph=np.ma.array(EDGES, mask=EDGES == 3)), "graph: 1 masked values"),
        (dict(X=X, graph=(EDGES, np.ma.array([1.0, 2.0, 3.0], mask=[1, 0, 0]))), "weights: 1 masked values"),
        (dict(X=X, graph=EDGES, train=np.ma.array([True] * 4, mask=[1, 0, 0, 0])), "train: 1 masked values"),
    ],
)
def test_mistakes(arguments, sentence):
    with pytest.raises(Error, match=sentence) as caught:
        Dataset.from_arrays(**arguments)
    assert isinstance(caught.value, ValueError) and caught.value.kind == "input"


def test_load_dataset_takes_objects(tmp_path):
    """What README promises: a path, arrays, a dict, a DataFrame, a graph of another library."""
    sparse = pytest.importorskip("scipy.sparse")
    networkx = pytest.importorskip("networkx")
    pandas = pytest.importorskip("pandas")
    y = np.array([0, 1, -1, 0])
    expected = Dataset.from_arrays(X, EDGES, y)
    adjacency = sparse.coo_array((np.ones(3), EDGES), shape=(4, 4))
    like_pyg = {"x": X, "edge_index": EDGES, "y": y}
    for data in (
        l2gcn.load_dataset(expected),
        l2gcn.load_dataset(X, EDGES, y),
        l2gcn.load_dataset(X, graph=EDGES, y=y),
        l2gcn.load_dataset({"X": X, "graph": EDGES}, y=y),
        l2gcn.load_dataset(like_pyg),
        l2gcn.load_dataset(types.SimpleNamespace(**like_pyg, num_nodes=4)),
        l2gcn.load_dataset(adjacency, X, y=y),
    ):
        same_data(data, expected)
    graph = networkx.Graph(EDGES.T.tolist())
    assert l2gcn.load_dataset(graph, features=X).n_edges == 3
    edges, nodes = pandas.DataFrame(EDGES.T, columns=["a", "b"]), pandas.DataFrame({"id": range(4), "size": X[:, 0], "kind": list("xyxy")})
    for tables in (
        l2gcn.load_dataset(edges, nodes, label="kind"),
        l2gcn.load_dataset(edges=edges, nodes=nodes, label="kind"),
        l2gcn.load_dataset({"edges": edges, "nodes": nodes}, label="kind"),
    ):
        assert tables.n_edges == 3 and tables.class_names == ["x", "y"]
    edges.to_csv(tmp_path / "e.csv", index=False)
    nodes.to_csv(tmp_path / "n.csv", index=False)
    files = l2gcn.load_dataset(edges=tmp_path / "e.csv", nodes=tmp_path / "n.csv", label="kind", id="id")
    same_data(files, tables)
    assert l2gcn.train(like_pyg | {"y": [0, 1, 0, 1]}, preset="paper", epochs=1, split="random:0.5,0,0.5").data.n_nodes == 4


@pytest.mark.parametrize(
    "arguments, options, sentence",
    [
        ((3,), {}, "a int given; expected a Dataset; a name or a path; a DataFrame or Arrow table of edges.*a PyG Data.*a dict"),
        (([1, 2],), {}, "a list given; expected a Dataset"),
        ((None,), {}, "a NoneType given"),
        ((X, EDGES, [0] * 4, 5), {}, "from_arrays: 4 arrays or tables given; expected at most 3"),
        ((X, EDGES), {"graph": EDGES}, "graph is given twice"),
        ((X,), {"labl": 3}, "unknown argument of from_arrays 'labl'"),
        ((X,), {"data_dir": "x"}, "unknown argument of from_arrays 'data_dir'"),
        (("synthetic:cora", X), {}, "1 more argument"),
        (({"edge_index": EDGES},), {}, "how many nodes"),
        (({"edge_index": EDGES, "x": X, "train_msk": 1},), {}, "unknown attribute of a Data 'train_msk': did you mean 'train_mask'"),
        (({"X": X, "grap": EDGES},), {}, "unknown argument of from_arrays 'grap': did you mean 'graph'"),
        ((), {"label_column": "x"}, "unknown option 'label_column'"),
        ((), {"edges": 3}, "edges: 3 given; expected str"),
    ],
)
def test_load_dataset_says_what_it_takes(arguments, options, sentence):
    with pytest.raises(Error, match=sentence) as caught:
        l2gcn.load_dataset(*arguments, **options)
    assert caught.value.kind in ("usage", "input")


def test_masked_labels_are_unlabelled():
    """A value below a mask never counts."""
    mask = [False, True, False, False]
    for labels, expected in (
        (np.ma.array([0, 5, 1, 0], mask=mask), [0, -1, 1, 0]),
        (np.ma.array([0, 1, 1, 0], mask=mask, dtype=np.uint8), [0, -1, 1, 0]),
        (np.ma.array([0.0, 1.0, 1.0, 0.0], mask=mask), [0, -1, 1, 0]),
        (np.ma.array(["a", "z", "b", "a"], mask=mask), [0, -1, 1, 0]),
    ):
        data = Dataset.from_arrays(X, EDGES, labels)
        assert data.labels.tolist() == expected and data.n_classes == 2
    rows = Dataset.from_arrays(X, EDGES, np.ma.array([[0, 1], [1, 1], [1, 0], [1, 1]], mask=[[0, 0], [0, 1], [0, 0], [0, 0]]))
    assert rows.labelled.tolist() == [True, False, True, True]
    clf = l2gcn.GCNClassifier(preset="paper", epochs=1, hidden=4)
    clf.fit(X, np.ma.array(["a", "z", "b", "a"], mask=mask), graph=EDGES, val=[])
    assert clf.classes_.tolist() == ["a", "b"]
    assert clf.score(y=np.ma.array(clf.predict(), mask=mask)) == 1


def test_labels_without_a_value():
    """−1, NaN, None and NA are unlabelled; words are names of classes."""
    pandas = pytest.importorskip("pandas")
    for labels in (
        [0, -1, 1, 0],
        [0.0, np.nan, 1.0, 0.0],
        [0, None, 1, 0],
        pandas.array([0, None, 1, 0], dtype="Int64"),
        pandas.Series(["a", None, "b", "a"], dtype="category"),
        ["a", None, "b", "a"],
    ):
        assert Dataset.from_arrays(X, EDGES, labels).labels.tolist() == [0, -1, 1, 0]
    assert Dataset.from_arrays(X, EDGES, ["u", "v", "u", "v"]).class_names == ["u", "v"]


def test_mistakes_of_options_and_settings(citations):
    with pytest.raises(Error, match="unknown option 'data_dirs': did you mean 'data_dir'"):
        l2gcn.load_dataset("cora", data_dirs="x")
    with pytest.raises(Error, match="directed: 1 given; expected bool"):
        l2gcn.load_dataset("synthetic:cora", directed=1)
    with pytest.raises(Error, match="did you mean"):
        l2gcn.load_dataset("synthetic:cors")
    for settings, sentence in (
        ({"epoch": 3}, "unknown setting 'epoch': did you mean 'epochs'"),
        ({"random_state": 1}, "unknown setting 'random_state': did you mean 'seed'"),
        ({"n_jobs": 1}, "unknown setting 'n_jobs': did you mean 'threads'"),
        ({"learning_rate": 1}, "unknown setting 'learning_rate': did you mean 'lr'"),
        ({"lr": -1}, "lr=-1: expected a number above 0"),
        ({"method": "lgnc"}, "did you mean 'lgcn'"),
        ({"hidden": [1, 2, 3]}, "3 values for 2 layers"),
        ({"method": "lgcn", "parts": 3}, "method layerwise has no use for it"),
        ({"split": "random:2,0,0"}, "expected random:TRAIN,VAL,TEST"),
    ):
        with pytest.raises(Error, match=sentence) as caught:
            l2gcn.train(citations, **settings)
        assert caught.value.kind == "usage"
    with pytest.raises(Error, match="a list given; expected a Dataset"):
        l2gcn.train([1, 2])
    with pytest.raises(Error, match="no labels"):
        l2gcn.train(Dataset.from_arrays(X, EDGES))
    with pytest.raises(Error, match="unknown setting 'roundz': did you mean 'rounds'"):
        l2gcn.learn_controller(citations, roundz=3)
    model = l2gcn.train(citations, preset="paper", method="lgcn", epochs=1).model
    with pytest.raises(Error, match="has 3 features, but the model was trained on 1433"):
        model.predict(X, EDGES)
    with pytest.raises(Error, match="hidden layers 1 to 2"):
        model.embed(citations, layer=3)
    with pytest.raises(Error):
        l2gcn.load_model("/nonexistent")

"""Wrong arguments of every kind: each is an l2gcn.Error that says what was given and what was expected, never a raw
TypeError, a crash, or a result."""

from __future__ import annotations

import numpy as np
import pytest

import l2gcn
from l2gcn import Dataset, Error, GCNClassifier, GCNEmbedder

N = 30
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 4)).astype(np.float32)
E = RNG.integers(0, N, (2, 60))
Y = RNG.integers(0, 2, N)
FAST = {"preset": "paper", "method": "lgcn", "epochs": 1, "hidden": 4}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return Dataset.from_arrays(X, E, Y)


@pytest.fixture(scope="module")
def run(data) -> l2gcn.Run:
    return l2gcn.train(data, **FAST)


ARRAYS = {
    "features of objects": (dict(X=np.array([[{}, 2]] * N, dtype=object)), "expected numbers"),
    "features of lists": (dict(X=np.array([[[1], 2]] * N, dtype=object)), "expected numbers"),
    "features of dates": (dict(X=np.zeros((N, 2), dtype="M8[s]")), r"type datetime64\[s\]; expected numbers"),
    "structured features": (dict(X=np.zeros((N, 2), dtype=[("a", float)])), "expected numbers"),
    "integers beyond float": (dict(X=np.array([[10**400, 1]] * N, dtype=object)), "too large"),
    "features beyond float32": (dict(X=np.full((N, 2), 1e300)), r"1e\+300, does not fit 32 bits"),
    "features of three axes": (dict(X=X[None]), "3 dimensions; expected 2"),
    "a word for features": (dict(X="abc"), "0 dimensions; expected 2"),
    "ragged features": (dict(X=[[1, 2], [3]]), "cannot be read as an array"),
    "unsigned ids beyond": (dict(graph=np.array([[0], [2**64 - 1]], dtype=np.uint64)), "expected a node from 0 to 29"),
    "ids as objects": (dict(graph=E.astype(object)), "type object; expected whole numbers"),
    "a mask for edges": (dict(graph=np.array([[True], [False]])), "type bool; expected whole numbers"),
    "edges of three axes": (dict(graph=np.zeros((2, 2, 2), dtype=int)), "expected an edge index"),
    "a name for edges": (dict(graph="cora"), "expected an edge index"),
    "weights of words": (dict(graph=(E, ["a"] * 60)), "weights: elements of type <U1; expected numbers"),
    "complex weights": (dict(graph=(E, np.ones(60, dtype=complex))), "weights: elements of type complex128"),
    "a matrix of words": (dict(graph=np.full((N, N), "a")), "weights: elements of type <U1"),
    "complex labels": (dict(y=Y.astype(complex)), "y: elements of type complex128; expected whole numbers or words"),
    "infinite labels": (dict(y=np.where(Y > 0, np.inf, 0)), "y: elements of type float64"),
    "labels beyond 32 bits": (dict(y=np.where(Y > 0, 2**40, 0)), "a class from 0 to"),
    "labels of any object": (dict(y=[object()] * N), "y: elements of type object"),
    "a scalar for labels": (dict(y=3), "y: an array of 0 dimensions"),
    "a matrix of None": (dict(y=np.full((N, 2), None)), "a matrix of type object"),
    "a fraction for a node": (dict(train=[0.5]), "train: elements of type float64"),
    "a slice for nodes": (dict(train=slice(3)), "train: elements of type object"),
    "a number of nodes in words": (dict(nodes="a"), "nodes: 'a' given; expected a whole number"),
    "fewer than no nodes": (dict(nodes=-5), "nodes: -5 given"),
    "half a node": (dict(nodes=30.5), "nodes: 30.5 given"),
    "a direction in words": (dict(directed="yes"), "directed: 'yes' given; expected True or False"),
    "one name for classes": (dict(class_names="ab"), "class_names: 'ab' given; expected a list"),
    "names that are no text": (dict(class_names=["\ud800", "b"]), "no Unicode text"),
    "ids of two axes": (dict(node_ids=np.zeros((N, 2))), "node_ids: an array of 2 dimensions"),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_arrays(what):
    wrong, sentence = ARRAYS[what]
    with pytest.raises(Error, match=sentence):
        Dataset.from_arrays(**{"X": X, "graph": E, "y": Y, **wrong})


CALLS = {
    "split by number": (lambda d, r: d.split(3), "no such split"),
    "seed in words": (lambda d, r: d.split("", seed="a"), "seed: 'a' given; expected a whole number"),
    "negative seed": (lambda d, r: d.split("", seed=-1), "seed: -1 given"),
    "save nowhere": (lambda d, r: d.save(None), "directory: a NoneType given; expected a path"),
    "a null in a path": (lambda d, r: d.save("a\0b"), "holds a null character"),
    "negative degree": (lambda d, r: l2gcn.load_dataset("synthetic:cora", min_degree=-1), "min_degree: -1 given; expected"),
    "no model": (lambda d, r: l2gcn.load_dataset("synthetic:cora", model="x"), "model: a str given; expected a Model"),
    "nodes in a file": (lambda d, r: l2gcn.load_dataset({"edges": 1, "nodes": 2}), "unknown argument of from_arrays 'edges'"),
    "a rate that is infinite": (lambda d, r: l2gcn.train(d, lr=float("inf")), "lr='inf': expected a number above 0"),
    "no widths": (lambda d, r: l2gcn.train(d, hidden=[]), "hidden='': expected a whole number"),
    "a number for a path": (lambda d, r: l2gcn.train(d, output=5, **FAST), "output: a int given; expected a path"),
    "a word for a flag": (lambda d, r: l2gcn.train(d, force="x", **FAST), "force: 'x' given; expected True or False"),
    "no callback": (lambda d, r: l2gcn.train(d, callbacks=[5], **FAST), "callbacks: a int given; expected functions"),
    "no methods": (lambda d, r: l2gcn.compare(d, [5]), r"methods: \[5\] given; expected a list of names"),
    "no seeds": (lambda d, r: l2gcn.compare(d, ["lgcn"], runs=-1), "runs: -1 given; expected a whole number"),
    "no score": (lambda d, r: l2gcn.compare(d, ["lgcn"], to_f1="x"), "to_f1: 'x' given; expected a number or 'equal'"),
    "no settings": (lambda d, r: l2gcn.learn_controller(d, training=5), "training: a int given; expected a dict"),
    "no features": (lambda d, r: r.model.predict(3), "expected 2, a row a node"),
    "half a layer": (lambda d, r: r.model.embed(d, layer=1.5), "layer: 1.5 given; expected a whole number"),
    "no data to export": (lambda d, r: r.model.export_predictions(None, "x.csv"), "how many nodes"),
    "no directory": (lambda d, r: l2gcn.load_model(None), "directory: a NoneType given"),
    "no seed": (lambda d, r: l2gcn.load_model("x", seed="a"), "seed: 'a' given"),
    "nothing to evaluate": (lambda d, r: l2gcn.evaluate(5), "model: a int given; expected a Model, a Run"),
    "nothing to evaluate on": (lambda d, r: l2gcn.evaluate(r.model, 5), "data: a int given; expected a Dataset"),
    "a random state in words": (lambda d, r: GCNClassifier(**FAST, random_state="x").fit(X, Y), "random_state: 'x' given"),
    "jobs in words": (lambda d, r: GCNClassifier(**FAST, n_jobs="x").fit(X, Y), "n_jobs: 'x' given"),
    "data in words": (lambda d, r: GCNClassifier(**FAST, data="cora").fit([0, 1], [0, 1]), "data: a str given; expected a Dataset"),
    "weights of one": (lambda d, r: GCNClassifier(**FAST).fit(X, Y).score(X, Y, sample_weight=[1]), "sample_weight has 1 values"),
    "a layer in words": (lambda d, r: GCNEmbedder(layer="x", **FAST).fit(X, Y).transform(), "layer: 'x' given"),
    "no Data": (lambda d, r: Dataset.from_pyg(5), "a int given; expected a PyG Data"),
    "no DGL graph": (lambda d, r: Dataset.from_dgl(5), "a int given; expected a DGL graph"),
    "no NetworkX graph": (lambda d, r: Dataset.from_networkx(5), "a int given; expected a NetworkX graph"),
    "no OGB graph": (lambda d, r: Dataset.from_ogb({}, Y), "expected a dict of edge_index, num_nodes"),
}


@pytest.mark.parametrize("what", CALLS)
def test_calls(what, data, run):
    call, sentence = CALLS[what]
    with pytest.raises(Error, match=sentence):
        call(data, run)


def test_libraries():
    """The same of tables, sparse matrices and graphs."""
    pandas, sparse, networkx = (pytest.importorskip(name) for name in ("pandas", "scipy.sparse", "networkx"))
    broken = sparse.csr_matrix(np.eye(N)[::-1])
    broken.indptr[3] = 2**30
    words = pandas.DataFrame({"a": pandas.Categorical(["u", "v"] * 15)})
    missing = pandas.DataFrame({"a": pandas.array([1, None] * 15, dtype="Int64")})
    for call, sentence in (
        (lambda: Dataset.from_arrays(sparse.coo_array(np.ones(N)), E, Y), "1 dimensions; expected 2"),
        (lambda: Dataset.from_arrays(X, sparse.coo_array(np.ones(N)), Y), "expected as many columns as rows"),
        (lambda: Dataset.from_arrays(X, broken, Y), "expected offsets that rise"),
        (lambda: Dataset.from_arrays(X, E, sparse.csr_matrix(np.ones((N, 2)))), "y: a sparse matrix"),
        (lambda: Dataset.from_arrays(words, E, Y), "could not convert string to float"),
        (lambda: Dataset.from_arrays(missing, E, Y), "feature 0 of node 1 is nan"),
        (lambda: Dataset.from_arrays(np.eye(2), networkx.Graph([(0, 1, {"weight": "a"})]), [0, 1]), "weights: elements of type"),
        (lambda: l2gcn.load_dataset(networkx.Graph([(0, 1)]), features="x"), "node 0 has no attribute 'x'"),
        (lambda: l2gcn.load_dataset(networkx.Graph()), "nodes: 0 given"),
        (lambda: l2gcn.load_dataset(pandas.DataFrame()), "edges: the edge list is empty"),
        (lambda: l2gcn.load_dataset(pandas.DataFrame({"a": [1], "b": [2]}), nodes="x.csv"), "nodes: a str given; expected a DataFrame"),
        (lambda: l2gcn.load_dataset(pandas.Series([1, 2])), "1 dimensions; expected 2"),
    ):
        with pytest.raises(Error, match=sentence):
            call()


def test_odd_arrays_that_are_right():
    """Arrays of any order, sign of strides, order of bytes and width give the same data set."""
    pandas = pytest.importorskip("pandas")
    expected = Dataset.from_arrays(X, E, Y)
    frozen = X.copy()
    frozen.flags.writeable = False
    for features in (frozen, X.astype(">f4"), X.astype(np.longdouble), np.asfortranarray(X), X.astype(object), np.ma.array(X)):
        np.testing.assert_array_equal(Dataset.from_arrays(features, E, Y).features, expected.features)
    for edges in (E.astype(">i8"), E.astype(np.uint16), E.astype(np.int8), E.T.copy().T, pandas.DataFrame(E), np.ma.array(E)):
        np.testing.assert_array_equal(Dataset.from_arrays(X, edges, Y).indices, expected.indices)
    for labels in (Y.astype(np.uint8), Y.astype(">i4"), Y.astype(float), pandas.array(Y, dtype="Int8"), Y.astype(object)):
        np.testing.assert_array_equal(Dataset.from_arrays(X, E, labels).labels, expected.labels)
    clf = GCNClassifier(**FAST).fit(X, pandas.array([True, False, None] * 10, dtype="boolean"), graph=E)
    assert clf.classes_.tolist() == [False, True]

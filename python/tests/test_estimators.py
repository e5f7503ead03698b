"""Estimators follow scikit-learn's conventions."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from conftest import small

import l2gcn
from l2gcn import Error, GCNClassifier, GCNEmbedder, NotFittedError

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

FAST = {"preset": "paper", "method": "lgcn", "epochs": 30, "lr": 0.05, "hidden": 32, "batch": 32}


@parametrize_with_checks([GCNClassifier(**FAST), GCNEmbedder(**FAST)])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def problem():
    data = small(nodes=90)
    split = data.split()
    names = np.array(["red", "green", "blue"], dtype=object)
    y = np.where(data.labels >= 0, names[data.labels], None)
    return data, np.array(data.features), y, split


def test_fit_predict_score(problem):
    data, X, y, split = problem
    seen = np.where(split.train | split.val, y, None)
    clf = GCNClassifier(**FAST, random_state=0).fit(X, seen, graph=data, val=split.val)
    assert clf.classes_.tolist() == ["blue", "green", "red"]
    predicted = clf.predict()
    assert predicted.shape == y.shape and set(predicted) <= {"red", "green", "blue"}
    assert clf.score(y=y, mask=split.test) == np.mean(predicted[split.test] == y[split.test])
    assert clf.score(y=y, mask=split.train) > 0.8
    proba = clf.predict_proba()
    np.testing.assert_array_equal(clf.classes_[proba.argmax(axis=1)], predicted)
    assert clf.transform().shape == (90, 32) and len(clf.get_feature_names_out()) == 32
    assert np.shares_memory(clf.data_.features, X)
    assert clf.n_iter_ == 60 and len(clf.history_["loss"]) == 60
    # A new graph with the same columns.
    other = clf.predict(X=X[:40], graph=np.array([[0, 1], [1, 2]]))
    assert other.shape == (40,)
    np.testing.assert_array_equal(clf.predict(X), predicted)


def test_another_x_without_its_graph_is_a_warning(problem):
    """As many rows as in fit() need not be the same nodes."""
    data, X, y, split = problem
    clf = GCNClassifier(**FAST).fit(X, y, graph=data, val=split.val)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.predict(X.copy())
        clf.predict(X[::-1].copy(), graph=data)
    with pytest.warns(UserWarning, match=r"X is not the X of fit\(\): its rows are taken for the nodes of fit"):
        clf.predict(X[::-1].copy())


def test_unlabelled_in_every_form(problem):
    data, X, _, split = problem
    labels = np.array(data.labels)
    a = GCNClassifier(**FAST).fit(X, labels, graph=data, val=split.val).predict_proba()
    b = GCNClassifier(**FAST).fit(X, np.where(labels < 0, np.nan, labels), graph=data, val=split.val).predict_proba()
    c = GCNClassifier(**FAST).fit(X, [None if l < 0 else int(l) for l in labels], graph=data, val=np.flatnonzero(split.val)).predict_proba()
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, c)


def test_validation_is_a_stratified_tenth(citations):
    clf = GCNClassifier(preset="paper", method="lgcn", epochs=1).fit(citations.features, citations.labels, graph=citations)
    assert clf.result_["split"]["val"] == round(citations.n_nodes * 0.1)
    assert clf.result_["split"]["test"] == 0


def test_same_model_as_train(problem):
    data, X, _, split = problem
    labels = np.where(split.train | split.val, data.labels, -1)
    clf = GCNClassifier(**FAST, random_state=4).fit(X, labels, graph=data, val=split.val)
    other = l2gcn.Dataset.from_arrays(X, data, labels, train=split.train, val=split.val)
    run = l2gcn.train(other, seed=4, **FAST)
    for name, tensor in run.model.tensors.items():
        np.testing.assert_array_equal(tensor, clf.model_.tensors[name])


def test_parameters(problem):
    clf = GCNClassifier(layers=3, hidden=[8, 8, 8], random_state=1)
    parameters = clf.get_params()
    table = {row.name for row in (*l2gcn.train_settings(), *l2gcn.machine_settings())} - {"split", "seed", "threads"}
    assert table | {"random_state", "n_jobs", "data", "callbacks", "progress", "verbose"} == set(parameters)
    assert all(parameters[name] is None for name in table - {"layers", "hidden"})
    assert clone(clf).get_params() == parameters
    assert clf.set_params(lr=0.1).lr == 0.1
    with pytest.raises(ValueError, match="Invalid parameter"):
        clf.set_params(lrr=1)
    with pytest.raises(Error, match="unknown setting 'layer': did you mean 'layers'"):
        GCNClassifier(layer=3)
    with pytest.raises(Error, match="unknown setting 'seed': did you mean 'random_state'"):
        GCNClassifier(seed=3)
    assert "Number of graph convolution layers" in GCNClassifier.__doc__
    assert repr(clf).startswith("GCNClassifier(")


def test_pickle(problem):
    data, X, y, _ = problem
    clf = GCNClassifier(**FAST).fit(X, y, graph=data)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(clf.predict_proba(), again.predict_proba())
    np.testing.assert_array_equal(clf.predict(X), again.predict(X))


def test_pipelines(problem):
    data, X, y, split = problem
    pipe = make_pipeline(StandardScaler(), GCNClassifier(**FAST))
    pipe.fit(X, y, gcnclassifier__graph=data, gcnclassifier__val=split.val)
    assert pipe.predict(X).shape == (90,)
    known = np.array([label is not None for label in y])
    embedded = GCNEmbedder(**FAST, layer=1).fit_transform(X, y, graph=data)
    assert embedded.shape == (90, 32)
    assert LogisticRegression(max_iter=500).fit(embedded[known], y[known].astype(str)).score(embedded[known], y[known].astype(str)) > 0.6


def test_cross_validation_over_nodes(problem):
    """With data=, samples are node numbers: the graph stays whole, and labels of the other fold are not seen."""
    data, _, _, split = problem
    nodes = np.flatnonzero(data.labels >= 0)
    y = data.labels[nodes]
    clf = GCNClassifier(**FAST, data=data)
    scores = cross_val_score(clf, nodes, y, cv=StratifiedKFold(3))
    assert scores.shape == (3,) and scores.mean() > 0.4
    masks = np.where(split.test[nodes], 0, -1)  # one fold: the test mask
    assert cross_val_score(clf, nodes, y, cv=PredefinedSplit(masks)).shape == (1,)
    fitted = clone(clf).fit(nodes[:50], y[:50])
    assert (fitted.data_.labels >= 0).sum() == 50
    embedder = make_pipeline(GCNEmbedder(**FAST, data=data), LogisticRegression(max_iter=500))
    assert cross_val_score(embedder, nodes, y, cv=3).mean() > 0.4


def test_grid_search_in_two_processes(problem):
    data, _, _, _ = problem
    nodes = np.flatnonzero(data.labels >= 0)
    search = GridSearchCV(GCNClassifier(**FAST, data=data, n_jobs=1), {"lr": [0.01, 0.05]}, cv=2, n_jobs=2)
    search.fit(nodes, data.labels[nodes])
    assert search.best_params_["lr"] in (0.01, 0.05)
    assert search.predict(nodes).shape == nodes.shape


def test_threads_by_joblib(problem):
    joblib = pytest.importorskip("joblib")
    data, X, y, _ = problem

    def fit(seed):
        return GCNClassifier(**FAST, random_state=seed, n_jobs=1).fit(X, y, graph=data).predict_proba()

    there = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(fit)(seed) for seed in range(4))
    for seed, proba in enumerate(there):
        np.testing.assert_array_equal(proba, fit(seed))


def test_multilabel():
    rng = np.random.default_rng(0)
    Y = (rng.random((100, 4)) < 0.5).astype(int)
    X = Y @ rng.normal(size=(4, 10)) + 0.1 * rng.normal(size=(100, 10))
    Y_seen = Y.copy()
    Y_seen[80:] = -1
    clf = GCNClassifier(**FAST).fit(X, Y_seen, graph=rng.integers(0, 100, (2, 30)))
    assert clf.predict().shape == (100, 4)
    assert clf.score(y=Y, mask=np.arange(100) < 80) > 0.8
    assert (clf.data_.labelled == (np.arange(100) < 80)).all()


def test_feature_names():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    clf = GCNClassifier(**FAST).fit(X, np.arange(40) % 2)
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"] and clf.data_.feature_names == ["a", "b", "c"]
    clf.predict(X)
    for changed in (X[["b", "a", "c"]], X.rename(columns={"a": "z"})):
        with pytest.raises(Error, match="feature names should match those that were passed during fit"):
            clf.predict(changed)


def test_preset_best(citations):
    """The most accurate preset: asked about its own nodes, by X or without it, before and after pickling, it says the same."""
    split = citations.split()
    seen = np.where(split.train | split.val, citations.labels, -1)
    clf = GCNClassifier(epochs=20).fit(citations.features, seen, graph=citations, val=split.val)
    assert clf.model_.config["preset"] == "best"
    assert clf.score(y=citations.labels, mask=split.test) > 0.8
    np.testing.assert_array_equal(clf.predict_proba(), clf.predict_proba(citations.features))
    np.testing.assert_array_equal(clf.predict_proba(), pickle.loads(pickle.dumps(clf)).predict_proba())


def test_random_state(problem):
    data, X, y, _ = problem
    fits = [
        GCNClassifier(**FAST, random_state=state).fit(X, y, graph=data).predict_proba()
        for state in (3, 3, np.random.RandomState(3), np.random.default_rng(3))
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])
    GCNClassifier(**FAST, random_state=None).fit(X, y, graph=data)


def test_mistakes(problem):
    data, X, y, _ = problem
    clf = GCNClassifier(**FAST)
    for call in (clf.predict, clf.predict_proba, clf.transform, clf.decision_function):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()
    assert issubclass(NotFittedError, Error) and issubclass(NotFittedError, sklearn.exceptions.NotFittedError)
    for arguments, sentence in (
        ((X, None), "requires y to be passed"),
        ((X, y[:5]), "y has 5 rows, but X has 90"),
        ((X, [None] * 90), "no node has a label"),
        ((X, np.linspace(0, 1, 90)), "Unknown label type"),
        ((np.where(X == X[3, 2], np.nan, X), y), "Input X contains NaN.*feature 2 of node 3 is nan"),
    ):
        with pytest.raises(Error, match=sentence):
            clf.fit(*arguments, graph=data)
    with pytest.raises(Error, match="X has 80 rows, but the graph has 90 nodes"):
        clf.fit(X[:80], y[:80], graph=data)
    clf.fit(X, y, graph=data)
    with pytest.raises(Error, match="X has 10 rows, but the graph has 90 nodes; expected one row a node. Give"):
        clf.predict(X[:10])
    with pytest.raises(Error, match="X has 3 features, but GCNClassifier is expecting 8 features"):
        clf.predict(X[:, :3])
    with pytest.raises(Error, match="lr=-1: expected a number above 0"):
        GCNClassifier(lr=-1).fit(X, y)


def test_without_scikit_learn():
    """The estimators work where scikit-learn is not installed."""
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import numpy as np, l2gcn\n"
        "clf = l2gcn.GCNClassifier(hidden=8, method='lgcn', epochs=5)\n"
        "X = np.random.default_rng(0).normal(size=(40, 3))\n"
        "clf.fit(X, np.arange(40) % 2, graph=[[0, 1], [1, 2]])\n"
        "print(clf.get_params()['hidden'], clf.predict().shape, clf, clf.set_params(lr=0.1).lr)\n"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert output.stdout.startswith("8 (40,) GCNClassifier("), output.stderr

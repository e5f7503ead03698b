"""Regression from arrays: data sets, runs, the estimator."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import l2gcn
from l2gcn import Error, GCNRegressor

FAST = {"preset": "paper", "epochs": 40, "lr": 0.02, "hidden": 32, "batch": 32}


@pytest.fixture(scope="module")
def problem():
    random = np.random.default_rng(1)
    X = random.normal(size=(200, 4)).astype(np.float32)
    graph = np.array([np.arange(200), (np.arange(200) + 1) % 200])
    near = (X[(np.arange(200) + 1) % 200] + X[(np.arange(200) - 1) % 200]) / 2
    y = 10 + 3 * X[:, 0] + 2 * near[:, 1]
    return X, graph, y


def test_floats_are_targets(problem):
    X, graph, y = problem
    y = y.copy()
    y[3] = np.nan
    data = l2gcn.Dataset.from_arrays(X, graph, y)
    assert data.task == "regression" and data.n_classes == 1 and not data.labelled[3]
    np.testing.assert_array_equal(data.labels, y.astype(np.float32))
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.labels, data.labels)
    assert l2gcn.Dataset.from_arrays(X, graph, np.arange(200) % 3).task == "classification"
    assert l2gcn.Dataset.from_arrays(X, graph, np.arange(200) % 3, task="regression").task == "regression"
    with pytest.raises(Error, match="sample weight of node 0"):
        l2gcn.Dataset.from_arrays(X, graph, y, sample_weight=np.zeros(200))


def test_tables_name_their_task():
    pandas = pytest.importorskip("pandas")
    nodes = pandas.DataFrame({"id": range(6), "size": range(6), "trust": [1, 2] * 3, "rent": [10, 20, 30, 10, 20, 30]})
    edges = pandas.DataFrame({"a": range(5), "b": range(1, 6)})
    load = lambda **more: l2gcn.load_dataset(edges=edges, nodes=nodes, id="id", label="rent", **more)
    assert load().task == "classification"
    data = load(task="regression", sample_weight="trust")
    assert data.task == "regression" and data.n_features == 1
    np.testing.assert_array_equal(np.ravel(data.labels), nodes["rent"])


def test_runs_have_r2(problem):
    X, graph, y = problem
    data = l2gcn.Dataset.from_arrays(X, graph, np.stack([y, -y], axis=1), class_names=["up", "down"])
    run = l2gcn.train(data, epochs=20, seed=1, split="random:0.6,0.2,0.2")
    assert run.r2["test"] > 0.3 and "R²" in repr(run)
    with pytest.raises(Error, match="use r2"):
        run.f1
    predicted = run.model.predict(data)
    assert predicted.shape == (200, 2) and predicted.dtype == np.float32
    with pytest.raises(Error, match="no probabilities"):
        run.model.predict_proba(data)
    scores = l2gcn.evaluate(run)
    assert scores["test"]["r2"] == run.r2["test"]
    assert [target["target"] for target in scores["test"]["targets"]] == ["up", "down"]


def test_regressor(problem):
    X, graph, y = problem
    seen = np.where(np.arange(200) % 4 == 0, np.nan, y)
    reg = GCNRegressor(**FAST, random_state=0).fit(X, seen, graph=graph, sample_weight=np.ones(200))
    assert reg.predict().shape == (200,)
    assert reg.score(y=y, mask=np.isnan(seen)) > 0.2
    assert reg.transform().shape == (200, 32)
    np.testing.assert_array_equal(reg.predict(X), reg.predict())
    with pytest.raises(Error, match="must be numbers"):
        GCNRegressor(**FAST).fit(X, ["a"] * 200, graph=graph)


def test_scores_are_scikit_learns(problem):
    metrics = pytest.importorskip("sklearn.metrics")
    X, graph, y = problem
    reg = GCNRegressor(**FAST, random_state=0).fit(X, y, graph=graph)
    assert reg.score(y=y) == pytest.approx(metrics.r2_score(y.astype(np.float32).astype(float), reg.predict().astype(float)), abs=1e-9)


def test_checks_of_scikit_learn():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    weights = "a node of weight 0 is an error, and repeated nodes change the batches"
    failing = {
        "check_sample_weight_equivalence_on_dense_data": weights,
        "check_sample_weight_equivalence_on_sparse_data": weights,
        "check_regressor_multioutput": "numbers are float32, as the network has them",
    }
    checks.check_estimator(GCNRegressor(**FAST), on_fail="raise", expected_failed_checks=failing)

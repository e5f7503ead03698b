"""Round trips through other libraries: what comes back is equal to the last bit."""

from __future__ import annotations

import re

import numpy as np
import pytest
from conftest import same_data, small

import l2gcn
from l2gcn import Dataset


def same_split(a: Dataset, b: Dataset) -> None:
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(a.split(), part), getattr(b.split(), part))


@pytest.mark.parametrize("weighted", [False, True])
def test_scipy(weighted, citations):
    pytest.importorskip("scipy")
    for data in (small(weighted=weighted), citations):
        adjacency, X, y = data.to_scipy()
        assert adjacency.shape == (data.n_nodes, data.n_nodes)
        same_data(Dataset.from_scipy(adjacency, X, y), data)


@pytest.mark.parametrize("weighted", [False, True])
def test_pandas(weighted):
    pytest.importorskip("pandas")
    data = small(weighted=weighted)
    edges, nodes = data.to_pandas()
    assert len(edges) == data.n_edges
    again = Dataset.from_pandas(edges, nodes, label="label")
    order = [int(i) for i in again.node_ids]
    assert order == list(range(data.n_nodes))
    np.testing.assert_array_equal(again.indices, data.indices)
    np.testing.assert_array_equal(again.dense_features(), data.dense_features())
    names = [data.class_names[c] if c >= 0 else None for c in data.labels]
    assert [again.class_names[c] if c >= 0 else None for c in again.labels] == names
    if weighted:
        np.testing.assert_array_equal(again.edge_weight, data.edge_weight)


def test_pandas_reads_tables_as_the_program_does():
    pandas = pytest.importorskip("pandas")
    edges = pandas.DataFrame({"from": ["a", "b", "c"], "to": ["b", "c", "d"], "km": [1.5, 2.0, 2.5]})
    nodes = pandas.DataFrame(
        {"who": ["a", "b", "c", "d"], "size": [1.0, None, 3.0, 4.0], "colour": ["red", "blue", "red", "red"], "kind": ["x", "y", "x", None]}
    )
    data = Dataset.from_pandas(edges, nodes, label="kind", id="who", source="from", target="to", weight="km")
    assert data.feature_names == ["size", "size missing", "colour=blue", "colour=red"]
    assert data.node_ids.tolist() == ["a", "b", "c", "d"] and data.class_names == ["x", "y"]
    assert data.labels.tolist() == [0, 1, 0, -1]
    assert data.edge_weight.tolist() == [1.5, 1.5, 2.0, 2.0, 2.5, 2.5]
    bare = Dataset.from_pandas(edges, nodes.drop(columns="kind"), label="none", source="from", target="to", weight="km")
    assert bare.n_classes == 0 and bare.n_features == 4
    with pytest.raises(l2gcn.Error, match="label='kinds': nodes has no such column .did you mean kind"):
        Dataset.from_pandas(edges, nodes, label="kinds")


def test_frames_have_their_label_last_as_files_do(tmp_path):
    pandas = pytest.importorskip("pandas")
    edges = pandas.DataFrame({"from": ["a", "b", "c"], "to": ["b", "c", "a"]})
    nodes = pandas.DataFrame({"who": ["a", "b", "c"], "size": [1, 2, 4], "kind": ["x", "y", "x"]})
    edges.to_csv(tmp_path / "edges.csv", index=False)
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    for place, tables in (("nodes", (edges, nodes)), ("nodes.csv", ())):
        files = {} if tables else {"edges": tmp_path / "edges.csv", "nodes": tmp_path / "nodes.csv"}
        with pytest.warns(UserWarning) as seen:
            data = l2gcn.load_dataset(*tables, **files)
        assert str(seen[0].message) == f"{place}: labels are in column kind, the last (`label` names another column, or none)"
        assert data.feature_names == ["size"] and data.class_names == ["x", "y"]
        bare = l2gcn.load_dataset(*tables, **files, label="none")
        assert bare.n_classes == 0 and bare.feature_names == ["size", "kind=x", "kind=y"]


def test_frames_take_words_for_missing_and_rows_for_nodes():
    pandas = pytest.importorskip("pandas")
    edges = pandas.DataFrame({"from": [0, 1, 2], "to": [1, 2, 3]})
    nodes = pandas.DataFrame({"size": [1, "tbd", 3, 4], "town": ["rome", "Unknown", "oslo", "rome"], "kind": ["x", "y", "x", "y"]})
    for missing in ("unknown,tbd", ["unknown", "tbd"]):
        data = Dataset.from_pandas(edges, nodes, label="kind", missing=missing, no_ids=True)
        assert data.feature_names == ["size", "size missing", "town=oslo", "town=rome", "town missing"]
        assert data.n_nodes == 4 and data.labels.tolist() == [0, 1, 0, 1]
    numbered = nodes.set_axis(pandas.Index([7, 8, 9, 10], name="key"))
    assert Dataset.from_pandas(edges, numbered, label="kind", no_ids=True).n_nodes == 4


def test_swapped_frames_are_recognised():
    pandas = pytest.importorskip("pandas")
    edges = pandas.DataFrame({"from": ["a", "a", "b"], "to": ["b", "c", "c"]})
    nodes = pandas.DataFrame({"who": ["a", "b", "c"], "size": [1, 2, 4], "kind": ["x", "y", "x"]})
    with pytest.raises(l2gcn.Error, match="edges and nodes look swapped: rows of nodes name two ids of edges"):
        Dataset.from_pandas(nodes, edges, label="kind")


def people(count: int = 60) -> tuple[dict, dict]:
    """Columns of two tables: an id that the node table lacks, a row without an edge, and a column of names."""
    who = [f"n{i}" for i in range(count)]
    nodes = {"who": who, "size": [float(i % 7) for i in range(count)], "e-mail": [f"{one}@x" for one in who], "kind": ["x", "y"] * (count // 2)}
    nodes = {name: values[1:] + [values[0]] for name, values in nodes.items()}
    nodes["who"][-1] = "lonely"
    return {"from": who, "to": who[1:] + who[:1]}, nodes


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_warn_of_what_has_no_effect(library):
    frames = pytest.importorskip(library)
    edges, nodes = (frames.DataFrame(columns) for columns in people())
    with pytest.warns(UserWarning) as seen:
        data = Dataset.from_pandas(edges, nodes, label="kind", id="who")
    told = [str(one.message) for one in seen]
    assert any(re.fullmatch("nodes: column e-mail .* left out", text) for text in told), told
    assert any(text.startswith("edges: 1 of 60 ids have no row in nodes (n0)") for text in told), told
    assert any(text.startswith("nodes: 1 of 60 rows have no edge (lonely)") for text in told), told
    assert all(one.filename == __file__ for one in seen)
    assert data.feature_names == ["size", "size missing"] and data.n_nodes == 61


def test_files_warn_alike(tmp_path):
    pandas = pytest.importorskip("pandas")
    edges, nodes = (pandas.DataFrame(columns) for columns in people())
    edges.to_csv(tmp_path / "e.csv", index=False)
    nodes.to_csv(tmp_path / "n.csv", index=False)
    with pytest.warns(UserWarning) as seen:
        l2gcn.load_dataset(edges=tmp_path / "e.csv", nodes=tmp_path / "n.csv", label="kind", id="who")
    assert any(re.fullmatch("n.csv: column e-mail .* left out", str(one.message)) for one in seen)


def test_polars():
    """A polars DataFrame is read as pandas' with the same cells, missing ones and types included."""
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    cells = {"who": ["a", "b", "c", "d"], "size": [1.0, None, 3.0, 4.0], "colour": ["red", "blue", "red", "red"], "kind": ["x", "y", "x", None]}
    ends = {"from": ["a", "b", "c"], "to": ["b", "c", "d"]}
    expected = Dataset.from_pandas(pandas.DataFrame(ends), pandas.DataFrame(cells), label="kind", id="who")
    for edges, nodes in ((polars.DataFrame(ends), polars.DataFrame(cells)), (polars.LazyFrame(ends), polars.LazyFrame(cells))):
        data = Dataset.from_pandas(edges, nodes, label="kind", id="who")
        same_data(data, expected)
        assert data.feature_names == expected.feature_names and data.class_names == expected.class_names
    assert l2gcn.load_dataset(polars.LazyFrame(ends), nodes=polars.LazyFrame(cells), label="kind").n_nodes == 4
    bare = l2gcn.load_dataset(polars.DataFrame(ends), polars.DataFrame(cells).drop("kind"), label="none")
    assert bare.n_classes == 0 and bare.n_features == 4
    X = np.arange(8, dtype=np.float32).reshape(4, 2)
    arrays = Dataset.from_arrays(polars.DataFrame(X, schema=["u", "v"]), [[0, 1], [1, 2]], polars.Series([0, None, 1, 0]))
    assert arrays.labels.tolist() == [0, -1, 1, 0] and arrays.feature_names == ["u", "v"]
    np.testing.assert_array_equal(arrays.features, X)
    clf = l2gcn.GCNClassifier(preset="paper", epochs=1, hidden=4).fit(polars.DataFrame(X, schema=["u", "v"]), ["p", "q", "p", None], val=[])
    assert clf.predict().shape == (4,)
    with pytest.raises(l2gcn.Error, match="nodes: cannot be written as text"):
        Dataset.from_pandas(polars.DataFrame(ends), polars.DataFrame({"who": ["a"], "l": [[1, 2]]}), id="who")


def test_frames_speak_of_keywords():
    """What the reader says of two DataFrames names neither files nor options."""
    pandas = pytest.importorskip("pandas")
    edges = pandas.DataFrame({"from": ["a", "b", "c"], "to": ["b", "c", "d"]})
    nodes = pandas.DataFrame({"key": [1, 2, 3, 4], "who": ["a", "b", "c", "d"], "kind": ["x", "y", "x", "y"]})
    with pytest.raises(l2gcn.Error) as caught:
        Dataset.from_pandas(edges, nodes, label="kind", id="key")
    text = str(caught.value)
    assert text.startswith("edges: 4 of its 4 ids") and "give id='who'" in text and "allow_unmatched=True" in text
    assert "--" not in text and ".csv" not in text and caught.value.kind == "input"
    with pytest.raises(l2gcn.Error, match="label, id and no_ids are about a node table"):
        Dataset.from_pandas(edges, label="kind")
    with pytest.raises(l2gcn.Error, match="nodes: a list given; expected a DataFrame of pandas or polars"):
        Dataset.from_pandas(edges, [1, 2])


def test_ids_of_an_index():
    pandas = pytest.importorskip("pandas")
    edges = pandas.DataFrame({"from": ["a", "b", "c"], "to": ["b", "c", "d"]})
    nodes = pandas.DataFrame({"size": [1, 2, 3, 4], "kind": ["x", "y", "x", "y"]}, index=["a", "b", "c", "d"])
    for index in (nodes, nodes.rename_axis("who")):
        data = Dataset.from_pandas(edges, index, label="kind")
        assert data.node_ids.tolist() == ["a", "b", "c", "d"] and data.feature_names == ["size"]


def test_runs_on_frames_do_not_name_their_files(tmp_path):
    """Tables from memory are gone once they are read: a run on them asks for its data, as one on arrays does."""
    pandas = pytest.importorskip("pandas")
    edges, nodes = (pandas.DataFrame(columns) for columns in people())
    data = Dataset.from_pandas(edges, nodes.drop(columns="e-mail").assign(who=edges["from"]), label="kind", id="who")
    assert data.format == "memory"
    path = l2gcn.train(data, preset="paper", epochs=1).save(tmp_path / "run")
    assert "/l2gcn-" not in "".join(file.read_text() for file in (tmp_path / "run").glob("*.json"))
    with pytest.raises(l2gcn.Error, match="does not say which data set it was trained on"):
        l2gcn.evaluate(path)
    assert l2gcn.evaluate(path, data)["test"]["nodes"] > 0


def test_columns_of_a_model():
    """In a short table a column of categories looks like names, and is left out; the model that will read it knows better."""
    pandas = pytest.importorskip("pandas")
    town = np.array([f"town {i % 25}" for i in range(250)])
    who = np.array([f"n{i}" for i in range(250)])
    nodes = pandas.DataFrame({"who": who, "size": np.arange(250) % 7, "town": town, "kind": np.where(np.arange(250) % 25 < 12, "x", "y")})
    edges = pandas.DataFrame({"from": who, "to": np.roll(who, 25)})
    model = l2gcn.train(Dataset.from_pandas(edges, nodes, label="kind", id="who"), preset="paper", method="lgcn", epochs=2).model
    few, ring = nodes[["who", "size", "town"]][:25], pandas.DataFrame({"from": who[:25], "to": np.roll(who[:25], 1)})
    with pytest.warns(UserWarning, match="column town .* left out"):
        assert Dataset.from_pandas(ring, few, id="who", label="none").feature_names == ["size"]
    known = Dataset.from_pandas(ring, few, id="who", model=model)
    assert known.n_features == 26 and model.predict(known).shape == (25,)


def test_ids_of_a_model(tmp_path):
    """A table for a model has the ids, and perhaps the labels, in the columns where the model's own table had them."""
    pandas = pytest.importorskip("pandas")
    who = np.array([f"n{i}" for i in range(60)])
    nodes = pandas.DataFrame({"size": np.arange(60) % 7, "kind": np.where(np.arange(60) < 30, "x", "y"), "who": who})
    edges = pandas.DataFrame({"from": who, "to": np.roll(who, 1)})
    edges.to_csv(tmp_path / "edges.csv", index=False)
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    nodes.drop(columns="kind").to_csv(tmp_path / "unlabelled.csv", index=False)
    tables = {"edges": tmp_path / "edges.csv", "nodes": tmp_path / "nodes.csv"}
    model = l2gcn.train(l2gcn.load_dataset(**tables, id="who", label="kind"), preset="paper", epochs=2).model
    again = l2gcn.load_dataset(**tables, model=model)
    assert sorted(again.node_ids) == sorted(who) and again.labelled.all()
    alone = l2gcn.load_dataset(**{**tables, "nodes": tmp_path / "unlabelled.csv"}, model=model)
    frames = Dataset.from_pandas(edges, nodes[["size", "who"]], model=model)
    for data in (alone, frames):
        assert data.feature_names == ["size"] and data.node_ids.tolist() == again.node_ids.tolist()
        np.testing.assert_array_equal(model.predict(data), model.predict(again))


@pytest.mark.parametrize("weighted", [False, True])
def test_networkx(weighted):
    networkx = pytest.importorskip("networkx")
    data = small(weighted=weighted)
    graph = data.to_networkx()
    assert graph.number_of_edges() == data.n_edges
    again = Dataset.from_networkx(graph, features="x", label="label")
    names = [data.class_names[c] if c >= 0 else None for c in data.labels]
    assert [again.class_names[c] if c >= 0 else None for c in again.labels] == names
    np.testing.assert_array_equal(again.dense_features(), data.dense_features())
    np.testing.assert_array_equal(again.indices, data.indices)
    if weighted:
        np.testing.assert_allclose(again.edge_weight, data.edge_weight, rtol=0)
    karate = networkx.karate_club_graph()
    club = Dataset.from_networkx(karate, label="club", features=None)
    assert club.class_names == ["Mr. Hi", "Officer"] and club.n_edges == 78
    assert l2gcn.train(club, preset="paper", method="lgcn", epochs=20, lr=0.05).f1["test"] > 0.5


@pytest.mark.parametrize("weighted", [False, True])
def test_pyg(weighted, citations):
    torch = pytest.importorskip("torch", reason="torch is not installed (scripts/test-interop.sh installs it)")
    pytest.importorskip("torch_geometric", reason="PyG is not installed (scripts/test-interop.sh installs it)")
    from torch_geometric.data import Data

    for data in (small(weighted=weighted), citations):
        there = data.to_pyg()
        assert isinstance(there, Data) and there.num_edges == len(data.indices)
        again = Dataset.from_pyg(there)
        same_data(data, again)
        same_split(data, again)
        assert np.shares_memory(again.features, there.x.numpy())
        back = again.to_pyg()
        for name in there.keys():
            left, right = there[name], back[name]
            assert torch.equal(left, right) if torch.is_tensor(left) else left == right
    with_columns = citations.to_pyg()
    with_columns.train_mask = torch.stack([with_columns.test_mask, with_columns.train_mask], dim=1)
    same_split(Dataset.from_pyg(with_columns, split=1), citations)


def test_pyg_multilabel():
    torch = pytest.importorskip("torch", reason="torch is not installed (scripts/test-interop.sh installs it)")
    pytest.importorskip("torch_geometric", reason="PyG is not installed (scripts/test-interop.sh installs it)")
    from torch_geometric.data import Data

    Y = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    data = Dataset.from_pyg(Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]), y=Y))
    assert data.multilabel and torch.equal(data.to_pyg().y, Y)


def test_dgl(citations, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed (scripts/test-interop.sh installs it)")
    # Debian's torch calls itself 1.13.0a0, which DGL takes for older than the 1.13.0 that it needs.
    monkeypatch.setattr(torch, "__version__", re.sub(r"a\d+$", "", str(torch.__version__)))
    try:
        import dgl  # noqa: F401
    except Exception as problem:  # it raises errors of several kinds where it does not suit torch
        pytest.skip(f"DGL cannot be imported: {problem}")
    for data, weight in ((small(), None), (small(weighted=True), "weight"), (citations, None)):
        graph = data.to_dgl()
        again = Dataset.from_dgl(graph, weight=weight)
        same_data(data, again)
        same_split(data, again)
        for name, value in graph.ndata.items():
            assert torch.equal(value, again.to_dgl().ndata[name])


def test_dgl_by_its_interface():
    """from_dgl needs of a graph only what DGL documents, so a stand-in with that interface shows it without DGL."""

    class Stand:
        ndata = {"feat": np.eye(3, dtype=np.float32), "label": np.array([0, 1, 0]), "train_mask": np.array([1, 1, 0], dtype=bool)}
        edata = {"w": np.array([0.5, 2.0], dtype=np.float32)}

        def edges(self):
            return np.array([0, 1]), np.array([1, 2])

        def num_nodes(self):
            return 3

    data = Dataset.from_dgl(Stand(), weight="w")
    assert data.n_edges == 2 and data.edge_weight.tolist() == [0.5, 0.5, 2.0, 2.0]
    assert data.labels.tolist() == [0, 1, 0] and data.split().train.tolist() == [True, True, False]


def test_ogb():
    graph = {"edge_index": np.array([[0, 1], [1, 2]]), "node_feat": np.eye(4, dtype=np.float32), "num_nodes": 4}
    labels = np.array([[0.0], [1.0], [np.nan], [1.0]])
    data = Dataset.from_ogb(graph, labels, {"train": np.array([0]), "valid": np.array([1]), "test": np.array([3])})
    assert data.labels.tolist() == [0, 1, -1, 1]
    assert [np.flatnonzero(part).tolist() for part in data.split()[1:]] == [[0], [1], [3]]
    tasks = Dataset.from_ogb(graph, np.array([[1, 0], [0, 1], [1, 1], [0, 0]]))
    assert tasks.multilabel and tasks.n_classes == 2


@pytest.mark.parametrize("method", ["lgcn", "gcn", "sgc", "graphsage", "clustergcn", "ngcn"])
def test_to_torch(method, citations, settings_of_presets):
    torch = pytest.importorskip("torch", reason="torch is not installed (scripts/test-interop.sh installs it)")
    for data, more in ((citations, {}), (small(weighted=True), {"scale": "standard", "smooth": 1, "batch": 16}), (small(), {"pca": 4, "scale": "row"})):
        run = l2gcn.train(data, method=method, epochs=5, **more)
        module = run.model.to_torch()
        weight = None if data.edge_weight is None else torch.from_numpy(np.array(data.edge_weight))
        with torch.no_grad():
            theirs = module(torch.from_numpy(np.array(data.dense_features())), torch.from_numpy(data.edge_index), weight).numpy()
        ours = run.model.logits(data, known=[])  # preset best may spread labels over the graph, which is not the module's business
        assert np.abs(ours - theirs).max() <= 1e-5 * max(1.0, np.abs(ours).max())
    assert sum(p.numel() for p in module.parameters()) > 0


@pytest.mark.parametrize("predict_from", ["last", "mean"])
def test_to_torch_of_richer_layers(predict_from, settings_of_presets):
    torch = pytest.importorskip("torch", reason="torch is not installed (scripts/test-interop.sh installs it)")
    data = small()
    x, edges = torch.from_numpy(np.array(data.dense_features())), torch.from_numpy(data.edge_index)
    for more in ({"hidden_norm": "layer", "head": 8, "hops": 2, "self_features": True}, {"hidden_norm": "layer", "hops": 2, "self_features": True, "raw_features": True, "adjacency": "sym,mean"}, {"bias": True}, {"hidden_norm": "batch", "head": 8}, {"hidden_norm": "layer", "bias": True, "self_features": True}, {"bias": True, "hops": 2, "self_features": True}):
        settings = {"preset": "paper", "method": "lgcn", "epochs": 5, "hidden": 16, "batch": 16, "correct": "off", "predict_from": predict_from, **more}
        model = l2gcn.train(data, **settings).model
        with torch.no_grad():
            theirs = model.to_torch()(x, edges).numpy()
        assert np.abs(model.logits(data, known=[]) - theirs).max() <= 1e-5


@pytest.mark.parametrize("method", ["gcn", "graphsage", "clustergcn"])
def test_to_torch_of_deep_networks(method, settings_of_presets):
    torch = pytest.importorskip("torch", reason="torch is not installed (scripts/test-interop.sh installs it)")
    data = small()
    x, edges = torch.from_numpy(np.array(data.dense_features())), torch.from_numpy(data.edge_index)
    parts = [{"hidden_norm": "batch"}, {"hidden_norm": "layer"}, {"bias": True}]
    parts += [{**part, "self_features": True} for part in parts if method != "graphsage"]
    for more in parts:
        model = l2gcn.train(data, method=method, layers=3, epochs=5, hidden=16, batch=16, **more).model
        with torch.no_grad():
            theirs = model.to_torch()(x, edges).numpy()
        assert np.abs(model.logits(data) - theirs).max() <= 1e-4


@pytest.mark.parametrize("name", ["cora", "pubmed", "ppi-largest"])
def test_to_torch_on_real_data(name, data_dir):
    torch = pytest.importorskip("torch", reason="torch is not installed (scripts/test-interop.sh installs it)")
    data = l2gcn.load_dataset(str(data_dir / name) if name == "ppi-largest" else name, data_dir=str(data_dir))
    for method in ("lgcn", "gcn"):
        model = l2gcn.train(data, method=method, epochs=20).model
        with torch.no_grad():
            theirs = model.to_torch()(torch.from_numpy(np.array(data.dense_features())), torch.from_numpy(data.edge_index)).numpy()
        error = np.abs(model.logits(data, known=[]) - theirs).max()
        print(f"{name} {method}: largest difference of logits {error:.1e}")
        assert error <= 1e-5

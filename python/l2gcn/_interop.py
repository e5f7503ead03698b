"""Converts data sets from and to other libraries, each of which is imported on first use."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _core, _hetero
from ._arrays import as_array, is_array, is_dgl, is_networkx, is_pyg, is_sparse, is_table, weight_array
from ._arrow import read_stream
from ._call import make_call
from ._settings import error, options_json, path_of, text_of, unknown
from ._wording import in_python

if TYPE_CHECKING:
    from ._dataset import Dataset


def need(module: str, purpose: str) -> Any:
    """The module, or an ImportError that names the function that needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        package = module.split(".")[0]
        raise ImportError(f"{purpose} need {package}, which cannot be imported: {problem}") from None


def expect(fits: bool, value: Any, what: str) -> None:
    """Raises an error unless the object has the type that the caller's function takes."""
    if not fits:
        raise error(f"a {type(value).__name__} given; expected {what}", "usage")


def _entry_rows(data: Dataset) -> np.ndarray:
    degrees: Any = np.diff(data.indptr.view(np.int64))
    return np.repeat(np.arange(data.n_nodes), degrees)


# scipy


def from_scipy(cls: type[Dataset], /, adjacency: Any, X: Any = None, y: Any = None, **options: Any) -> Dataset:
    """A data set from an adjacency matrix; X, y and options as `from_arrays`."""
    return cls.from_arrays(X, adjacency, y, **options)


def to_scipy(self: Dataset) -> tuple[Any, Any, np.ndarray]:
    """(adjacency, features, labels): a CSR matrix, an array or CSR matrix, an array.

    The matrices share the data set's memory.
    """
    sparse = need("scipy.sparse", "sparse matrices")
    weights = self.edge_weight
    values = np.ones(len(self.indices), dtype=np.float32) if weights is None else weights
    parts = (values, self.indices.view(np.int32), self.indptr.view(np.int64))
    adjacency = sparse.csr_matrix(parts, shape=(self.n_nodes, self.n_nodes), copy=False)
    return adjacency, self.features, self.labels


# DataFrames


def handle_of(model: Any) -> Optional[_core.Model]:
    """The model that will read tables as the library holds it; None: of no model."""
    if model is not None and not hasattr(model, "_handle"):
        raise error(f"model: a {type(model).__name__} given; expected a Model, as load_model gives", "usage")
    return None if model is None else model._handle


def _plain_frame(frame: Any, what: str, takes_index: bool = True) -> tuple[Any, bool]:
    """(a DataFrame or Arrow table, whether its first column was the index). An index with a name, or of words, counts."""
    if hasattr(frame, "collect_schema"):
        frame = frame.collect() if hasattr(frame, "collect") else frame  # polars' LazyFrame
    elif hasattr(frame, "__arrow_c_stream__") and not (hasattr(frame, "assign") or hasattr(frame, "lazy")):
        frame = read_stream(frame, what)  # neither pandas' nor polars'
    if not hasattr(frame, "columns") or not (hasattr(frame, "to_csv") or hasattr(frame, "write_csv")):
        raise error(f"{what}: a {type(frame).__name__} given; expected a DataFrame of pandas or polars, or an Arrow table", "usage")
    index = getattr(frame, "index", None)
    if index is None or not takes_index:
        return frame, False
    unnamed_words = list(index.names) == [None] and index.dtype.kind not in "iuf"
    counts = unnamed_words or any(name is not None and name not in frame.columns for name in index.names)
    return (frame.reset_index(), True) if counts else (frame, False)


def parquet_tables(options: dict[str, Any]) -> dict[str, Any]:
    """The options with tables in place of the names of Parquet files, where polars or pyarrow is installed to read them."""
    names = [name for name in ("edges", "nodes") if _is_parquet(options.get(name))]
    for reader in ("polars", "pyarrow.parquet"):
        if names and importlib.util.find_spec(reader.split(".")[0]) is not None:
            module = importlib.import_module(reader)
            read = module.read_parquet if reader == "polars" else module.read_table
            return {**options, **{name: _read_parquet(read, os.fspath(options[name]), name) for name in names}}
    return options


def _is_parquet(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) and os.fspath(value).endswith(".parquet")


def _read_parquet(read: Callable[[str], Any], path: str, what: str) -> Any:
    try:
        return read(path)
    except Exception as problem:  # each library has errors of its own
        raise error(f"{what}: {path} cannot be read: {problem}") from None


def _write_table(frame: Any, path: str, what: str) -> str:
    try:
        if hasattr(frame, "to_csv"):
            frame.to_csv(path, index=False)
        else:
            frame.write_csv(path)
    except OSError:
        raise
    except Exception as problem:  # what a table holds may not be text, and each library has errors of its own
        raise error(f"{what}: cannot be written as text: {problem}") from None
    return path


def from_pandas(
    cls: type[Dataset],
    /,
    edges: Any,
    nodes: Any = None,
    *,
    label: Optional[str] = None,
    id: Optional[str] = None,
    source: Optional[str] = None,
    target: Optional[str] = None,
    weight: Union[str, list[str], None] = None,
    edge_type: Optional[str] = None,
    directed: bool = False,
    keep_self_loops: bool = False,
    allow_unmatched: bool = False,
    missing: Union[None, str, Sequence[str]] = None,
    no_ids: bool = False,
    edge_features: Optional[str] = None,
    split_by: Optional[str] = None,
    task: Optional[str] = None,
    sample_weight: Optional[str] = None,
    model: Any = None,
) -> Dataset:
    """A data set from two DataFrames of pandas or polars, or Arrow tables, by the rules of docs/reference/tables.md.

    A column that cannot be a feature, ids without a row and rows without an edge are warnings. The tables pass through the
    program's own reader as text, so ids, categories and missing cells are read exactly as from files. For large tables of
    plain numbers, `from_arrays` is faster.

    Parameters
    ----------
    edges : DataFrame
        Two columns of ids and perhaps a weight; `source`, `target` and `weight` name them. Several weights, the values of
        `edge_type` and directions (`directed`) are one relation each.
    nodes : DataFrame, optional
        One row a node: its id (`id`; the index where it has a name that is no column's, or holds words), its label (`label`)
        and features. Numbers become one feature, words one a level; missing cells are marked.
    label : str, optional
        The column of labels, or "none" where there is none; None: the last column, which a warning names, or that of the model.
    allow_unmatched : bool
        Go on although many ids of the edges have no row.
    missing : str or list of str, optional
        Words that mean "no value", beside NaN, None and their usual spellings.
    no_ids : bool
        Row k of the node table is node k; the edges hold numbers.
    edge_features : str, optional
        Columns of the edges that become features of their nodes, such as "amount,how", or "all".
    split_by : str, optional
        "time:COLUMN" or "group:COLUMN" of the nodes, kept for splits such as "time:COLUMN:0.6,0.2,0.2".
    task : "classification" or "regression", optional
        What the labels are; None: by their values.
    sample_weight : str, optional
        Column of the nodes with their weights in the loss of a regression.
    model : Model, optional
        The model that will predict on it: its columns become features whatever they hold. Its id column is found by name, and
        so is its label column, which may be missing.
    """
    edges, _ = _plain_frame(edges, "edges")
    columns = {"label": label, "id": id, "source": source, "target": target, "edge_type": edge_type}
    options: dict[str, Any] = {name: None if value is None else str(value) for name, value in columns.items()}
    options.update(weight=weight if weight is None or isinstance(weight, (list, tuple)) else str(weight))
    options.update(directed=directed, keep_self_loops=keep_self_loops, allow_unmatched=allow_unmatched)
    options.update(missing=missing, no_ids=no_ids)
    options.update(edge_features=edge_features, split_by=split_by, task=task, sample_weight=sample_weight)
    if nodes is None:
        if label is not None or id is not None or no_ids:
            raise error("label, id and no_ids are about a node table; give nodes=DataFrame beside the edges", "usage")
    else:
        nodes, by_index = _plain_frame(nodes, "nodes", takes_index=not no_ids)
        if by_index and id is None:
            options["id"] = str(nodes.columns[0])
    tables = {name: table for name, table in (("edges", edges), ("nodes", nodes)) if table is not None}
    return _open_tables(cls, tables, lambda paths: {**options, **paths}, model)


def _open_tables(
    cls: type[Dataset], tables: dict[str, Any], options_of: Callable[[dict[str, str]], dict[str, Any]], model: Any
) -> Dataset:
    """Opens frames, which messages call as `tables` does; `options_of` gets their paths by the same names."""
    import tempfile  # slow to import, and rarely needed

    with tempfile.TemporaryDirectory(prefix="l2gcn-") as folder:

        def reword(text: str) -> str:
            return in_python(re.sub(rf"({re.escape(folder)}/\d+/)?\b((edges|nodes)(\['[^']*'\])?)\.csv\b", r"\2", text))

        paths = {}
        for k, (name, table) in enumerate(tables.items()):
            os.mkdir(os.path.join(folder, str(k)))
            file = f"{name}.csv".replace("/", "_")
            paths[name] = _write_table(table, os.path.join(folder, str(k), file), name)
        options = options_of(paths)
        try:
            return cls(_core.open_tables(make_call(reword=reword), options_json(options), handle_of(model)))
        except _core.Error as problem:
            raise error(reword(str(problem)), problem.kind) from None


def from_typed_tables(cls: type[Dataset], /, nodes: Any, edges: Any, model: Any = None, **options: Any) -> Dataset:
    """A data set of several node types from tables by type and by relation: DataFrames, or paths."""
    frames: dict[str, Any] = {}
    places: dict[str, dict[str, Any]] = {"nodes": {}, "edges": {}}
    ids = [options["id"]] if options.get("id") else []
    for kind, given in (("nodes", nodes), ("edges", edges)):
        if not isinstance(given, Mapping):
            raise error(f"{kind}: a {type(given).__name__} given; expected a dict of tables, as the other is", "usage")
        for key, table in given.items():
            name = _hetero.relation_name(key) if kind == "edges" else text_of(key, kind)
            if isinstance(table, (str, os.PathLike)):
                places[kind][name] = path_of(table, kind)
                continue
            what = f"{kind}['{name}']"
            frames[what], by_index = _plain_frame(table, what)
            places[kind][name] = what
            if by_index and kind == "nodes" and not any(one.startswith(f"{name}:") for one in ids):
                ids.append(f"{name}:{frames[what].columns[0]}")
    if ids:
        options["id"] = ",".join(ids)

    def options_of(paths: dict[str, str]) -> dict[str, Any]:
        return {**options, **{kind: {name: paths.get(at, at) for name, at in one.items()} for kind, one in places.items()}}

    return _open_tables(cls, frames, options_of, model)


def to_pandas(self: Dataset, label: str = "label") -> tuple[Any, Any]:
    """(edges, nodes): DataFrames that `from_pandas` reads back; an undirected edge appears once.

    `nodes` has the index "id", a column a feature and the labels' names last (empty where unknown).
    """
    pandas = need("pandas", "tables")
    ids = self.node_ids
    rows, columns = _entry_rows(self), self.indices
    keep = slice(None) if self.directed else rows <= columns
    edges = pandas.DataFrame({"source": ids[rows[keep]], "target": ids[columns[keep]]})
    if self.edge_weight is not None:
        edges["weight"] = self.edge_weight[keep]
    nodes = pandas.DataFrame(
        self.dense_features(), columns=self.feature_names, index=pandas.Index(ids, name="id")
    )
    names = np.array(self.class_names, dtype=object)
    if self.task == "regression":
        targets = self.labels.reshape(self.n_nodes, -1)
        for c, name in enumerate(self.class_names if targets.shape[1] > 1 else [label]):
            nodes[name] = targets[:, c]
    elif self.multilabel:
        known = self.labelled
        nodes[label] = [
            ";".join(names[row.astype(bool)]) if known[i] else None for i, row in enumerate(self.labels)
        ]
    elif self.n_classes:
        nodes[label] = [names[c] if c >= 0 else None for c in self.labels]
    return edges, nodes


# NetworkX


def from_networkx(
    cls: type[Dataset],
    /,
    graph: Any,
    *,
    features: Any = None,
    label: Optional[str] = None,
    y: Any = None,
    weight: Optional[str] = "weight",
    **options: Any,
) -> Dataset:
    """A data set from a NetworkX graph, nodes in the graph's order.

    Parameters
    ----------
    features : array (nodes, columns), or str, or list of str
        Features in the graph's order, or the node attributes that hold them (numbers, or vectors of numbers).
    label : str, optional
        Node attribute with the class, of any kind; nodes without it are unlabelled. In place of `y`.
    weight : str or None
        Edge attribute with weights.
    """
    expect(is_networkx(graph), graph, "a NetworkX graph")
    nodes = list(graph.nodes())
    place = {node: i for i, node in enumerate(nodes)}
    edges = list(graph.edges(data=weight)) if weight else [(a, b, None) for a, b in graph.edges()]
    index = np.array([(place[a], place[b]) for a, b, _ in edges], dtype=np.int64).reshape(-1, 2).T
    pair: Any = np.ascontiguousarray(index)
    if any(w is not None for _, _, w in edges):
        pair = (pair, weight_array([1.0 if w is None else w for _, _, w in edges]))
    if isinstance(features, str):
        features = [features]
    if isinstance(features, list) and features and isinstance(features[0], str):
        features = _attributes(graph, nodes, features)
    if label is not None:
        values = [graph.nodes[node].get(label) for node in nodes]
        names = sorted({str(v) for v in values if v is not None}, key=_by_number)
        options.setdefault("class_names", names)
        number = {name: c for c, name in enumerate(names)}
        y = np.array([-1 if v is None else number[str(v)] for v in values], dtype=np.int32)
    options.setdefault("directed", graph.is_directed())
    numbered = all(isinstance(node, (int, np.integer)) and -(2**63) <= node < 2**63 for node in nodes)
    options.setdefault("node_ids", np.array(nodes, dtype=np.int64) if numbered else [str(n) for n in nodes])
    return cls.from_arrays(features, pair, y, nodes=len(nodes), **options)


def _attributes(graph: Any, nodes: list[Any], names: list[str]) -> np.ndarray:
    """Node attributes side by side, a row a node."""
    for node in nodes:
        for name in names:
            if name not in graph.nodes[node]:
                raise error(f"features: node {node!r} has no attribute {name!r}; expected one of every node")
    rows = [np.concatenate([np.atleast_1d(graph.nodes[node][name]) for name in names]) for node in nodes]
    return as_array(rows, "features")


def _by_number(name: str) -> tuple[int, float, str]:
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)


def to_networkx(self: Dataset, features: str = "x", label: str = "label") -> Any:
    """A NetworkX graph whose nodes are the input's ids, with features, class names and edge weights as attributes."""
    networkx = need("networkx", "NetworkX graphs")
    graph = networkx.DiGraph() if self.directed else networkx.Graph()
    ids = self.node_ids.tolist()
    graph.add_nodes_from(ids)
    if self.n_features:
        dense = self.dense_features()
        for i, node in enumerate(ids):
            graph.nodes[node][features] = dense[i]
    names, known = self.class_names, self.labelled
    for i, node in enumerate(ids):
        if self.n_classes and known[i]:
            row = self.labels[i]
            if self.task == "regression":
                graph.nodes[node][label] = row.tolist()
            else:
                graph.nodes[node][label] = [names[c] for c in np.flatnonzero(row)] if self.multilabel else names[row]
    rows, columns = _entry_rows(self), self.indices
    keep = np.arange(len(columns)) if self.directed else np.flatnonzero(rows <= columns)
    weights = self.edge_weight
    for e in keep:
        extra = {} if weights is None else {"weight": float(weights[e])}
        graph.add_edge(ids[rows[e]], ids[columns[e]], **extra)
    return graph


# PyTorch Geometric


def from_pyg(cls: type[Dataset], /, data: Any, *, split: int = 0, **options: Any) -> Dataset:
    """A data set from a PyG `Data`: x, edge_index, edge_type, edge_weight (or one column of edge_attr), y and the masks.

    `split` is the column of masks that have several. Float32 features are shared, not copied. Of a `HeteroData` the nodes
    are numbered type after type; where several types have y, `label_type` names the one that is predicted.
    """
    if _hetero.is_hetero(data):
        return _hetero.from_hetero_data(cls, data, split, options)
    weights = getattr(data, "edge_weight", None)
    if weights is None:
        attributes = getattr(data, "edge_attr", None)
        if attributes is not None and (len(attributes.shape) == 1 or attributes.shape[1] == 1):
            weights = attributes.reshape(-1)
    expect(is_pyg(data), data, "a PyG Data")
    if data.edge_index is None:
        raise error("edge_index: the Data has none; expected an array of shape (2, edges)")
    edges = as_array(data.edge_index, "edge_index")
    graph: Any = edges if weights is None else (edges, as_array(weights, "edge_weight"))
    masks: dict[str, Any] = {}
    for part in ("train", "val", "test"):
        mask = getattr(data, f"{part}_mask", None)
        if mask is not None:
            mask = as_array(mask, f"{part}_mask")
            masks[part] = mask[:, split] if mask.ndim == 2 else mask
    y = getattr(data, "y", None)
    if y is not None:
        y = as_array(y, "y")
        y = y.astype(np.uint8) if y.ndim == 2 and y.shape[1] > 1 else y.reshape(-1)
    types = getattr(data, "edge_type", None)
    if types is not None:
        options.setdefault("edge_type", as_array(types, "edge_type"))
    options.setdefault("nodes", int(data.num_nodes))
    options.setdefault("name", "pyg")
    x = getattr(data, "x", None)
    if x is not None and getattr(x, "is_sparse", False):
        x = x.to_dense()
    return cls.from_arrays(None if x is None else as_array(x, "x"), graph, y, **masks, **options)


def to_pyg(self: Dataset, split: str = "", seed: int = 0) -> Any:
    """A PyG `Data`: dense x, edge_index of both directions, y, and the masks of a split (none: without masks).

    A data set of several node types becomes a `HeteroData`.
    """
    if self.node_types:
        return _hetero.to_hetero_data(self, split, seed)
    torch = need("torch", "PyG data")
    geometric = need("torch_geometric.data", "PyG data")
    data = geometric.Data(edge_index=torch.from_numpy(self.edge_index), num_nodes=self.n_nodes)
    if self.n_features:
        data.x = torch.from_numpy(np.array(self.dense_features()))
    if self.edge_weight is not None:
        data.edge_weight = torch.from_numpy(np.array(self.edge_weight))
    if self.n_classes:
        data.y = torch.from_numpy(np.array(self.labels, dtype=np.float32 if self.multilabel or self.task == "regression" else np.int64))
    if split or self.splits:
        chosen = self.split(split, seed)
        for part in ("train", "val", "test"):
            data[f"{part}_mask"] = torch.from_numpy(np.array(getattr(chosen, part)))
    return data


# DGL


def from_dgl(
    cls: type[Dataset], /, graph: Any, *, features: str = "feat", label: str = "label", weight: Optional[str] = None, **options: Any
) -> Dataset:
    """A data set from a DGL graph: ndata[features], ndata[label], the masks, and edata[weight].

    Of a heterograph the nodes are numbered type after type; where several types have labels, `label_type` names the one
    that is predicted.
    """
    expect(is_dgl(graph), graph, "a DGL graph")
    if _hetero.is_heterograph(graph):
        return _hetero.from_heterograph(cls, graph, features, label, weight, options)
    source, target = (as_array(end, "edges") for end in graph.edges())
    edges: Any = np.stack([source, target]).astype(np.int64, copy=False)
    if weight is not None:
        edges = (edges, as_array(graph.edata[weight], "weight"))
    nodes = graph.ndata
    masks: dict[str, Any] = {
        part: as_array(nodes[f"{part}_mask"], f"{part}_mask").astype(bool)
        for part in ("train", "val", "test")
        if f"{part}_mask" in nodes
    }
    x = as_array(nodes[features], features) if features in nodes else None
    y = as_array(nodes[label], label) if label in nodes else None
    if y is not None and y.ndim == 2:
        y = y.astype(np.uint8)
    options.setdefault("nodes", int(graph.num_nodes()))
    options.setdefault("name", "dgl")
    return cls.from_arrays(x, edges, y, **masks, **options)


def to_dgl(self: Dataset, split: str = "", seed: int = 0) -> Any:
    """A DGL graph of both directions, with feat, label and the masks of a split as node data.

    A data set of several node types becomes a heterograph.
    """
    if self.node_types:
        return _hetero.to_heterograph(self, split, seed)
    torch = need("torch", "DGL graphs")
    dgl = need("dgl", "DGL graphs")
    edges = self.edge_index
    graph = dgl.graph((torch.from_numpy(edges[0].copy()), torch.from_numpy(edges[1].copy())), num_nodes=self.n_nodes)
    if self.n_features:
        graph.ndata["feat"] = torch.from_numpy(np.array(self.dense_features()))
    if self.n_classes:
        graph.ndata["label"] = torch.from_numpy(
            np.array(self.labels, dtype=np.float32 if self.multilabel or self.task == "regression" else np.int64)
        )
    if self.edge_weight is not None:
        graph.edata["weight"] = torch.from_numpy(np.array(self.edge_weight))
    if split or self.splits:
        chosen = self.split(split, seed)
        for part in ("train", "val", "test"):
            graph.ndata[f"{part}_mask"] = torch.from_numpy(np.array(getattr(chosen, part)))
    return graph


# OGB


def from_ogb(cls: type[Dataset], /, graph: dict[str, Any], labels: Any, split: Optional[dict[str, Any]] = None, **options: Any) -> Dataset:
    """A data set from an OGB `NodePropPredDataset`.

    >>> graph, labels = dataset[0]                                         # doctest: +SKIP
    >>> data = Dataset.from_ogb(graph, labels, dataset.get_idx_split())    # doctest: +SKIP

    `labels` is (nodes, 1) classes, NaN where unknown, or (nodes, tasks) 0/1. `split` has the node numbers of "train",
    "valid" and "test".
    """
    whole_graph = isinstance(graph, Mapping) and "edge_index" in graph and "num_nodes" in graph
    expect(whole_graph, graph, "a dict of edge_index, num_nodes and node_feat")
    y = as_array(labels, "labels")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.dtype.kind == "f":
        y = np.where(np.isnan(y), -1, y).astype(np.int64 if y.ndim == 1 else np.int8)
    parts: dict[str, Any] = {}
    for ours, theirs in (("train", "train"), ("val", "valid"), ("test", "test")):
        if split is not None and theirs in split:
            parts[ours] = as_array(split[theirs], theirs)
    options.setdefault("nodes", int(graph["num_nodes"]))
    options.setdefault("name", "ogb")
    return cls.from_arrays(graph.get("node_feat"), as_array(graph["edge_index"], "edge_index"), y, **parts, **options)


# Any object


class Kind(NamedTuple):
    """A kind of object that `load_dataset` takes."""

    what: str
    fits: Callable[[Any], bool]
    maker: str  # the class method of Dataset


KINDS = (
    Kind("a DataFrame or Arrow table of edges, and a second one of nodes", is_table, "from_pandas"),
    Kind("a NetworkX graph", is_networkx, "from_networkx"),
    Kind("a PyG Data or HeteroData", lambda value: is_pyg(value) or _hetero.is_hetero(value), "from_pyg"),
    Kind("a DGL graph", is_dgl, "from_dgl"),
    Kind("a scipy adjacency matrix, X and y", is_sparse, "from_scipy"),
    Kind("an array of features, graph and y", is_array, "from_arrays"),
    Kind("a dict of these arguments (X, graph, y …), or of a Data's (x, edge_index, y …)", lambda value: isinstance(value, Mapping), "from_arrays"),
)


def describe_kinds(indent: str) -> str:
    """The kinds as lines of a docstring."""
    return "\n".join(f"{indent}- {kind.what}: `Dataset.{kind.maker}`" for kind in KINDS)


def is_graph(value: Any) -> bool:
    """Whether this is a graph with what belongs to it, rather than features or a table."""
    return is_networkx(value) or is_pyg(value) or is_dgl(value) or _hetero.is_hetero(value)


def known_arguments(maker: Callable[..., Dataset], given: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments, all of which the class method takes; else an error that names the nearest."""
    parameters = dict(inspect.signature(maker).parameters)
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        parameters.update(inspect.signature(getattr(maker, "__self__").from_arrays).parameters)
    for name in given:
        if name not in parameters:
            raise unknown(name, parameters, f"argument of {maker.__name__}")
    return given


def from_object(cls: type[Dataset], value: Any, more: tuple[Any, ...], options: dict[str, Any]) -> Dataset:
    """A data set from an object of any of the KINDS."""
    kind = next((one for one in KINDS if one.fits(value)), None)
    if kind is None:
        expected = "; ".join(one.what for one in KINDS)
        raise error(f"data: a {type(value).__name__} given; expected a Dataset; a name or a path; {expected}", "usage")
    maker = getattr(cls, kind.maker)
    if isinstance(value, Mapping):
        return _from_mapping(cls, {str(name): one for name, one in value.items()}, options)
    places = [one for one in inspect.signature(maker).parameters.values() if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    if len(more) >= len(places):
        raise error(f"{kind.maker}: {1 + len(more)} arrays or tables given; expected at most {len(places)}", "usage")
    both = [one.name for one in places[: 1 + len(more)] if one.name in options]
    if both:
        raise error(f"{kind.maker}: {both[0]} is given twice", "usage")
    return maker(value, *more, **known_arguments(maker, options))


def _from_mapping(cls: type[Dataset], given: dict[str, Any], options: dict[str, Any]) -> Dataset:
    if is_table(given.get("edges")):
        return cls.from_pandas(**known_arguments(cls.from_pandas, {**given, **options}))
    if "edge_index" not in given:
        return cls.from_arrays(**known_arguments(cls.from_arrays, {**given, **options}))
    attributes = ("x", "edge_index", "edge_weight", "edge_attr", "y", "train_mask", "val_mask", "test_mask", "num_nodes")
    for name in given:
        if name not in attributes:
            raise unknown(name, attributes, "attribute of a Data")
    if given.get("num_nodes") is None:
        rows = next((given[name] for name in ("x", "y") if given.get(name) is not None), None)
        if rows is None:
            raise error("num_nodes: how many nodes? Give it, x or y beside edge_index")
        given["num_nodes"] = len(as_array(rows, "x or y"))
    return cls.from_pyg(SimpleNamespace(**given), **known_arguments(cls.from_pyg, options))

"""Data sets: a graph, features, labels and splits, in the library's memory or shared with NumPy's."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional

import numpy as np

from . import _core, _interop
from ._arrays import as_array, class_arrays, edge_type_arrays, feature_arrays, feature_names, graph_arrays, is_missing, is_table, label_array, roles_of, weight_array
from ._call import ONE_THREAD, make_call
from ._html import counted, table
from ._ranks import by_rank_0
from ._settings import (
    error,
    flag,
    machine_settings,
    open_options,
    options_and_machine,
    options_json,
    path_of,
    text_of,
    whole,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._parameters import OpenOptions


class Split(NamedTuple):
    """Which nodes train, validate and test: a boolean mask each, and the split's name."""

    name: str
    train: np.ndarray
    val: np.ndarray
    test: np.ndarray


class Dataset:
    """A graph with features, labels and splits.

    Made by `load_dataset`, by `Dataset.from_arrays`, or from another library's objects (`from_scipy`, `from_pandas`,
    `from_networkx`, `from_pyg`, `from_dgl`, `from_ogb`). A data set does not change; arrays it hands out are read-only
    views of its memory and stay valid after it is gone.

    >>> import numpy as np
    >>> data = Dataset.from_arrays(np.eye(3, dtype="float32"), graph=[[0, 1], [1, 2]], y=[0, 1, 1])
    >>> data
    Dataset('arrays', 3 nodes, 2 edges, 3 features, 2 classes)
    """

    def __init__(self, handle: _core.Dataset) -> None:
        self._handle = handle

    # From arrays

    @classmethod
    def from_arrays(
        cls,
        X: Any = None,
        graph: Any = None,
        y: Any = None,
        *,
        train: Any = None,
        val: Any = None,
        test: Any = None,
        nodes: Optional[int] = None,
        edge_type: Any = None,
        directed: bool = False,
        keep_self_loops: bool = False,
        class_names: Optional[list[str]] = None,
        node_ids: Any = None,
        name: str = "arrays",
        preset_row: str = "",
        task: str = "",
        sample_weight: Any = None,
    ) -> Dataset:
        """A data set from arrays the caller holds.

        Parameters
        ----------
        X : array (nodes, columns), scipy.sparse matrix, DataFrame or None
            Features. A float32 (or float16) array in C order is shared, not copied: do not change it while the data
            set lives. So are the values of a float32 CSR matrix. Without features, training makes some from the graph.
        graph : scipy.sparse matrix, array (2, edges), dense square matrix, NetworkX graph, Dataset or None
            Edges. A symmetric CSR matrix with sorted rows is shared, not copied. Weights are read from a matrix whose
            values are not all 1, from the attribute "weight" of a NetworkX graph, or given as (edge_index, weights).
        y : array (nodes,) or (nodes, labels), optional
            Class of each node: a number from 0 on, or a word. −1, NaN, None and masked elements are unlabelled. Or a matrix of 0
            and 1, with −1 or NaN in the rows of unlabelled nodes. Or floats that are not whole, (nodes,) or (nodes, targets): the
            targets of a regression, NaN where one is missing.
        task : "", "classification" or "regression"
            What y holds; "": by its values.
        sample_weight : array (nodes,), optional
            By what nodes count in the loss of a regression; above 0.
        train, val, test : mask or node numbers, optional
            The split. Where none is given, training draws one (setting `split`).
        edge_type : array (edges,), optional
            Type of each edge of an edge index or CSR matrix, a number or a word: one relation for each.
        directed, keep_self_loops : bool
            Two relations, in- and out-neighbours; self loops kept. By default edges are made symmetric and self loops dropped.
        class_names, node_ids : optional
            What classes and nodes are called outside.
        """
        arrays = feature_arrays(X)
        rows = _row_count(arrays)
        arrays.update(graph_arrays(graph, rows))
        arrays.update(edge_type_arrays(edge_type))
        arrays.update(label_arrays(y, task=task))
        if sample_weight is not None:
            arrays["node_weights"] = weight_array(sample_weight)
        if nodes is not None:
            arrays["nodes"] = whole(nodes, "nodes", 1)
        count = rows if rows is not None else arrays.get("nodes")
        if count is None and y is not None:
            count = arrays["nodes"] = next(len(arrays[key]) for key in ("classes_of", "label_matrix", "targets") if key in arrays)
        if count is None:
            raise error(f"{name}: how many nodes? Give X, y or nodes beside an edge index")
        parts = {"train": train, "val": val, "test": test}
        if any(part is not None for part in parts.values()):
            arrays["roles"] = roles_of(parts, count)
        arrays.update(_id_arrays(node_ids))
        arrays.update(name=text_of(name, "name"), preset_row=text_of(preset_row, "preset_row"))
        arrays.update(directed=flag(directed, "directed"), keep_self_loops=flag(keep_self_loops, "keep_self_loops"))
        if class_names is not None:
            if isinstance(class_names, str) or not hasattr(class_names, "__iter__"):
                raise error(f"class_names: {class_names!r} given; expected a list of names", "usage")
            arrays["class_names"] = [text_of(one, "class_names") for one in class_names]
        made = cls(_core.make_dataset(make_call(), arrays))
        names = feature_names(X)
        return made if names is None else made._with_feature_names(list(names))

    from_scipy = classmethod(_interop.from_scipy)
    from_pandas = classmethod(_interop.from_pandas)
    from_networkx = classmethod(_interop.from_networkx)
    from_pyg = classmethod(_interop.from_pyg)
    from_dgl = classmethod(_interop.from_dgl)
    from_ogb = classmethod(_interop.from_ogb)
    to_scipy = _interop.to_scipy
    to_pandas = _interop.to_pandas
    to_networkx = _interop.to_networkx
    to_pyg = _interop.to_pyg
    to_dgl = _interop.to_dgl

    # Content

    @property
    def name(self) -> str:
        """The display name."""
        return self._handle.name

    @property
    def format(self) -> str:
        """Where it came from: "planetoid", "native", "synthetic", "memory", …"""
        return self._handle.format

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self._handle.nodes

    @property
    def n_edges(self) -> int:
        """Undirected simple edges without self loops."""
        return self._handle.edges

    @property
    def n_features(self) -> int:
        """Columns of the features."""
        return self._handle.columns

    @property
    def n_classes(self) -> int:
        """Classes, or labels of a multi-label set."""
        return self._handle.classes

    @property
    def multilabel(self) -> bool:
        """Whether a node has a set of labels."""
        return self._handle.multilabel

    @property
    def task(self) -> str:
        """What the labels are for: "classification" or "regression"."""
        return "regression" if self._handle.regression else "classification"

    @property
    def relations(self) -> dict[str, int]:
        """Entries of each relation, by name; empty where all edges are of one kind."""
        return {name: len(indices) for name, _, _, indices, _ in self._handle.relations}

    @property
    def directed(self) -> bool:
        """Whether the graph itself is directed. Directions that were kept are the relations "in" and "out"."""
        return self._handle.directed

    @property
    def is_sparse(self) -> bool:
        """Whether the features are stored sparse."""
        return self._handle.sparse_features is not None

    @property
    def features(self) -> Any:
        """Features as they are stored: an array (nodes, columns), or a scipy CSR matrix of sparse ones."""
        sparse = self._handle.sparse_features
        if sparse is None:
            stored = self._handle.features
            kind = self._handle.feature_type
            if kind == "f16":
                return stored.view(np.float16)
            if kind == "bf16":
                return (stored.astype(np.uint32) << 16).view(np.float32)
            return stored
        scipy_sparse = _interop.need("scipy.sparse", "sparse features")
        indptr, indices, values = sparse
        # scipy takes signed indices; numbers of nodes and columns fit them.
        parts = (values, indices.view(np.int32), indptr.view(np.int64))
        return scipy_sparse.csr_matrix(parts, shape=(self.n_nodes, self.n_features), copy=False)

    def dense_features(self) -> np.ndarray:
        """Features as a dense float32 array (nodes, columns); a copy unless they are stored so."""
        sparse = self._handle.sparse_features
        if sparse is None:
            return np.asarray(self.features, dtype=np.float32)
        indptr, indices, values = sparse
        dense = np.zeros((self.n_nodes, self.n_features), dtype=np.float32)
        rows = np.repeat(np.arange(self.n_nodes), np.diff(indptr.view(np.int64)))
        dense[rows, indices.view(np.int32)] = values
        return dense

    @property
    def labels(self) -> np.ndarray:
        """Class of each node (nodes,), −1 where unknown; or (nodes, labels) 0/1. Targets of a regression are float32, NaN where
        missing: (nodes,), or (nodes, targets) of several."""
        labels: np.ndarray = self._handle.labels
        return labels[:, 0] if self._handle.regression and labels.shape[1] == 1 else labels

    @property
    def labelled(self) -> np.ndarray:
        """Mask of the nodes whose labels are known."""
        if self._handle.regression:
            return np.asarray(~np.isnan(self._handle.labels).all(axis=1))
        if not self.multilabel:
            return np.asarray(self.labels >= 0)
        known = self._handle.labelled
        return np.ones(self.n_nodes, dtype=bool) if known is None else known.astype(bool)

    @property
    def class_names(self) -> list[str]:
        """Names of the classes; their numbers where they have none."""
        return self._handle.class_names or [str(c) for c in range(self.n_classes)]

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns; their numbers where they have none."""
        names = []
        for column in self._handle.schema:
            if column["category"]:
                names += [f"{column['name']}={level}" for level in column["levels"]]
            else:
                names.append(column["name"])
            if column["marks_missing"]:
                names.append(f"{column['name']} missing")
        return names or [str(c) for c in range(self.n_features)]

    @property
    def node_ids(self) -> np.ndarray:
        """Ids of the nodes as in the input: numbers, or strings as objects."""
        names = self._handle.node_names
        if names:
            return np.array(names, dtype=object)
        ids = self._handle.node_ids
        return np.arange(self.n_nodes) if ids is None else ids

    @property
    def indptr(self) -> np.ndarray:
        """Row offsets of the graph (nodes + 1)."""
        return self._handle.indptr

    @property
    def indices(self) -> np.ndarray:
        """Neighbours, row by row; an undirected edge is in both rows."""
        return self._handle.indices

    @property
    def edge_weight(self) -> Optional[np.ndarray]:
        """A weight for each entry of `indices`, or None if every weight is 1."""
        return self._handle.weights

    @property
    def edge_index(self) -> np.ndarray:
        """The graph as (2, entries) int64, both directions of an undirected edge; a new array."""
        edges = np.empty((2, len(self.indices)), dtype=np.int64)
        degrees: Any = np.diff(self.indptr.view(np.int64))
        edges[0] = np.repeat(np.arange(self.n_nodes), degrees)
        edges[1] = self.indices
        return edges

    @property
    def node_types(self) -> dict[str, slice]:
        """The nodes of each type, where there are several; empty: nodes are of one type.

        >>> data.labels[data.node_types["user"]]    # doctest: +SKIP
        """
        types, first = {}, 0
        for name, count, _ in self._handle.node_types:
            types[name] = slice(first, first + count)
            first += count
        return types

    @property
    def labelled_types(self) -> list[str]:
        """The node types that have labels and are predicted."""
        return [name for name, _, labelled in self._handle.node_types if labelled]

    @property
    def splits(self) -> dict[str, Split]:
        """The splits that come with it, the default one first."""
        return {name: _masks(name, roles) for name, roles in self._handle.splits}

    def split(self, name: str = "", seed: int = 0) -> Split:
        """A split by name, or a drawn one: "paper", "public", "random:0.6,0.2,0.2", "file", …

        The default is the one that a training takes if nobody names one.
        """
        drawn = whole(seed, "seed", 0, 2**64 - 1)
        return _masks(*_core.resolve_split(make_call(ONE_THREAD), self._handle, text_of(name or "", "split"), drawn))

    def with_split(self, train: Any, val: Any = None, test: Any = None, name: str = "given") -> Dataset:
        """This data set with a split of the caller's, each part a mask or node numbers, as its only one."""
        roles = roles_of({"train": train, "val": val, "test": test}, self.n_nodes)
        return Dataset(_core.with_splits(make_call(ONE_THREAD), self._handle, [(name, roles)]))

    def describe(self) -> dict[str, Any]:
        """The counts that the program's info prints."""
        return dict(json.loads(self._handle.description_json))

    def save(self, directory: str | os.PathLike[str], force: bool = False) -> None:
        """Writes the native directory, which `load_dataset` maps in milliseconds."""
        by_rank_0(lambda: _core.save_dataset(make_call(), self._handle, path_of(directory, "directory"), flag(force, "force")))

    def __repr__(self) -> str:
        kind = "targets" if self._handle.regression else "labels" if self.multilabel else "classes"
        return (
            f"Dataset({self.name!r}, {self.n_nodes} nodes, {self.n_edges} edges, {self.n_features} features, "
            f"{self.n_classes} {kind})"
        )

    def _repr_html_(self) -> str:
        kind = "targets" if self._handle.regression else "labels" if self.multilabel else "classes"
        rows: list[tuple[str, Any]] = [("nodes", self.n_nodes), ("edges", self.n_edges), ("features", self.n_features)]
        rows.append((kind, counted(self.n_classes, self._handle.class_names)))
        if self.n_classes:
            rows.append(("labelled nodes", int(self.labelled.sum())))
        for split in self.splits.values():
            rows.append((f"split {split.name}", f"{split.train.sum():,} train, {split.val.sum():,} val, {split.test.sum():,} test"))
        return table(f"Dataset {self.name}", rows)

    # A data set is immutable, so a copy is the object itself.

    def __copy__(self) -> Dataset:
        return self

    def __deepcopy__(self, memo: Any) -> Dataset:
        return self

    def __reduce__(self) -> Any:
        handle = self._handle
        state = {
            "name": handle.name,
            "preset_row": handle.preset_row,
            "nodes": handle.nodes,
            "directed": handle.directed,
            "relations": handle.relations,
            "keep_self_loops": handle.self_loops > 0,
            "classes": handle.classes,
            "class_names": handle.class_names,
            "node_names": handle.node_names,
            "node_ids": handle.node_ids,
            **self._graph_arrays(),
            **stored_features(self),
            **_stored_labels(handle),
        }
        return _restore, (state, handle.splits, handle.schema, handle.label_column, handle.node_types)

    def _graph_arrays(self) -> dict[str, Any]:
        arrays = {"nodes": self.n_nodes, "indptr": self.indptr, "indices": self.indices}
        if self.edge_weight is not None:
            arrays["weights"] = self.edge_weight
        return arrays

    def _with_feature_names(self, names: list[str]) -> Dataset:
        plain = {"category": False, "levels": [], "marks_missing": False, "missing": 0, "fill": 0.0}
        columns = [{"name": name, **plain} for name in names]
        return Dataset(_core.with_schema(self._handle, columns, ""))


def _restore(state: dict[str, Any], splits: Any, schema: Any, label: str, node_types: Any = ()) -> Dataset:
    """The data set of a pickle."""
    call = make_call()
    if "recipe" in state:  # the name of preset_row in pickles of earlier versions
        state["preset_row"] = state.pop("recipe")
    relations = state.pop("relations", [])
    handle = _core.make_dataset(call, {**state, "one_way": True})
    if relations:
        handle = _core.with_relations(call, handle, relations)
    if splits:
        handle = _core.with_splits(call, handle, splits)
    if schema:
        handle = _core.with_schema(handle, schema, label)
    if node_types:
        handle = _core.with_node_types(call, handle, node_types)
    return Dataset(handle)


def stored_features(data: Dataset) -> dict[str, Any]:
    """Features as arguments of make_dataset."""
    sparse = data._handle.sparse_features
    if sparse is None:
        return {"features": data.features} if data.n_features else {}
    indptr, indices, values = sparse
    return {
        "feature_indptr": indptr.view(np.int64),
        "feature_indices": indices.view(np.int32),
        "feature_values": values,
        "feature_columns": data.n_features,
    }


def _row_count(arrays: dict[str, Any]) -> Optional[int]:
    if "features" in arrays:
        return int(arrays["features"].shape[0])
    if "feature_indptr" in arrays:
        return len(arrays["feature_indptr"]) - 1
    return None


def _stored_labels(handle: Any) -> dict[str, Any]:
    if not handle.regression:
        return label_arrays(handle.labels if handle.classes else None, handle.labelled)
    weights = handle.node_weights
    return {"targets": handle.labels, **({} if weights is None else {"node_weights": weights})}


def _are_targets(array: np.ndarray) -> bool:
    """Whether floats are no classes: one is not whole, or in a matrix one is neither 0, 1 nor −1."""
    if array.dtype.kind != "f" or array.ndim not in (1, 2):
        return False
    known = array[np.isfinite(array)]
    return bool((known != np.floor(known)).any() if array.ndim == 1 else not np.isin(known, (-1, 0, 1)).all())


def target_arrays(array: np.ndarray) -> dict[str, Any]:
    """Targets of a regression, (nodes,) or (nodes, targets), as the library takes them."""
    if array.dtype.kind == "O":
        array = np.array([np.nan if is_missing(one) else one for one in array.reshape(-1).tolist()], dtype=object).reshape(array.shape)
    try:
        with np.errstate(over="ignore"):
            numbers = np.array(array, dtype=np.float32)
    except (TypeError, ValueError):
        raise error("y: targets of a regression must be numbers, and NaN where one is missing") from None
    if numbers.ndim not in (1, 2):
        raise error(f"y: an array of {numbers.ndim} dimensions; expected 1, a target a node, or 2, several")
    return {"targets": np.ascontiguousarray(numbers.reshape(len(numbers), -1))}


def label_arrays(y: Any, labelled: Any = None, task: str = "") -> dict[str, Any]:
    if y is None:
        return {}
    if task not in ("", "classification", "regression"):
        raise error(f"task: {task!r} given; expected classification or regression", "usage")
    array = label_array(y)
    if task == "regression" or (not task and _are_targets(array)):
        return target_arrays(array)
    if array.ndim == 1:
        classes, names = class_arrays(array)
        return {"classes_of": classes, **({} if names is None else {"class_names": names})}
    if array.ndim != 2:
        raise error(f"y: an array of {array.ndim} dimensions; expected 1, a class a node, or 2, 0 or 1 a label")
    if array.dtype.kind not in "biuf":
        raise error(f"y: a matrix of type {array.dtype}; expected 0 or 1 a label, and −1 or NaN in the rows of unlabelled nodes")
    known = ~((array < 0) | np.not_equal(array, array)).any(axis=1)
    if not np.isin(array[known], (0, 1)).all():
        raise error("y: a matrix of labels holds more than 0 and 1, and −1 or NaN in the rows of unlabelled nodes")
    if not known.all():
        labelled = known
        array = np.where(known[:, None], array, 0)
    arrays: dict[str, Any] = {"label_matrix": np.ascontiguousarray(array, dtype=np.uint8)}
    if labelled is not None:
        arrays["labelled"] = np.ascontiguousarray(labelled, dtype=np.uint8)
    return arrays


def _id_arrays(ids: Any) -> dict[str, Any]:
    if ids is None:
        return {}
    array = as_array(ids, "node_ids")
    if array.ndim != 1:
        raise error(f"node_ids: an array of {array.ndim} dimensions; expected 1, an id a node")
    if array.dtype.kind == "i" or (array.dtype.kind == "u" and not (array > np.iinfo(np.int64).max).any()):
        return {"node_ids": np.ascontiguousarray(array, dtype=np.int64)}
    return {"node_names": [text_of(one, "node_ids") for one in array.tolist()]}


def _masks(name: str, roles: Optional[np.ndarray]) -> Split:
    if roles is None:
        roles = np.zeros(0, dtype=np.uint8)
    return Split(name, roles == 1, roles == 2, roles == 3)


def open_spec(spec: str, options: str, machine: Any = (), model: Any = None) -> Dataset:
    """Opens a path or name; `options` as JSON."""
    return Dataset(_core.open_dataset(make_call(machine), spec, options, _interop.handle_of(model)))


def load_dataset(spec: Any = "", *more: Any, model: Any = None, **options: Any) -> Dataset:
    if isinstance(spec, Dataset) and not more and not options:
        return spec
    if not isinstance(spec, (str, bytes, os.PathLike)):
        return _interop.from_object(Dataset, spec, more, {**options, **({} if model is None else {"model": model})})
    tables = [one for kind in ("nodes", "edges") if isinstance(options.get(kind), Mapping) for one in options[kind].values()]
    if any(is_table(one) for one in tables) and not os.fspath(spec):
        return _interop.from_typed_tables(Dataset, options.pop("nodes", None), options.pop("edges", None), model, **options)
    options = _interop.parquet_tables(options)
    if is_table(options.get("edges")) and not os.fspath(spec):
        return Dataset.from_pandas(*more, model=model, **_interop.known_arguments(Dataset.from_pandas, options))
    if more:
        raise error(f"load_dataset: {len(more)} more argument(s) after {os.fspath(spec)!r}; a name or path takes keywords alone", "usage")
    text, machine = options_and_machine(options)
    return open_spec(path_of(spec, "data"), text, machine, model)


load_dataset.__doc__ = f"""Opens a data set: a name, a path, tables, arrays, or another library's graph.

Parameters
----------
spec : str, path, or object
    A path, a known name ("cora"), or "synthetic:SHAPE"; "" is the demo graph. Formats are listed in docs/reference/formats.md.
    Or an object, which goes to the class method of `Dataset` that takes it, with the other arguments:

{_interop.describe_kinds("    ")}
model : Model, optional
    The model that will predict on a node table. Its id column is found by name, so `id` need not be given again. So is the
    label column, which may be missing. The model's feature columns become features whatever they hold.
**options
    How a name or path is opened, as on the command line: {", ".join(f"{k}={v!r}" for k, v in open_options().items())}.
    `edges`, `nodes`, `features` and `labels` name tables in place of a spec (docs/reference/tables.md). `edges` and `nodes` may
    also be DataFrames, Arrow tables, or Parquet files where polars or pyarrow is installed. Of several node types
    `nodes` and `edges` are dicts of paths or DataFrames: ``nodes={{"user": users, "item": items}},
    edges={{("user", "bought", "item"): bought}}, label="user:churn"``.
    And what to open it with: {", ".join(row.name for row in machine_settings())}, as for `train`.

>>> load_dataset("synthetic:cora")
Dataset('synthetic:cora', 2708 nodes, 5278 edges, 1433 features, 7 classes)
>>> load_dataset({{"X": np.eye(3), "graph": [[0, 1], [1, 2]], "y": [0, 1, -1]}})
Dataset('arrays', 3 nodes, 2 edges, 3 features, 2 classes)
"""


def list_datasets(**options: Unpack[OpenOptions]) -> list[dict[str, str]]:
    """Known names, and where each was found: dicts of name, description, found_at ("" if it is not here), format."""
    return list(_core.known_datasets(options_json(options)))

"""Converts arrays of every kind for the library, without a copy where type and layout allow.

Nothing but NumPy is imported here: a scipy matrix, a DataFrame, a torch tensor or a NetworkX graph is recognised by
what it can do, and its own library is in memory already if the caller has one.
"""

from __future__ import annotations

import sys
from typing import Any, Optional

import numpy as np

from . import _core
from ._settings import error


def is_sparse(value: Any) -> bool:
    """Whether this is one of scipy's sparse matrices or arrays."""
    return hasattr(value, "tocsr") and hasattr(value, "nnz")


def is_networkx(value: Any) -> bool:
    """Whether this is a NetworkX graph."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(value, networkx.Graph)


def is_frame(value: Any) -> bool:
    """Whether this is a DataFrame: named columns over an array."""
    return hasattr(value, "to_numpy") and hasattr(value, "columns")


def is_table(value: Any) -> bool:
    """Whether this is a DataFrame, or becomes one: polars' LazyFrame, whatever hands out an Arrow table."""
    if is_frame(value) or hasattr(value, "collect_schema"):
        return True
    return hasattr(value, "__arrow_c_stream__") and len(getattr(value, "shape", (0, 0))) == 2  # no Series


def is_pyg(value: Any) -> bool:
    """Whether this is a PyG `Data`, or something like it."""
    return hasattr(value, "edge_index") and hasattr(value, "num_nodes")


def is_dgl(value: Any) -> bool:
    """Whether this is a DGL graph, or something like it."""
    return hasattr(value, "ndata") and hasattr(value, "edata")


def is_array(value: Any) -> bool:
    """Whether this is an array or tensor: something NumPy reads without a visit to each element."""
    return hasattr(value, "__array__") or hasattr(value, "detach") or hasattr(value, "__array_interface__")


def is_missing(value: Any) -> bool:
    """Whether this is a missing value: None, NaN, NaT, or the NA of pandas."""
    if value is None or type(value).__name__ == "NAType":
        return True
    unequal = value != value
    return isinstance(unequal, (bool, np.bool_)) and bool(unequal)


def missing_in(values: np.ndarray) -> np.ndarray:
    """Which elements of an array of objects are missing."""
    return np.asarray(np.frompyfunc(is_missing, 1, 1)(values), dtype=bool)


def _read(value: Any, what: str) -> np.ndarray:
    """Like `as_array`, but keeps masked arrays."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.to_dense() if getattr(value, "is_sparse", False) else value
    if is_sparse(value):
        raise error(f"{what}: a sparse matrix of shape {tuple(value.shape)}; expected a dense array")
    try:
        return np.asanyarray(value)
    except (ValueError, TypeError, RuntimeError, OverflowError) as problem:
        raise error(f"{what}: cannot be read as an array: {problem}") from None


def as_array(value: Any, what: str) -> np.ndarray:
    """Any array-like, tensors included, as a NumPy array that shares its memory where it can. A masked element is an error:
    the value below a mask must not count."""
    array = _read(value, what)
    if isinstance(array, np.ma.MaskedArray) and np.ma.getmaskarray(array).any():
        places = np.argwhere(np.ma.getmaskarray(array))
        first = ", ".join(str(i) for i in places[0])
        raise error(f"{what}: {len(places)} masked values, the first at [{first}]; fill them in, as filled() does")
    return np.asarray(array)


def label_array(value: Any) -> np.ndarray:
    """Labels as an array. Where it is masked, they are unlabelled: −1, or None among other objects and words."""
    array = _read(value.to_numpy() if hasattr(value, "to_numpy") else value, "y")
    if isinstance(array, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(array)
        plain = np.asarray(array)
        if plain.dtype.kind in "bu":
            plain = plain.astype(np.int64)
        elif plain.dtype.kind not in "if":
            plain = plain.astype(object)
        nothing: Any = None if plain.dtype.kind == "O" else -1
        array = np.where(mask, nothing, plain)
    return np.asarray(array)


def feature_names(features: Any) -> Optional[np.ndarray]:
    """Column names of a DataFrame whose columns all have one, else None."""
    if not is_frame(features):
        return None
    names = list(features.columns)
    kinds = {isinstance(name, str) for name in names}
    if kinds == {True}:
        return np.asarray(names, dtype=object)
    if len(kinds) > 1:
        raise FeatureTypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            "some that are not; use X.columns = X.columns.astype(str) if you want them all to be"
        )
    return None


def feature_arrays(features: Any) -> dict[str, Any]:
    """Features (nodes × columns), dense or sparse, as arguments of make_dataset."""
    if features is None:
        return {}
    if is_sparse(features):
        return _sparse_features(features)
    if is_frame(features):
        features = _frame_values(features)
    array = as_array(features, "features")
    if array.ndim != 2:
        raise error(
            f"features: an array of {array.ndim} dimensions; expected 2, a row a node. Reshape your data with "
            "X.reshape(-1, 1) if it has one feature, or X.reshape(1, -1) if it is one node"
        )
    if array.dtype.kind == "c":
        raise error("Complex data not supported: features of complex numbers; expected real ones")
    if array.dtype.kind in "OSU":
        try:
            array = array.astype(np.float32)
        except TypeError as problem:
            raise FeatureTypeError(f"features: {problem}; expected numbers") from None
        except (ValueError, OverflowError) as problem:
            raise error(f"features: {problem}; expected numbers") from None
    if array.dtype.kind not in "fiub":
        raise error(f"features: elements of type {array.dtype}; expected numbers")
    if array.dtype not in (np.float32, np.float16):
        try:
            with np.errstate(over="raise"):
                array = array.astype(np.float32)
        except FloatingPointError:
            raise error(f"features: the largest, {np.nanmax(np.abs(array)):g}, does not fit 32 bits; scale the column") from None
    return {"features": np.require(array, requirements=["C", "A"])}


class FeatureTypeError(_core.Error, TypeError):
    """The error for features that are not numbers. It is also a TypeError, as scikit-learn expects of estimators."""

    kind = "input"


def _frame_values(frame: Any) -> np.ndarray:
    """The values of a DataFrame; missing ones of nullable columns are NaN."""
    values = np.asarray(frame.to_numpy())
    return values if values.dtype.kind != "O" else np.where(missing_in(values), np.nan, values)


def _sparse_features(features: Any) -> dict[str, Any]:
    if len(features.shape) != 2:
        raise error(f"features: a sparse array of {len(features.shape)} dimensions; expected 2, a row a node")
    matrix = features.tocsr()
    if matrix.dtype.kind == "c":
        raise error("Complex data not supported: features of complex numbers; expected real ones")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return {
        "feature_indptr": np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        "feature_indices": np.ascontiguousarray(matrix.indices, dtype=np.int32),
        "feature_values": np.ascontiguousarray(matrix.data, dtype=np.float32),
        "feature_columns": matrix.shape[1],
    }


def class_arrays(array: np.ndarray) -> tuple[np.ndarray, Optional[list[str]]]:
    """(class of each node, −1 where unknown; names of the classes or None) of one label a node: whole numbers, or words."""
    if array.dtype.kind == "O":
        unknown = missing_in(array)
    else:
        unknown = np.isnan(array) if array.dtype.kind == "f" else np.zeros(len(array), dtype=bool)
    known = array[~unknown]
    if array.dtype.kind in "OUS" and all(isinstance(one, (str, bytes)) for one in known.tolist()):
        names, numbers = np.unique(known.astype(str), return_inverse=True)
        classes = np.full(len(array), -1, dtype=np.int64)
        classes[~unknown] = numbers.reshape(-1)
        return classes, [str(name) for name in names]
    if array.dtype.kind == "O" and all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in known.tolist()):
        return index_array(np.where(unknown, -1, array).tolist(), "y"), None
    if array.dtype.kind == "f" and (np.abs(known) < 2**31).all() and (known == np.floor(known)).all():
        return np.where(unknown, -1, array).astype(np.int64), None
    return index_array(array, "y", "whole numbers or words, and −1 or NaN where there is none"), None


def index_array(value: Any, what: str, expected: str = "whole numbers") -> np.ndarray:
    """Whole numbers of 32 or 64 bits, concatenated."""
    array = as_array(value, what)
    if array.dtype.kind == "b" or array.dtype.kind not in "iu":
        if array.size:
            raise error(f"{what}: elements of type {array.dtype}; expected {expected}")
        array = array.astype(np.int64)
    if array.dtype.itemsize < 4:
        array = array.astype(np.int32)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))


def graph_arrays(graph: Any, nodes: Optional[int] = None) -> dict[str, Any]:
    """A graph in any of the forms that fit() and Dataset take, as arguments of make_dataset."""
    if graph is None:
        return {}
    if hasattr(graph, "_graph_arrays"):
        arrays: dict[str, Any] = graph._graph_arrays()
    elif is_sparse(graph):
        arrays = _adjacency_arrays(graph)
    elif is_networkx(graph):
        arrays = _networkx_arrays(graph)
    else:
        arrays = _edge_arrays(graph)
    if nodes is not None and arrays.get("nodes", nodes) != nodes:
        raise error(f"X has {nodes} rows, but the graph has {arrays['nodes']} nodes; expected one row a node")
    return arrays


def edge_type_arrays(types: Any) -> dict[str, Any]:
    """Types of edges as numbers, and their names where they are words."""
    if types is None:
        return {}
    array = as_array(types, "edge_type").reshape(-1)
    if array.dtype.kind in "iub":
        return {"edge_type": index_array(array.astype(np.int64), "edge_type")}
    if array.dtype.kind not in "OUST":
        raise error(f"edge_type: elements of type {array.dtype}; expected whole numbers or words")
    names, numbers = np.unique(array.astype(str), return_inverse=True)
    return {"edge_type": np.ascontiguousarray(numbers.reshape(-1), dtype=np.int64), "edge_type_names": names.tolist()}


def _adjacency_arrays(graph: Any) -> dict[str, Any]:
    if len(graph.shape) != 2 or graph.shape[0] != graph.shape[1]:
        raise error(f"graph: an adjacency matrix of {' × '.join(map(str, graph.shape))}; expected as many columns as rows")
    matrix = graph.tocsr()
    arrays = {"nodes": matrix.shape[0], "indptr": matrix.indptr, "indices": matrix.indices}
    if matrix.dtype.kind != "b" and not _all_one(matrix.data):
        arrays["weights"] = weight_array(matrix.data)
    return arrays


def weight_array(values: Any) -> np.ndarray:
    """Weights of edges as float32, concatenated."""
    array = as_array(values, "weights")
    if array.dtype.kind not in "biuf":
        raise error(f"weights: elements of type {array.dtype}; expected numbers")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array.reshape(-1), dtype=np.float32)


def _all_one(values: np.ndarray) -> bool:
    """Whether every weight is 1, by blocks, so that no array as long as the edges is allocated."""
    block = 1 << 20
    return all(bool((values[i : i + block] == 1).all()) for i in range(0, len(values), block))


def _networkx_arrays(graph: Any) -> dict[str, Any]:
    place = {node: i for i, node in enumerate(graph.nodes())}
    edges = list(graph.edges(data="weight"))
    ends = np.array([(place[a], place[b]) for a, b, _ in edges], dtype=np.int64).reshape(-1, 2)
    arrays: dict[str, Any] = {
        "nodes": len(place),
        "source": np.ascontiguousarray(ends[:, 0]),
        "target": np.ascontiguousarray(ends[:, 1]),
    }
    if any(weight is not None for _, _, weight in edges):
        arrays["weights"] = weight_array([1.0 if w is None else w for _, _, w in edges])
    return arrays


def _edge_arrays(graph: Any) -> dict[str, Any]:
    weights = None
    if isinstance(graph, tuple) and len(graph) == 2 and np.ndim(graph[0]) == 2:
        graph, weights = graph
    edges = as_array(graph, "graph")
    if edges.ndim == 2 and edges.shape[0] == edges.shape[1] and edges.shape[0] != 2:
        source, target = (np.ascontiguousarray(ends) for ends in np.nonzero(edges))
        arrays: dict[str, Any] = {"nodes": edges.shape[0], "source": source, "target": target}
        if edges.dtype.kind != "b" and not _all_one(edges[source, target]):
            arrays["weights"] = weight_array(edges[source, target])
        return arrays
    if edges.ndim != 2 or edges.shape[0] != 2:
        turned = "; transpose it" if edges.ndim == 2 and edges.shape[1] == 2 else ""
        raise error(
            f"graph: an array of shape {edges.shape}; expected an edge index of shape (2, edges), a square "
            f"adjacency matrix, a scipy matrix or a NetworkX graph{turned}"
        )
    arrays = {"source": index_array(edges[0], "graph"), "target": index_array(edges[1], "graph")}
    if weights is not None:
        arrays["weights"] = weight_array(weights)
    return arrays


def node_mask(nodes: Any, count: int, what: str) -> np.ndarray:
    """A mask (count) of nodes, given as a mask or as node numbers."""
    array = as_array(nodes, what)
    if array.dtype.kind == "b":
        if array.shape != (count,):
            raise error(f"{what}: a mask of shape {array.shape} for {count} nodes; expected ({count},)")
        return array
    numbers = index_array(array, what).reshape(-1)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= count):
        wrong = numbers[(numbers < 0) | (numbers >= count)][0]
        raise error(f"{what}: node {wrong}; expected a node from 0 to {count - 1}")
    mask = np.zeros(count, dtype=bool)
    mask[numbers] = True
    return mask


def roles_of(parts: dict[str, Any], count: int) -> np.ndarray:
    """Roles (count) from the parts of a split: train, val and test, each a mask or node numbers."""
    roles = np.zeros(count, dtype=np.uint8)
    names = ("train", "val", "test")
    for role, name in enumerate(names, start=1):
        if parts.get(name) is None:
            continue
        mask = node_mask(parts[name], count, name)
        both = mask & (roles != 0)
        if both.any():
            node = int(np.argmax(both))
            raise error(f"node {node} is in {names[roles[node] - 1]} and in {name}; expected one part a node")
        roles[mask] = role
    return roles

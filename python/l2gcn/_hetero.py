"""Graphs of several types of nodes and edges: tables by type, PyG's HeteroData, DGL's heterographs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional

import numpy as np

from . import _core
from ._arrays import as_array, feature_arrays, roles_of, weight_array
from ._call import make_call
from ._settings import error, flag, text_of

if TYPE_CHECKING:
    from ._dataset import Dataset

PARTS = ("train", "val", "test")
Triple = tuple[str, str, str]


def is_hetero(value: Any) -> bool:
    """Whether this is a PyG `HeteroData`, or something like it."""
    return hasattr(value, "node_types") and hasattr(value, "edge_types") and hasattr(value, "__getitem__")


def is_heterograph(value: Any) -> bool:
    """Whether this is a DGL graph of several types of nodes or edges."""
    return hasattr(value, "canonical_etypes") and hasattr(value, "ntypes") and not getattr(value, "is_homogeneous", True)


def relation_name(triple: Any) -> str:
    """("user", "bought", "item") as the library names it: user:bought:item."""
    if isinstance(triple, str):
        return triple
    if not isinstance(triple, tuple) or len(triple) != 3 or not all(isinstance(word, str) for word in triple):
        raise error(f"relation {triple!r}: expected (source type, name, target type), such as ('user', 'bought', 'item')", "usage")
    return ":".join(triple)


class TypeArrays(NamedTuple):
    """What the nodes of one type bring."""

    nodes: int
    x: Any
    y: Any
    masks: dict[str, Any]


class EdgeArrays(NamedTuple):
    """Edges of one relation."""

    source: Any
    target: Any
    weight: Any


def from_types(
    cls: type[Dataset],
    types: Mapping[str, TypeArrays],
    relations: Mapping[Any, EdgeArrays],
    *,
    label_type: Optional[str] = None,
    directed: bool = False,
    keep_self_loops: bool = False,
    name: str,
) -> Dataset:
    """A data set of several node types from arrays."""
    from ._dataset import label_arrays  # which imports this module

    labelled = [one for one, has in types.items() if has.y is not None]
    if label_type is not None and label_type not in labelled:
        raise error(f"label_type: {label_type!r} has no labels; expected one of {labelled}", "usage")
    if len(labelled) > 1 and label_type is None:
        raise error(f"y: {', '.join(labelled)} have labels; name the type that is predicted with label_type", "usage")
    chosen = label_type or next(iter(labelled), None)
    counts = {one: has.nodes for one, has in types.items()}
    arrays: dict[str, Any] = {
        "name": text_of(name, "name"),
        "directed": flag(directed, "directed"),
        "keep_self_loops": flag(keep_self_loops, "keep_self_loops"),
        "node_types": [
            {"name": one, "count": has.nodes, "labelled": one == chosen, **({} if has.x is None else feature_arrays(has.x))}
            for one, has in types.items()
        ],
        "relations": [_edges_of(triple, ends) for triple, ends in relations.items()],
    }
    if chosen is not None:
        first = sum(counts[one] for one in list(counts)[: list(counts).index(chosen)])
        arrays.update(_of_all(label_arrays(types[chosen].y), counts, chosen, first))
        if types[chosen].masks:
            roles = np.zeros(sum(counts.values()), dtype=np.uint8)
            roles[first : first + counts[chosen]] = roles_of(types[chosen].masks, counts[chosen])
            arrays["roles"] = roles
    return cls(_core.make_dataset(make_call(), arrays))


def _edges_of(triple: Any, ends: EdgeArrays) -> dict[str, Any]:
    name = relation_name(triple)
    edges: dict[str, Any] = {"name": name}
    for side, values in (("source", ends.source), ("target", ends.target)):
        edges[side] = np.ascontiguousarray(as_array(values, f"{name} {side}"), dtype=np.int64)
    if ends.weight is not None:
        edges["weights"] = weight_array(ends.weight)
    return edges


def _of_all(labels: dict[str, Any], counts: dict[str, int], chosen: str, first: int) -> dict[str, Any]:
    """Labels of one type as those of all nodes, of which the others have none."""
    nodes, end = sum(counts.values()), first + counts[chosen]
    values: np.ndarray = next(labels[key] for key in ("classes_of", "label_matrix", "targets") if key in labels)
    if len(values) != counts[chosen]:
        raise error(f"y: has {len(values)} values, but {chosen} has {counts[chosen]} nodes")
    if "classes_of" in labels:
        classes = np.full(nodes, -1, dtype=np.int64)
        classes[first:end] = values
        return {**labels, "classes_of": classes}
    if "targets" in labels:
        targets = np.full((nodes, values.shape[1]), np.nan, dtype=np.float32)
        targets[first:end] = values
        return {**labels, "targets": targets}
    matrix = np.zeros((nodes, values.shape[1]), dtype=np.uint8)
    matrix[first:end] = values
    known = np.zeros(nodes, dtype=np.uint8)
    known[first:end] = labels.get("labelled", 1)
    return {**labels, "label_matrix": matrix, "labelled": known}


# PyG


def from_hetero_data(cls: type[Dataset], data: Any, split: int, options: dict[str, Any]) -> Dataset:
    """A data set from a PyG `HeteroData`."""

    def get(store: Any, *names: str) -> Any:
        return next((store[name] for name in names if name in store), None)

    types = {}
    for kind in data.node_types:
        store = data[kind]
        masks = {part: as_array(store[f"{part}_mask"], f"{part}_mask") for part in PARTS if f"{part}_mask" in store}
        masks = {part: mask[:, split] if mask.ndim == 2 else mask for part, mask in masks.items()}
        x, y = get(store, "x"), get(store, "y")
        types[kind] = TypeArrays(int(store.num_nodes), None if x is None else as_array(x, f"{kind} x"), _labels(y), masks)
    relations = {}
    for triple in data.edge_types:
        store = data[triple]
        ends = as_array(store["edge_index"], relation_name(triple))
        weight = get(store, "edge_weight", "edge_attr")
        if weight is not None:
            weight = as_array(weight, "edge_weight")
            weight = weight.reshape(-1) if weight.ndim == 1 or weight.shape[1] == 1 else None
        relations[triple] = EdgeArrays(ends[0], ends[1], weight)
    return from_types(cls, types, relations, **{"name": "pyg", **options})


def _labels(y: Any) -> Any:
    if y is None:
        return None
    y = as_array(y, "y")
    return y.astype(np.uint8) if y.ndim == 2 and y.shape[1] > 1 else y.reshape(-1)


def to_hetero_data(data: Dataset, split: str, seed: int) -> Any:
    """A PyG `HeteroData` of a data set with several node types."""
    from ._interop import need

    torch = need("torch", "PyG data")
    made = need("torch_geometric.data", "PyG data").HeteroData()
    for kind, has in types_of(data, split, seed).items():
        store = made[kind]
        store["num_nodes"] = has.nodes
        for name, values in (("x", has.x), ("y", has.y), *((f"{part}_mask", mask) for part, mask in has.masks.items())):
            if values is not None:
                store[name] = torch.from_numpy(np.array(values))
    for triple, ends in relations_of(data).items():
        made[triple]["edge_index"] = torch.from_numpy(np.stack([ends.source, ends.target]))
        if ends.weight is not None:
            made[triple]["edge_weight"] = torch.from_numpy(np.array(ends.weight))
    return made


# DGL


def from_heterograph(
    cls: type[Dataset], graph: Any, features: str, label: str, weight: Optional[str], options: dict[str, Any]
) -> Dataset:
    """A data set from a DGL heterograph."""
    types = {}
    for kind in graph.ntypes:
        store = graph.nodes[kind].data
        masks = {part: as_array(store[f"{part}_mask"], f"{part}_mask").astype(bool) for part in PARTS if f"{part}_mask" in store}
        x = as_array(store[features], features) if features in store else None
        types[kind] = TypeArrays(int(graph.num_nodes(kind)), x, _labels(store[label]) if label in store else None, masks)
    relations = {}
    for triple in graph.canonical_etypes:
        source, target = graph.edges(etype=triple)
        values = graph.edges[triple].data[weight] if weight is not None else None
        relations[triple] = EdgeArrays(source, target, values)
    return from_types(cls, types, relations, **{"name": "dgl", **options})


def to_heterograph(data: Dataset, split: str, seed: int) -> Any:
    """A DGL heterograph of a data set with several node types."""
    from ._interop import need

    torch, dgl = need("torch", "DGL graphs"), need("dgl", "DGL graphs")
    types, relations = types_of(data, split, seed), relations_of(data)
    ends = {triple: (torch.from_numpy(one.source), torch.from_numpy(one.target)) for triple, one in relations.items()}
    graph = dgl.heterograph(ends, num_nodes_dict={kind: has.nodes for kind, has in types.items()})
    for kind, has in types.items():
        for name, values in (("feat", has.x), ("label", has.y), *((f"{part}_mask", mask) for part, mask in has.masks.items())):
            if values is not None:
                graph.nodes[kind].data[name] = torch.from_numpy(np.array(values))
    for triple, one in relations.items():
        if one.weight is not None:
            graph.edges[triple].data["weight"] = torch.from_numpy(np.array(one.weight))
    return graph


# Back to arrays by type


def columns_of(data: Dataset) -> dict[str, slice]:
    """The columns of each node type."""
    columns, at = {kind: slice(0, 0) for kind in data.node_types}, 0
    for column in data._handle.schema:
        width = (len(column["levels"]) if column["category"] else 1) + column["marks_missing"]
        kind = column["node_type"]
        if kind:
            first = columns[kind].start if columns[kind].stop else at
            columns[kind] = slice(first, at + width)
        at += width
    return columns


def types_of(data: Dataset, split: str = "", seed: int = 0) -> dict[str, TypeArrays]:
    """What the nodes of each type bring: features, labels and the masks of a split (none: without masks)."""
    dense, columns = data.dense_features(), columns_of(data)
    chosen = data.split(split, seed) if split or data.splits else None
    types = {}
    for kind, rows in data.node_types.items():
        x = dense[rows, columns[kind]]
        y, masks = None, {}
        if data.n_classes and kind in data.labelled_types:
            y = np.asarray(data.labels[rows], dtype=np.float32 if data.multilabel else np.int64)
            masks = {part: getattr(chosen, part)[rows] for part in PARTS} if chosen else {}
        types[kind] = TypeArrays(rows.stop - rows.start, x if x.shape[1] else None, y, masks)
    return types


def relations_of(data: Dataset) -> dict[Triple, EdgeArrays]:
    """The edges of each relation from its source type to its target type, counted within the types."""
    edges = {}
    for name, _, indptr, indices, weights in data._handle.relations:
        if name.endswith("/in"):  # of directed edges, which "/out" has as well
            continue
        source, word, target = name.removesuffix("/out").split(":")
        first, last = data.node_types[source], data.node_types[target]
        degrees: Any = np.diff(indptr.view(np.int64))
        rows = np.repeat(np.arange(data.n_nodes), degrees)
        keep = (rows >= first.start) & (rows < first.stop) & (indices >= last.start) & (indices < last.stop)
        ends = (rows[keep] - first.start, indices[keep].astype(np.int64) - last.start)
        edges[source, word, target] = EdgeArrays(*ends, None if weights is None else weights[keep])
    return edges

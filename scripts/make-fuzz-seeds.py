#!/usr/bin/env python3
"""Writes small valid files of every kind the readers take into tests/fuzz/seeds/TARGET. Needs numpy and scipy."""
import io
import pathlib
import pickle
import sys

import numpy as np
import scipy.sparse as sp

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/fuzz/seeds")


def put(target, name, data):
    folder = root / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


for descr in ("f2", "f4", "f8", "i1", "i4", "i8", "u2", "?", "S3", "U2", ">i4"):
    put("npy", descr.replace(">", "big-").replace("?", "bool"), npy(np.arange(6).reshape(2, 3).astype(descr)))
put("npy", "fortran", npy(np.asfortranarray(np.arange(6.0).reshape(2, 3))))

adjacency = sp.csr_matrix(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype="f4"))
for protocol in (2, 3, 4, 5):
    put("unpickle", f"csr{protocol}", pickle.dumps(adjacency, protocol))
    put("unpickle", f"array{protocol}", pickle.dumps(np.arange(4).reshape(2, 2), protocol))
    put("unpickle", f"dict{protocol}", pickle.dumps({0: [1, 2], 1: [0], "k": 1.5, "n": None}, protocol))


def npz(compressed, **arrays):
    out = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(out, **arrays)
    return out.getvalue()


features, labels = np.eye(3, dtype="f4"), np.array([0, 1, 0])
out = io.BytesIO()
sp.save_npz(out, adjacency)
put("npz", "scipy", out.getvalue())
out = io.BytesIO()
sp.save_npz(out, adjacency.tocoo())
put("npz", "coo", out.getvalue())
put("npz", "benchmark", npz(False, adj_data=adjacency.data, adj_indices=adjacency.indices, adj_indptr=adjacency.indptr,
                            adj_shape=np.array([3, 3]), attr_matrix=features, labels=labels))
put("npz", "arrays", npz(True, edges=np.array([[0, 1], [1, 2]]), node_features=features, node_labels=labels,
                         train_masks=np.eye(3, dtype=bool)))
objects = np.empty((), dtype=object)
objects[()] = adjacency
put("npz", "objects", npz(True, adj_matrix=objects, node_attr=features, node_label=labels))

put("edges", "plain", "0,1\n1,2\n2,0\n")
put("edges", "header", "source,target,weight\n0,1,0.5\n1,2,1\n")
put("edges", "text", "# c\nanna bob\nbob carl\n")
put("edges", "huge", "9000000000000 -3\n4 5\n")
put("table", "nodes", 'id,x,colour,split,y\n0,1.5,red,train,a\n1,2,"b, c",val,\n2,-1,red,test,b\n')
put("table", "multi", ",0,1,2\n0,1,0,1\n1,0,0,0\n2,1,1,1\n")
put("json", "features", '{"0": [1, 5], "7": []}')
put("json", "classes", '{"0": [1, 0], "1": [0, 1]}')
put("json", "roles", '{"tr": [0, 1], "va": [], "te": [2]}')
put("json", "graph", '{"directed": false, "nodes": [{"id": "a", "val": false, "test": true}, {"id": "b"}], '
                     '"links": [{"source": 0, "target": 1}]}')
put("svmlight", "plain", "1 1:0.5 3:2\n-1 2:1 # note\n")
put("yaml", "metadata", "dataset_name: x\ngraph:\n  nodes: [{num: 3}]\n  edges: [{format: csv, path: e.csv}]\n"
                        "feature_data: [{domain: node, name: f, format: numpy, path: f.npy}]\ntasks: []\n")

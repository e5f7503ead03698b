#!/usr/bin/env python3
"""Writes small valid files of every kind the readers take into tests/fuzz/seeds/TARGET. Needs numpy and scipy."""
import io
import json
import pathlib
import pickle
import subprocess
import sys
import tempfile

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
put("yaml", "schema", "nodes: {user: u.csv, item: i.csv}\nedges:\n  user:bought:item: b.csv\nlabel: user:churn\n")
put("npy", "objects", b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '|O', 'fortran_order': False, 'shape': (4000000000,), }".ljust(117) + b"\n")

# A request as the HTTP library hands it over, and the progress of the run that is served (tests/fuzz/fuzz_serve.cpp).
put("serve", "page", 'GET\n/\nhost: 127.0.0.1:6060\norigin: http://127.0.0.1:6060\n\n'
                     '{"event":"begin","dataset":"<b>","method":"lgcn","runs":2}\n{"event":"seed","seed":1}\n'
                     '{"event":"progress","phase":"train","layer":1,"layers":2,"epoch":2,"epochs":9,"loss":0.5,'
                     '"stop_probability":0.25,"losses":[[1,0.75],[2,null]],"probabilities":[[2,0.25]]}\n')
put("serve", "version", 'HEAD\n/version\nhost: [::1]:80\nsec-fetch-site: same-origin\n\n{"losses":[[1e17,1],[3,-1e300]]}\n{"event":"pro')
put("serve", "foreign", 'GET\n/%00\nhost: lab.example\norigin: null\n\n')


def bundle(kind, name, files):
    """A folder in one file (tests/data/bundle.h)."""
    parts = [b"@@ " + path.encode() + b"\n" + (data if isinstance(data, bytes) else data.encode()) for path, data in files.items()]
    put("folder_" + kind, name, b"\n".join(parts))


def save(matrix):
    out = io.BytesIO()
    sp.save_npz(out, matrix, compressed=False)
    return out.getvalue()


triangle = sp.csr_matrix(np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]], dtype="f4"))
roles = '{"tr": [0, 1], "va": [2], "te": [3]}'
bundle("graphsaint", "single", {"adj_full.npz": save(triangle), "adj_train.npz": save(triangle), "feats.npy": npy(np.arange(8.0).reshape(4, 2)),
                                "class_map.json": '{"0": 1, "1": 2, "3": 1, "2": 2}', "role.json": roles})
bundle("graphsaint", "multi", {"adj_full.npz": save(triangle), "feats.npy": npy(np.arange(8, dtype="f4").reshape(4, 2)),
                               "class_map.json": '{"0": [1, 0], "1": [0, 1], "2": [1, 1], "3": [0, 0]}', "role.json": roles})
bundle("graphsage", "toy", {
    "toy-G.json": '{"directed": false, "graph": {"name": "x"}, "nodes": [{"id": "p", "val": false, "test": false}, '
                  '{"id": "q", "val": true, "test": false}, {"id": "r", "test": true, "val": false}], "links": '
                  '[{"source": 0, "target": 1, "train_removed": true}, {"source": 1, "target": 2}, {"source": 2, "target": 2}]}',
    "toy-id_map.json": '{"p": 2, "q": 1, "r": 0}', "toy-class_map.json": '{"p": [1, 0], "q": [0, 1], "r": [1, 1]}',
    "toy-feats.npy": npy(np.array([[30], [20], [10]], "f4"))})
parts = {}
for part in ("train", "valid", "test"):
    parts[f"{part}_graph.json"] = '{"directed": true, "nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 1}]}'
    parts[f"{part}_feats.npy"] = npy(np.array([[1, 2], [3, 4]], "f4"))
    parts[f"{part}_labels.npy"] = npy(np.array([[1, 0, 1], [0, 1, 1]]))
    parts[f"{part}_graph_id.npy"] = npy(np.array([1, 1]))
bundle("graphsage", "ppi", parts)
splits = {"split/time/train.csv": "0\n", "split/time/valid.csv": "2\n", "split/time/test.csv": "1\n"}
bundle("ogb", "tables", {"raw/edge.csv": "0,1\n1,2\n", "raw/node-feat.csv": "0.5,1\n2,3\n4,5\n", "raw/node-label.csv": "1\n0\n2\n",
                         "raw/num-node-list.csv": "3\n", **splits})
bundle("ogb", "binary", {"raw/data.npz": npz(False, edge_index=np.array([[0, 1], [1, 2]]), node_feat=np.arange(6, dtype="f4").reshape(3, 2),
                                             num_nodes_list=np.array([3])),
                         "raw/node-label.npz": npz(False, node_label=np.array([[1.0], [0.0], [np.nan]])), **splits})
bundle("graphbolt", "npy", {"metadata.yaml": """dataset_name: toy
graph:
  nodes:
    - num: 3
  edges:
    - format: numpy
      path: edges/e.npy
feature_data:
  - domain: node
    name: feat
    format: numpy
    in_memory: false
    path: data/feat.npy
tasks:
  - name: node_classification
    num_classes: 2
    train_set:
      - data:
          - name: seeds
            format: numpy
            path: set/train.npy
          - name: labels
            format: numpy
            path: set/labels.npy
""", "edges/e.npy": npy(np.array([[0, 1], [1, 2]])), "data/feat.npy": npy(np.arange(6, dtype="f4").reshape(3, 2)),
                            "set/train.npy": npy(np.array([0, 1])), "set/labels.npy": npy(np.array([0, 1]))})
masks = ",train,val,test\n0,True,False,False\n1,False,True,False\n2,False,False,True\n"
bundle("graphland", "toy", {"features.csv": ",age,code\n0,30,7\n1,,8\n2,50,7\n", "targets.csv": ",label\n0,1.0\n1,0.0\n2,\n",
                            "edgelist.csv": "source,target\n0,1\n1,2\n", "info.yaml": "categorical_features_names: [code]\n",
                            "split_masks_RL.csv": masks})
bundle("npz_pair", "reddit", {"reddit_data.npz": npz(False, feature=np.arange(8, dtype="f4").reshape(4, 2), label=np.array([0, 1, 1, 0]),
                                                     node_types=np.array([1, 1, 2, 3]), node_ids=np.arange(4)),
                              "reddit_graph.npz": save(triangle.tocoo())})
bundle("table", "triple", {"toy_edges.csv": "id_1,id_2\n0,1\n1,2\n", "toy_features.json": '{"0": [1, 3], "1": [0], "2": []}',
                           "toy_target.csv": "id,name,target\n0,x,a\n1,y,b\n2,z,a\n"})
bundle("table", "multi", {"edges.csv": "a b 0.5\nb c 1\n", "feats.csv": "a,1,2\nb,3,4\nc,5,6\n", "labels.csv": "id,p,q\na,0,1\nb,1,1\nc,0,0\n"})


def pickled_rows(rows):
    return pickle.dumps(sp.csr_matrix(np.array(rows, dtype="f4")), 2)


rows, one_hot = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], pickle.dumps(np.eye(2, dtype="i4"), 2)
bundle("planetoid", "toy", {"ind.toy.x": pickled_rows(rows[:2]), "ind.toy.y": one_hot, "ind.toy.tx": pickled_rows([[1, 1, 0], [0, 1, 1]]),
                            "ind.toy.ty": one_hot, "ind.toy.allx": pickled_rows(rows),
                            "ind.toy.ally": pickle.dumps(np.array([[1, 0], [0, 1], [1, 0]], "i4"), 2),
                            "ind.toy.graph": pickle.dumps({0: [1, 2], 1: [0, 5], 2: [0], 3: [5], 4: [], 5: [1, 3]}, 2),
                            "ind.toy.test.index": "3\n5\n"})

# Files of our own, as this program writes them. Their checksums are renamed, as in files from before there were any:
# a fuzzer cannot guess them.
program = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "build/release/l2gcn").absolute()


def unsummed(path):
    return path.read_bytes().replace(b'"checksum"', b'"unsummed"', 1).replace(b'"blocks"', b'"unused"')


def pack(files):
    return b"\n".join(b"@@ " + file.encode() + b"\n" + data for file, data in files.items())


def make_own(folder):
    """A tiny model of two kinds, a controller, a checkpoint and files of settings."""
    def run(*words):
        return subprocess.run([program, *words, "-q", "--device", "cpu"], cwd=folder, stdout=subprocess.DEVNULL)
    subprocess.run([program, "generate", "cora", "--nodes", "60", "--edges", "120", "--features", "5", "-o", "set", "-q"], cwd=folder, check=True)
    (folder / "powers.json").write_text('{"powers": [0, 1]}')
    for name, more in (("lgcn", ["--scale", "standard"]), ("ngcn", ["--config", "powers.json"])):
        run("train", "set", "--preset", "paper", "--method", name, "--hidden", "2", "--epochs", "1", "-o", name, *more)
        files = {file: unsummed(folder / name / file) for file in ("config.json", "model.safetensors")}
        put("model", name, pack(files))
        files = {file: unsummed(folder / name / file) for file in ("result.json", "config.json", "split.npy", "model.safetensors")}
        files["result.json"] = files["result.json"].replace(str(folder).encode() + b"/", b"").replace(b'"files"', b'"lists"')
        put("run", name, pack(files))
    put("settings", "config", json.dumps(json.loads((folder / "lgcn/config.json").read_text())["config"]))
    put("settings", "result", (folder / "lgcn/result.json").read_text().replace(str(folder) + "/", ""))
    subprocess.run([program, "learn-controller", "set", "--kind", "paper", "--rounds", "2", "--nodes", "20", "--hidden", "4", "-o", "controller", "-q"], cwd=folder)
    put("controller", "paper", unsummed(folder / "controller"))
    shipped = pathlib.Path(__file__).parent.parent / "src/controller/shipped/general-loss.safetensors"
    put("controller", "general", shipped.read_bytes())
    # A run that is cut off: its directory stays.
    cut = subprocess.Popen([program, "train", "set", "--preset", "paper", "--method", "lgcn", "--hidden", "2", "--epochs", "200000", "--checkpoint-every", "1",
                            "-o", "cut", "-q"], cwd=folder)
    kept = folder / "cut.unfinished/checkpoint"
    while not (kept / "state-1.safetensors").exists() and cut.poll() is None:
        pass
    cut.kill()
    cut.wait()
    put("checkpoint", "layer", unsummed(kept / "state-0.safetensors"))
    put("settings", "begun", (kept / "begun.json").read_bytes().replace(bytes(folder) + b"/", b""))


def make_program(folder):
    """What whole commands read: native sets, a run, settings, a comparison and a reproduction."""
    def run(*words):
        subprocess.run([program, *words, "-q"], cwd=folder, stdout=subprocess.DEVNULL, check=True)

    def pack(kind, name, files):
        parts = [b"@@ " + place.encode() + b"\n" + unsummed(path).replace(bytes(folder), b"")
                 for place, path in sorted(files.items())]
        put("program_" + kind, name, b"\n".join(parts))

    def files_of(name, place, only=None):
        return {f"{place}/{path.name}": path for path in (folder / name).iterdir() if only is None or path.name in only}
    training = "--preset paper --method lgcn --hidden 2 --epochs 1 --device cpu".split()
    run("generate", "cora", "--nodes", "24", "--edges", "40", "--features", "4", "-o", "sparse")
    (folder / "edges.csv").write_text("a,b,w\n" + "".join(f"n{u},n{(u + k) % 20},{k}\n" for u in range(20) for k in (1, 3)))
    (folder / "nodes.csv").write_text("id,x,word,part,y\n" + "".join(
        f"n{u},{'' if u % 7 == 0 else u},{'red' if u % 3 else ''},{('train', 'train', 'val', 'test')[u % 4]},{'ab'[u % 2]}\n" for u in range(20)))
    run("convert", "--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "y", "table")
    run("train", "table", *training, "--scale", "standard", "-o", "run")
    run("compare", "sparse", "--preset", "paper", "--methods", "lgcn,gcn", "--epochs", "1", "--hidden", "2", "--device", "cpu", "-o", "compared")
    run("reproduce", "table-epochs", "--quick", "--sets", "cora", "--runs", "1", "--max-seconds", "1", "-o", "reproduced")
    for name in ("sparse", "table"):
        pack("native", name, files_of(name, "set"))
    pack("run", "table", files_of("table", "set") | files_of("run", "run", {"result.json", "config.json", "model.safetensors", "split.npy"}))
    pack("settings", "config", files_of("sparse", "set") | {"settings.json": folder / "run/config.json"})
    pack("report", "comparison", {"report.json": folder / "compared/result.json"})
    pack("report", "reproduction", {"report.json": next((folder / "reproduced").rglob("*.json"))})


if program.exists():
    with tempfile.TemporaryDirectory() as folder:
        make_own(pathlib.Path(folder))
if program.exists():
    with tempfile.TemporaryDirectory() as folder:
        make_program(pathlib.Path(folder))
if program.exists():
    with tempfile.TemporaryDirectory() as folder:
        tables = {"toy_edges.csv": "source,target\na,b\na,c\nb,c\n", "toy_features.csv": "id,x,y\na,1,2\nb,3,4\nc,5,6\nd,7,8\n",
                  "toy_labels.csv": "id,class\na,red\nb,blue\nc,blue\nd,\n"}
        source, native = pathlib.Path(folder, "toy"), pathlib.Path(folder, "native")
        source.mkdir()
        for name, text in tables.items():
            (source / name).write_text(text)
        subprocess.run([program, "convert", source, native, "--quiet"], check=True)
        bundle("native", "sample", {path.name: unsummed(path) for path in sorted(native.iterdir())})

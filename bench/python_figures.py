"""What the Python package costs: importing it, a fit beside the program's own seconds, memory beside the program's.

usage: python_figures.py [import] [overhead] [memory] [interrupt] [--data-dir DIR] [--program PATH]

  import     seconds of `import l2gcn` and of `import numpy` alone, in fresh interpreters
  overhead   GCNClassifier.fit on Cora (generated where the files are not there): wall-clock less the training's own seconds, and the
             calling thread's processor time, which other work on the machine does not stretch
  memory     peak resident memory of fit() on NumPy features of the reddit shape, beside the program's on the same files
  interrupt  seconds from SIGINT to KeyboardInterrupt while the reddit shape trains

Run it by a Python that has the package, on a machine that is otherwise idle.
"""
import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]

FIT = """
import json, sys
import numpy as np
import scipy.sparse
import l2gcn

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))

folder = sys.argv[1]
Classifier = l2gcn.GCNClassifier  # imports scikit-learn where it is installed
interpreter = status("VmRSS")
X = np.load(folder + "/features.npy")
indptr = np.load(folder + "/graph_indptr.npy").view(np.int64)
indices = np.load(folder + "/graph_indices.npy").view(np.int32)
y = np.load(folder + "/labels.npy").astype(np.int64)
A = scipy.sparse.csr_matrix((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(len(y), len(y)))
before = status("VmRSS")
clf = Classifier(preset="paper", method="lgcn", epochs=1, layers=3, hidden=128, lr=0.0001, n_jobs=2)
clf.fit(X, y, graph=A)
assert X.dtype == np.float32 and np.shares_memory(clf.data_.features, X) and np.shares_memory(clf.data_.indices, A.indices)
print(json.dumps({"interpreter": interpreter, "before": before, "peak": status("VmHWM"), "features": X.nbytes}))
"""


def figure_import(_):
    def seconds(module):
        code = (
            "import time; w, p = time.perf_counter(), time.process_time(); "
            f"import {module}; print(time.perf_counter() - w, time.process_time() - p)"
        )
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        return [float(word) for word in done.stdout.split()]

    for module in ("numpy", "l2gcn"):
        wall, processor = zip(*(seconds(module) for _ in range(15)))
        print(
            f"import {module}: median {statistics.median(wall):.3f} s, best {min(wall):.3f} s; "
            f"processor, median {statistics.median(processor):.3f} s"
        )


def figure_overhead(options):
    import numpy as np

    import l2gcn

    try:
        data = l2gcn.load_dataset("cora", data_dir=options.data_dir)
    except l2gcn.Error:
        data = l2gcn.load_dataset("synthetic:cora")
    A, X, y = data.to_scipy()
    split = data.split("paper")
    labels = np.where(split.train | split.val, y, -1)
    for name, features in (("sparse", X), ("dense", data.dense_features())):
        over, wall, own = [], [], []
        for seed in range(30):
            clf = l2gcn.GCNClassifier(preset="paper", method="lgcn", hidden=16, batch=256, lr=0.005, random_state=seed)
            start, used = time.perf_counter(), time.thread_time()
            clf.fit(features, labels, graph=A, val=split.val)
            wall.append(time.perf_counter() - start)
            own.append(time.thread_time() - used)
            over.append(wall[-1] - clf.result_["seconds"]["total"])
        print(
            f"fit on {data.name}, {name} features: {1e3 * statistics.median(wall):.1f} ms, of which over the training's own seconds "
            f"{1e3 * statistics.median(over):.2f} ms (best {1e3 * min(over):.2f}); processor time of the calling thread, which waits while the "
            f"library trains on another: {1e3 * statistics.median(own):.2f} ms"
        )


def figure_memory(options):
    with tempfile.TemporaryDirectory() as folder:
        place = folder + "/reddit"
        subprocess.run([options.program, "generate", "reddit", "-o", place, "-q"], check=True)
        flags = ["--preset", "paper", "--method", "lgcn", "--epochs", "1", "--layers", "3", "--hidden", "128", "--lr", "0.0001", "--threads", "2"]
        unsmoothed = pathlib.Path(folder, "unsmoothed.json")
        unsmoothed.write_text('{"smooth": 0}')
        flags += ["--config", str(unsmoothed), "--split", "random:0.9,0.1,0", "-q", "--json", "-o", folder + "/run"]
        done = subprocess.run([options.program, "train", place, *flags], check=True, capture_output=True, text=True)
        program = json.loads(done.stdout)["memory"]["peak_rss_bytes"]
        done = subprocess.run([sys.executable, "-c", FIT, place], check=True, capture_output=True, text=True)
        python = json.loads(done.stdout)
    mib = 1 << 20
    own = python["peak"] - python["interpreter"]
    print(f"program, peak resident: {program / mib:.0f} MiB")
    print(
        f"Python, peak resident: {python['peak'] / mib:.0f} MiB, of which {python['interpreter'] / mib:.0f} the interpreter with NumPy, scipy and "
        f"scikit-learn before any data; the rest {own / mib:.0f} MiB, {100 * (own / program - 1):+.1f} % over the program's"
    )
    print(
        f"X ({python['features'] / mib:.0f} MiB) and the graph loaded: {python['before'] / mib:.0f} MiB; fit adds "
        f"{(python['peak'] - python['before']) / mib:.0f} MiB; X and the rows of the graph are shared, not copied"
    )


def figure_interrupt(_):
    import l2gcn

    data = l2gcn.load_dataset("synthetic:reddit")
    for delay in (0.3, 1.0, 2.0, 4.0):
        sent = []

        def interrupt():
            time.sleep(delay)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            l2gcn.train(data, preset="paper", method="lgcn", epochs=1000)
        except KeyboardInterrupt:
            print(f"interrupted {delay} s into training: KeyboardInterrupt after {time.perf_counter() - sent[0]:.3f} s")


FIGURES = {"import": figure_import, "overhead": figure_overhead, "memory": figure_memory, "interrupt": figure_interrupt}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    parser.add_argument("--data-dir", default="")
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "l2gcn"))
    options = parser.parse_args()
    for name in options.figures or FIGURES:
        FIGURES[name](options)


if __name__ == "__main__":
    main()

"""Training: the program's bits, threads, signals, callbacks, memory."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from conftest import small

import l2gcn

METHODS = ["lgcn", "l2gcn", "gcn", "sgc"]
TRAININGS = [(method, "paper") for method in METHODS] + [("lgcn", "best")]


def assert_same_model_file(program, tmp_path, spec, options, method, preset, epochs=None):
    """The model file of l2gcn.train and the program's, for the same settings, are the same bytes."""
    settings = {"preset": preset, "method": method, "seed": 3}
    if epochs is not None:
        settings["epochs"] = epochs
    flags = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    opened = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    theirs, ours = tmp_path / "program", tmp_path / "python"
    subprocess.run([program, "train", spec, *opened, *flags, "-q", "--json", "-o", theirs], check=True, capture_output=True)
    run = l2gcn.train(l2gcn.load_dataset(spec, **options), **settings)
    run.save(ours)
    assert (ours / "model.safetensors").read_bytes() == (theirs / "model.safetensors").read_bytes()
    assert (ours / "config.json").read_bytes() == (theirs / "config.json").read_bytes()
    return run


def test_a_model_that_learns_nothing_is_a_warning():
    """The program says so, too."""
    data = small()
    X = np.zeros_like(data.features)
    with pytest.warns(UserWarning, match="does not beat .* of the trivial answer .*; try .* more `epochs`"):
        l2gcn.train(data.from_arrays(X, None, data.labels), preset="paper", epochs=1)


@pytest.mark.parametrize("method, preset", TRAININGS)
def test_same_bytes_as_the_program(program, tmp_path, method, preset):
    assert_same_model_file(program, tmp_path, "synthetic:cora", {}, method, preset, 10 if preset == "best" else None)


@pytest.mark.parametrize("method, preset", TRAININGS)
@pytest.mark.parametrize("name, epochs", [("cora", None), ("pubmed", None), ("musae-facebook", None), ("synthetic:reddit", 2)])
def test_same_bytes_on_every_data_set(program, data_dir, tmp_path, everything, name, epochs, method, preset):
    spec = str(data_dir / name) if name == "musae-facebook" else name
    if preset == "best":
        epochs = 2
    assert_same_model_file(program, tmp_path, spec, {"data_dir": str(data_dir)}, method, preset, epochs)


def test_same_bytes_for_numpy_arrays(citations):
    """A data set that goes through NumPy and back trains to the same weights."""
    split = citations.split("paper")
    again = l2gcn.Dataset.from_arrays(
        citations.features, citations, citations.labels, train=split.train, val=split.val, test=split.test, preset_row="cora"
    )
    settings = {"method": "lgcn", "epochs": 10}
    a, b = l2gcn.train(citations, **settings).model.tensors, l2gcn.train(again, **settings).model.tensors
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])


@pytest.fixture(scope="module")
def large(tmp_path_factory, program):
    """23,000 nodes with 602 features, about 150 MiB in memory, as a native directory."""
    folder = tmp_path_factory.mktemp("large") / "set"
    subprocess.run([program, "generate", "reddit", "--scale", "0.1", "-o", folder, "-q"], check=True)
    return folder


def test_budgets_of_memory(large, tmp_path):
    """A budget is the whole process's, and one that has run other tests may hold more than any budget here: a fresh one."""
    code = f"import pathlib, test_training; test_training.check_budgets({str(large)!r}, pathlib.Path({str(tmp_path)!r}))"
    folder = os.path.dirname(__file__)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def check_budgets(large, tmp_path):
    """What does not fit goes to the scratch folder, with the same bits: train, predict, evaluate, GCNClassifier."""
    settings = {"preset": "paper", "method": "lgcn", "epochs": 1}
    data = l2gcn.load_dataset(large)
    whole = l2gcn.plan(data, memory="32G", **settings)
    # Half-way between what would do without a disk and what would do with one.
    least = l2gcn.plan(data, memory=whole["need_bytes"] - (4 << 20), scratch=tmp_path, **settings)["least_bytes"]
    budget = {"memory": (whole["need_bytes"] + least) // 2, "scratch": tmp_path}
    assert whole["in_memory"] and not l2gcn.plan(data, **budget, **settings)["in_memory"]
    with pytest.raises(l2gcn.Error, match="from disk") as raised:
        l2gcn.train(data, memory="1M", **settings)
    assert raised.value.kind == "usage"
    with pytest.raises(l2gcn.Error, match="missing"):
        l2gcn.train(data, memory=budget["memory"], scratch=tmp_path / "missing", **settings)
    tight, free = l2gcn.train(data, **budget, **settings), l2gcn.train(data, **settings)
    for name, tensor in free.model.tensors.items():
        np.testing.assert_array_equal(tensor, tight.model.tensors[name])
    for call in (
        lambda **machine: free.model.logits(data, **machine),
        lambda **machine: l2gcn.evaluate(free, **machine)["test"]["log_loss"],
        lambda **machine: l2gcn.GCNClassifier(**settings, **machine).fit(data.features, data.labels, graph=data).predict(),
    ):
        np.testing.assert_array_equal(call(), call(memory="32G", scratch=tmp_path))
        with pytest.raises(l2gcn.Error, match="from disk"):
            call(memory="1M")
    assert list(tmp_path.iterdir()) == []


def test_checkpoints_as_often_as_told(citations, tmp_path):
    """A run that a callback ends after its second epoch leaves a checkpoint that the program's --resume takes up."""

    class Stop(Exception):
        pass

    def stop(progress):
        if progress["phase"] == "train" and progress["epoch"] >= 2:
            raise Stop

    with pytest.raises(Stop):
        l2gcn.train(citations, preset="paper", epochs=4, checkpoint_every=1, output=tmp_path / "run", progress=stop)
    assert (tmp_path / "run.unfinished").is_dir()


def test_run_and_its_columns(citations, tmp_path):
    run = l2gcn.train(citations, preset="paper", method="lgcn", epochs=[4, 6], seed=7, val_every=2)
    assert run.f1["test"] > 0.6
    assert [len(run.history[name]) for name in ("seed", "layer", "epoch", "loss", "stop_probability")] == [10] * 5
    assert run.history["epoch"].tolist() == [1, 2, 3, 4, 1, 2, 3, 4, 5, 6]
    assert run.validation["f1"].shape == (5,)
    assert run.config["hidden"] in (16, [16])
    assert [layer["stopped_by"] for layer in run.layers] == ["budget", "budget"]
    assert run.model.predict(citations).shape == (citations.n_nodes,)
    assert run.model.embed(citations, layer=1).shape == (citations.n_nodes, 16)
    proba = run.model.predict_proba(citations)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(proba.argmax(axis=1), run.model.predict(citations))
    path = run.save(tmp_path / "run")
    again = l2gcn.load_model(path)
    np.testing.assert_array_equal(again.logits(citations), run.model.logits(citations))
    scores = l2gcn.evaluate(path)
    assert scores["test"]["f1"] == run.f1["test"] == l2gcn.evaluate(run)["test"]["f1"]
    assert scores["test"]["confusion"].sum() == 1000
    assert l2gcn.evaluate(run.model, citations, test=np.arange(100))["test"]["nodes"] == 100


def test_predictions_are_names_of_classes(citations, tmp_path):
    """Predictions are class names where classes have names, as scikit-learn's classifiers do; raw=True gives numbers."""
    data = small()
    model = l2gcn.train(data, preset="paper", method="lgcn", epochs=3).model
    names = model.predict(data)
    assert names.dtype.kind == "U" and set(names) <= {"red", "green", "blue"}
    numbers = model.predict(data, raw=True)
    np.testing.assert_array_equal(numbers, model.predict_proba(data).argmax(axis=1))
    assert names.tolist() == [model.class_names[c] for c in numbers]
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(l2gcn.load_model(tmp_path / "model").predict(data), names)
    assert l2gcn.train(citations, preset="paper", method="lgcn", epochs=1).model.predict(citations).dtype.kind == "i"


def test_report(tmp_path, monkeypatch):
    """A page about a run in memory or on disk, or about a comparison."""
    monkeypatch.chdir(tmp_path)
    data = small()
    run = l2gcn.train(data, preset="paper", method="lgcn", epochs=2)
    assert l2gcn.report(run) == "report.html"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<html" in page and str(tmp_path) not in page
    assert "confusion" in page.lower()  # which needs the data set
    stored = run.save(tmp_path / "run")
    comparison = l2gcn.compare(data, ["lgcn", "sgc"], preset="paper", epochs=1)
    with pytest.warns(UserWarning, match="trained on a data set in memory"):
        l2gcn.report(stored)
    for source, given in ((stored, data), (comparison, None)):
        assert l2gcn.report(source, tmp_path / "page.html", data=given) == str(tmp_path / "page.html")
        assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(l2gcn.Error, match="report: a int given; expected a Run, a Comparison"):
        l2gcn.report(3)


def test_tables_of_notebooks():
    """Names come from files: what notebooks show is escaped."""
    data = l2gcn.Dataset.from_arrays(np.eye(6), None, [0, 1] * 3, class_names=["<b>", "&"], name="<script>")
    run = l2gcn.train(data, preset="paper", method="lgcn", epochs=1, runs=2, split="random:0.5,0,0.5")
    for thing, expected in ((data, "2: &lt;b&gt;, &amp;"), (run, "<td style=\"text-align:left\">mean</td>"), (run.model, "layerwise")):
        html = thing._repr_html_()
        assert html.startswith("<table>") and html.endswith("</table>") and expected in html
        assert "<script>" not in html and "<b>, " not in html
    assert "<table>" in l2gcn.Dataset.from_arrays(np.eye(3))._repr_html_()


def test_several_seeds_and_output(citations, tmp_path):
    run = l2gcn.train(citations, preset="paper", method="lgcn", epochs=3, runs=2, output=tmp_path / "run", threads=1)
    assert run.seeds == [0, 1] and len(run.models) == 2
    assert (tmp_path / "run" / "seed-1" / "model.safetensors").is_file()
    with pytest.raises(l2gcn.Error, match="already holds a run"):
        l2gcn.train(citations, preset="paper", method="lgcn", epochs=3, output=tmp_path / "run")


def test_callbacks_decide(citations):
    seen = []

    def third(decision):
        seen.append(decision)
        return decision.epoch >= 3

    run = l2gcn.train(citations, preset="paper", method="lgcn", stop="early", patience=50, epochs=20, callbacks=third)
    assert [layer["epochs"] for layer in run.layers] == [3, 3]
    assert [layer["stopped_by"] for layer in run.layers] == ["callback", "callback"]
    assert [(d.layer, d.epoch) for d in seen] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    assert len(seen[2].losses) == 3 and seen[0].epochs == 20


def test_callbacks_may_raise(citations):
    def refuse(decision):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        l2gcn.train(citations, callbacks=[refuse])
    with pytest.raises(ZeroDivisionError):
        l2gcn.train(citations, progress=lambda progress: 1 / 0)


def test_watching_changes_nothing(citations):
    told = []
    plain = l2gcn.train(citations, preset="paper", method="l2gcn", seed=5)
    watched = l2gcn.train(citations, preset="paper", method="l2gcn", seed=5, callbacks=lambda decision: None, progress=told.append)
    for name, tensor in plain.model.tensors.items():
        np.testing.assert_array_equal(tensor, watched.model.tensors[name])
    assert {"train", "transform", "evaluate"} <= {one["phase"] for one in told}


def test_all_python_runs_on_the_calling_thread(citations):
    threads = set()
    l2gcn.train(citations, preset="paper", method="lgcn", epochs=2, progress=lambda p: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


def test_progress_bars(citations, capsys, monkeypatch):
    l2gcn.train(citations, preset="paper", method="lgcn", epochs=2, progress=True, verbose=1)
    shown = capsys.readouterr()
    assert "1208 train" in shown.out and "2/2" in shown.err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    l2gcn.train(citations, preset="paper", method="lgcn", epochs=2, progress=True)
    assert "loss" in capsys.readouterr().err


@pytest.mark.parametrize("delay", [0.05, 0.4])
def test_interrupt(citations, delay):
    """Ctrl-C raises KeyboardInterrupt within a step, and the next training is as good as ever."""
    sent = []
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where a shell started this in the background

    def interrupt():
        time.sleep(delay)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        l2gcn.train(citations, preset="paper", method="lgcn", epochs=100000)
    took = time.perf_counter() - sent[0]
    thread.join()
    assert took < 1, f"{took:.2f} s from the signal to KeyboardInterrupt"
    assert l2gcn.train(citations, preset="paper", method="lgcn", epochs=2).f1["test"] > 0.3


def test_own_signal_handlers_run(citations):
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        l2gcn.train(citations, preset="paper", method="lgcn", epochs=400)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert calls == [1]


def test_two_threads_train_at_once_and_the_interpreter_goes_on(citations):
    alone = [l2gcn.train(citations, preset="paper", method="lgcn", epochs=40, seed=seed).model.tensors for seed in (0, 1)]
    runs = {}

    def work(seed):
        runs[seed] = l2gcn.train(citations, preset="paper", method="lgcn", epochs=40, seed=seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (0, 1)]
    turns = 0
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        turns += 1
    assert turns > 100
    for seed in (0, 1):
        for name, tensor in alone[seed].items():
            np.testing.assert_array_equal(runs[seed].model.tensors[name], tensor)


def test_fork(citations):
    """A child of fork() trains, though its parent has trained before."""
    expected = l2gcn.train(citations, preset="paper", method="lgcn", epochs=3).f1["test"]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if l2gcn.train(citations, preset="paper", method="lgcn", epochs=3).f1["test"] == expected else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_no_leaks():
    """200 fits, each with predictions handed out, leave no more memory behind than a few."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 200)).astype(np.float32)
    y = rng.integers(0, 3, 400)
    edges = rng.integers(0, 400, (2, 1200))
    sizes = []
    for i in range(220):
        clf = l2gcn.GCNClassifier(preset="paper", method="lgcn", hidden=32, layers=2, epochs=2, n_jobs=1).fit(X.copy(), y, graph=edges)
        clf.predict_proba()
        if i % 20 == 19:
            gc.collect()
            sizes.append(resident())
    # One leaked copy of X a fit would be 60 MiB.
    assert sizes[-1] - sizes[1] < 4 << 20, [size >> 10 for size in sizes]


def test_arrays_outlive_what_they_came_from():
    data = l2gcn.load_dataset("synthetic:cora")
    run = l2gcn.train(data, preset="paper", method="lgcn", epochs=2)
    indices, labels, history = data.indices, data.labels, run.history["loss"]
    weights, embedding = run.model.tensors["layers.0.weight"], run.model.embed(data)
    sums = [float(np.sum(array)) for array in (indices, labels, history, weights, embedding)]
    del data, run
    gc.collect()
    [np.ones(1 << 20) for _ in range(8)]  # would overwrite freed memory
    assert [float(np.sum(array)) for array in (indices, labels, history, weights, embedding)] == sums
    assert not indices.flags.writeable and not weights.flags.writeable and embedding.flags.writeable


def test_search_and_compare(citations, tmp_path):
    controller = l2gcn.learn_controller(citations, rounds=2, problems=1, rollouts=2, nodes=200, training={"epochs": 8})
    assert controller.curve["round"].shape == (2,) and controller.description
    with pytest.raises(l2gcn.Error, match="not saved"):
        l2gcn.train(citations, controller=controller)
    controller.save(tmp_path / "stop.safetensors")
    run = l2gcn.train(citations, controller=controller, epochs=8)
    assert {layer["stopped_by"] for layer in run.layers} <= {"controller", "budget"}
    comparison = l2gcn.compare(citations, ["lgcn", "sgc"], epochs=4)
    assert [row["method"] for row in comparison.rows] == ["lgcn", "sgc"] and "sgc" in str(comparison)


def test_multilabel_and_thresholds():
    rng = np.random.default_rng(1)
    Y = (rng.random((120, 5)) < 0.4).astype(int)
    X = (Y @ rng.normal(size=(5, 12)) + 0.1 * rng.normal(size=(120, 12))).astype(np.float32)
    data = l2gcn.Dataset.from_arrays(X, rng.integers(0, 120, (2, 60)), Y)
    run = l2gcn.train(data, preset="paper", method="lgcn", lr=0.02, epochs=60, batch=32, threshold="auto")
    assert len(run.model.thresholds) == 5
    proba, on = run.model.predict_proba(data), run.model.predict(data)
    np.testing.assert_array_equal(on, proba > np.array(run.model.thresholds, dtype=np.float32))
    scores = l2gcn.evaluate(run)
    assert scores["test"]["confusion"].shape == (5, 4) and scores["train"]["f1"] > 0.7


def test_labels_that_a_model_propagates(citations, tmp_path):
    """A model that looks at train nodes' labels finds them for its own data, and does without elsewhere."""
    run = l2gcn.train(citations, preset="paper", method="lgcn", epochs=10, correct="on", hidden_norm="layer")
    assert run.model._handle.form["propagates_labels"]
    split = citations.split()
    own = run.model.predict(citations)
    assert run.f1["test"] == pytest.approx(np.mean(own[split.test] == citations.labels[split.test]))
    assert l2gcn.evaluate(run)["test"]["f1"] == run.f1["test"]
    again = l2gcn.load_model(run.save(tmp_path / "run"))
    np.testing.assert_array_equal(again.logits(citations), run.model.logits(citations))
    without = run.model.logits(citations, known=[])
    assert not np.array_equal(without, run.model.logits(citations))
    np.testing.assert_array_equal(run.model.logits(citations, known=split.train), run.model.logits(citations))


def test_import_is_light():
    """Importing needs NumPy and nothing else."""
    code = (
        "import sys, numpy; before = set(sys.modules); import l2gcn; "
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert eval(output) == ["l2gcn"]

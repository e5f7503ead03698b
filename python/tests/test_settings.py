"""One table of settings: signatures, docstrings and stubs say what the program's help says."""

from __future__ import annotations

import ast
import inspect
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import l2gcn


def test_every_setting_of_the_program(program):
    """What `l2gcn train --help` lists under Training is what train() takes, with the same sentences and defaults."""
    text = subprocess.run([program, "train", "--help-all"], check=True, capture_output=True, text=True).stdout
    words = " ".join(text.split())
    for row in (*l2gcn.train_settings(), *l2gcn.run_settings(), *l2gcn.machine_settings()):
        assert f"--{row.name.replace('_', '-')}" in words, row.name
        assert row.help.rstrip(".") in words, row.help
        if row.default:
            assert f"[{row.default}]" in words or row.kind == "flag", row


def test_signatures_and_docstrings_come_from_the_table():
    training, machine = l2gcn.train_settings(), l2gcn.machine_settings()
    tables = {
        l2gcn.train: (*training, *l2gcn.run_settings(), *machine),
        l2gcn.plan: (*training, *machine),
        l2gcn.compare: (*training, *machine),
        l2gcn.learn_controller: (*l2gcn.search_settings(), *machine),
        l2gcn.evaluate: machine,
    }
    for function, table in tables.items():
        parameters = inspect.signature(function).parameters
        for row in table:
            assert row.name in parameters and re.search(rf"^{row.name} : ", function.__doc__, re.M), row.name
    assert "layers : int from 1 to 64, default 2" in l2gcn.train.__doc__
    assert not re.search(r"--[a-z]", l2gcn.train.__doc__)
    for method in ("predict", "predict_proba", "logits", "embed", "export_predictions"):
        assert {row.name for row in machine} <= set(inspect.signature(getattr(l2gcn.Model, method)).parameters)


def test_old_names_and_settings_of_presets_say_where_to_go(citations):
    for name, sentence in (
        ("norm", "'adjacency'"),
        ("norm", "'hidden-norm'"),
        ("layer_norm", "'hidden-norm'"),
        ("read_out", "'predict-from'"),
        ("reach", "'hops' and 'self-features'"),
        ("labels_as_inputs", "was removed"),
        ("theta", "l2gcn train --config FILE"),
    ):
        with pytest.raises(l2gcn.Error, match=re.escape(sentence)) as raised:
            l2gcn.train(citations, **{name: 1})
        assert raised.value.kind == "usage"


def test_search_is_learn_controller_now():
    with pytest.raises(AttributeError, match="learn_controller"):
        getattr(l2gcn, "search")


def test_docstrings_have_the_levels_of_the_help():
    text = l2gcn.train.__doc__
    assert text.index("epochs : ") < text.index("*Architecture*") < text.index("bias : ")
    assert len(l2gcn.train_settings()) <= 36


def test_ranges_are_told():
    rows = {row.name: row for row in l2gcn.train_settings()}
    assert rows["layers"].range == "from 1 to 64" and rows["dropout"].range == "from 0 to below 1"
    assert rows["seed"].range == "of 0 or more" and rows["hidden"].typed_default == 256


@pytest.mark.parametrize(
    "settings, sentence, program_sentence",
    [
        ({"memory": "3X"}, "memory='3X': expected a size such as", "--memory 3X: expected a size such as"),
        ({"memory": 0}, "memory=0: expected a size such as", "--memory 0: expected a size such as"),
        ({"threads": 0}, "threads=0: expected a whole number from 1 to 4096", "--threads 0: expected a whole number from 1 to 4096"),
        ({"device": "gpu"}, "device='gpu': did you mean 'cpu'", "--device gpu: did you mean 'cpu'"),
        ({"memry": "8G"}, "unknown setting 'memry': did you mean 'memory'", ""),
        ({"checkpoint_every": "5x"}, "checkpoint_every='5x': expected a whole number", "--checkpoint-every 5x: expected a whole number"),
        ({"runs": 0}, "runs=0: expected a whole number", "--runs 0: expected a whole number"),
        ({"lr": "fast"}, "lr='fast': expected a number above 0, or auto", "--lr fast: expected a number above 0, or auto"),
        ({"lr": 0}, "lr=0: expected a number above 0, or auto", "--lr 0: expected a number above 0, or auto"),
    ],
)
def test_checks_are_the_programs(program, settings, sentence, program_sentence):
    """Values are refused by the program's own check, in words of Python."""
    with pytest.raises(l2gcn.Error, match=re.escape(sentence)) as raised:
        l2gcn.train("synthetic:cora", **settings)
    assert raised.value.kind == "usage"
    flags = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    done = subprocess.run([program, "train", "synthetic:cora", *flags], capture_output=True, text=True)
    assert done.returncode == 2
    assert program_sentence in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "said, expected",
    [
        ("--hidden 1,2,3: 3 values for 2 layers", "hidden=[1, 2, 3]: 3 values for 2 layers"),
        ("--hidden : expected a whole number", "hidden='': expected a whole number"),
        ("more --epochs, or --class-weights balanced where", "more `epochs`, or class_weights='balanced' where"),
        ("--split random:2,0,0: expected", "split='random:2,0,0': expected"),
        ("--scratch /a b: no folder", "scratch='/a b': no folder"),
        ("--device cuda cannot be used: why; use --device cpu", "device='cuda' cannot be used: why; use device='cpu'"),
        ("--bias: needs --self-features", "bias=True: needs self_features=True"),
        ("use a larger --memory, --features-as f16, or", "use a larger `memory`, features_as='f16', or"),
        ("lower --lr (it is 3), scale (--scale standard)", "lower `lr` (it is 3), scale (scale='standard')"),
        ("give --source from --target to-id.", "give source='from', target='to-id'."),
        ("Go on with --allow-unmatched.", "Go on with allow_unmatched=True."),
        ("with --edges, --features and --labels", "with `edges`, `features` and `labels`"),
        ("pass --force to replace it", "pass force=True to replace it"),
        ("name a table (--nodes FILE --label COLUMN)", "name a table (nodes=FILE, label=COLUMN)"),
        ("go on with --resume runs/a, or", "go on with l2gcn train --resume runs/a, or"),
        ("go on with l2gcn train --resume runs/a", "go on with l2gcn train --resume runs/a"),
        ("what l2gcn compare --json printed", "what l2gcn compare --json printed"),
        ("a file named a--lr.csv", "a file named a--lr.csv"),
        ("no option: --frobnicate 3", "no option: --frobnicate 3"),
    ],
)
def test_sentences_speak_of_keywords(said, expected):
    from l2gcn._wording import in_python

    assert in_python(said) == expected


def test_no_sentence_of_the_library_keeps_an_option(root):
    """Options that the library's sentences name are keywords of some call, or stand in a command line of the program."""
    from l2gcn._wording import in_python

    # What only commands of the program say, which Python does not have: convert, generate, reproduce, serve, train --config.
    program = {"address", "edge-types", "exact-names", "host", "port", "classes", "config", "mpi", "vary", "seeds", "sets", "skew", "tensorboard", "to", "topics", "verify", "widths", "json"}
    left = set()
    for path in (root / "src").rglob("*.cpp"):
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text(encoding="utf-8")):
            left |= set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", in_python(text))) - {"resume"}
    assert left <= program, left - program


def test_a_rate_that_is_found(citations):
    """lr="auto" is a value wherever lr is, and what was found stands in the result."""
    settings = {"preset": "paper", "lr": "auto", "layers": 1}
    run = l2gcn.train(citations, **settings)
    assert run.config["lr"] == "auto"
    clf = l2gcn.GCNClassifier(**settings).fit(citations.features, citations.labels, graph=citations)
    assert clf.model_.config["lr"] == "auto"
    assert l2gcn.compare(citations, ["layerwise"], preset="paper", lr="auto", layers=1, epochs=3).rows[0]["f1"]
    controller = l2gcn.learn_controller(citations, rounds=1, problems=1, rollouts=2, nodes=200, training={"lr": "auto", "epochs": 4, "layers": 1})
    assert controller.description


def test_no_setting_is_spelled_in_the_package():
    """No list of parameters is written twice: of the table's names, the package's code spells few, and says why."""
    folder = pathlib.Path(l2gcn.__file__).parent
    # seed, split and threads: estimators say them in another way. bias is a tensor's name, too. The rest is read back from a
    # configuration or a result.
    allowed = {"method", "layers", "adjacency", "smooth", "self_features", "raw_features", "bias", "hops", "diagonal", "powers", "relations", "split", "seed", "label", "lr", "hidden", "epochs", "threads", "runs", "loss"}
    names = {row.name for row in (*l2gcn.train_settings(), *l2gcn.run_settings(), *l2gcn.machine_settings())} - allowed
    for path in folder.glob("*.py"):
        code = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.S)
        for name in names:
            assert not re.search(rf'["\']{name}["\']\s*[:,\]=]', code), f"{path.name} spells the setting {name}"


def test_everything_has_a_docstring():
    for name in l2gcn.__all__:
        thing = getattr(l2gcn, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and thing.__module__.startswith("l2gcn"):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
                    assert inspect.getdoc(getattr(thing, member)), f"{name}.{member}"


def test_docstring_examples_run():
    import doctest

    import l2gcn._dataset
    import l2gcn._estimators
    import l2gcn._model
    import l2gcn._settings
    import l2gcn._training

    tried = 0
    for module in (l2gcn, l2gcn._settings, l2gcn._dataset, l2gcn._model, l2gcn._training, l2gcn._estimators):
        result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
        assert result.failed == 0, module
        tried += result.attempted
    assert tried >= 15


def test_build_says_what_it_holds():
    features = l2gcn.build_features()
    assert {"simd", "cuda"} <= features.keys()
    if features["cuda"].startswith("no"):
        with pytest.raises(l2gcn.Error, match="cuda"):
            l2gcn.train("synthetic:cora", device="cuda", epochs=1)


def mypy(*arguments: str) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    done = subprocess.run([sys.executable, "-m", "mypy", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_examples_are_typed(root, tmp_path):
    examples = sorted(str(path) for path in (root / "python" / "examples").glob("*.py"))
    mypy("--strict", "--cache-dir", str(tmp_path), "--config-file", "", "--ignore-missing-imports", *examples)


def test_package_is_typed(tmp_path):
    # The module's functions give arrays of several kinds. torch may be installed without types, or with those of an old
    # version, which are wrong. Before NumPy 2 the type of an array's items had no default.
    lenient = ["--no-warn-return-any", "--allow-subclassing-any"]
    if int(np.__version__.split(".")[0]) < 2:
        lenient.append("--allow-any-generics")
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nignore_missing_imports = true\n[mypy-torch.*]\nfollow_imports = skip\n")
    mypy("--strict", "--cache-dir", str(tmp_path), "--config-file", str(config), *lenient, "-p", "l2gcn")


def test_wrong_calls_are_seen_by_a_type_checker(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    path = tmp_path / "wrong.py"
    path.write_text('import l2gcn\nl2gcn.train("cora", epoch=3)\nl2gcn.GCNClassifier(hiden=3)\nl2gcn.train("cora", method="gnc")\n')
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path), str(path)], capture_output=True, text=True)
    assert done.stdout.count(": error:") == 3, done.stdout


def names_of_stub(path: pathlib.Path) -> dict[str, set[str]]:
    """Names of a stub's functions and classes, with the members of each class."""
    names: dict[str, set[str]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names[node.name] = set()
        elif isinstance(node, ast.ClassDef):
            inner = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
            inner += [n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
            names[node.name] = {name for name in inner if not name.startswith("_")}
    return names


def test_stubs_are_complete():
    """Everything the two modules with stubs hold is in the stubs, and nothing else; other modules are typed in place.

    mypy's stubtest does not take nanobind's functions for functions, so names and members are compared here.
    """
    from l2gcn import _core, _parameters

    folder = pathlib.Path(_core.__file__).parent
    stub = names_of_stub(folder / "_core.pyi")
    assert stub.keys() == {name for name in dir(_core) if not name.startswith("_")}
    for name, members in stub.items():
        thing = getattr(_core, name)
        if isinstance(thing, type) and name != "Error":
            assert members == {member for member in dir(thing) if not member.startswith("_")}, name
    dicts = names_of_stub(folder / "_parameters.pyi")
    for name in dicts.keys() - {"OwnParameter", "estimator_settings"}:
        assert dicts[name] == set(getattr(_parameters, name).__annotations__), name

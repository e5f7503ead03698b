"""The program that comes with the package: `python -m l2gcn`, and the command l2gcn."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

import l2gcn


def command() -> str:
    path = shutil.which("l2gcn", path=sysconfig.get_path("scripts"))
    if path is None:
        pytest.skip("the package is not installed, so there is no command")
    return path


@pytest.fixture(params=["module", "command"])
def start(request) -> list[str]:
    return [sys.executable, "-m", "l2gcn"] if request.param == "module" else [command()]


def test_it_is_the_program(start, tmp_path):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*start, *arguments], capture_output=True, text=True, cwd=tmp_path)

    version = run("--version")
    assert version.returncode == 0 and version.stdout.split()[:2] == ["l2gcn", l2gcn.__version__]
    trained = run("train", "synthetic:cora", "--preset", "paper", "--epochs", "1", "-o", "run")
    assert trained.returncode == 0, trained.stderr
    ours = l2gcn.train("synthetic:cora", preset="paper", epochs=1).model
    assert l2gcn.load_model(tmp_path / "run").tensors["layers.0.weight"].tobytes() == ours.tensors["layers.0.weight"].tobytes()
    wrong = run("train", "--nonsense")
    assert wrong.returncode == 2 and "--nonsense" in wrong.stderr


def test_defaults_are_the_programs(program, tmp_path):
    """Where nobody says anything, the program and Python train the same model; tests/cli/train_test.cpp compares C++'s."""
    for arguments in (["generate", "cora", "--nodes", "300", "--edges", "900", "-o", "small"], ["train", "small", "--device", "cpu", "-o", "run"]):
        done = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    theirs = l2gcn.load_model(tmp_path / "run").tensors
    ours = l2gcn.train(tmp_path / "small", device="cpu").model.tensors
    assert {name: tensor.tobytes() for name, tensor in ours.items()} == {name: tensor.tobytes() for name, tensor in theirs.items()}


def test_ranks_start_it(start, tmp_path):
    """Under mpirun the program joins the ranks, and not the interpreter that starts it: one result, and not two."""
    if shutil.which("mpirun") is None or not (pathlib.Path(l2gcn.__file__).parent / "libl2gcn_mpi.so").is_file():
        pytest.skip("this build has no MPI part, or mpirun is not installed")
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    launcher = ["mpirun", *as_root, "--oversubscribe", "--bind-to", "none", "-n", "2"]
    arguments = ["train", "synthetic:cora", "--preset", "paper", "--epochs", "1", "--json"]
    done = subprocess.run([*launcher, *start, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["method"]

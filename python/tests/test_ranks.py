"""A script under mpirun: rank 0 prints and writes what one process would, and a mistake ends all ranks."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import l2gcn

SCRIPT = """
import l2gcn, numpy as np
data = l2gcn.load_dataset("synthetic:cora")
run = l2gcn.train(data, preset="paper", method="lgcn", epochs=[3, 4], threads=1, device="cpu", **{settings})
print({{part: round(value, 6) for part, value in run.f1.items()}}, len(run.models))
print(run.history["loss"][-1], run.model.predict(data, threads=1, device="cpu")[:20].tolist())
print(l2gcn.compare(data, methods=["lgcn"], runs=2, epochs=2, threads=1, device="cpu").result["methods"][0]["f1"])
print(run.save("{output}"))
l2gcn.load_model("{output}")
"""


@pytest.fixture(scope="module")
def mpirun() -> list[str]:
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed (scripts/install-deps.sh --mpi)")
    if not (pathlib.Path(l2gcn.__file__).parent / "libl2gcn_mpi.so").is_file():
        pytest.skip("this build has no MPI part (scripts/install-deps.sh --mpi)")
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return ["mpirun", *as_root, "--oversubscribe", "--bind-to", "none", "-n", "2"]


def run_script(command: list[str], script: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("settings", [{"exchange": "memory"}, {"exchange": "messages"}, {"runs": 3}])
def test_two_ranks_are_one_script(mpirun: list[str], tmp_path: pathlib.Path, settings: dict[str, object]) -> None:
    script = SCRIPT.format(settings=settings, output="run")
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = run_script([], script, tmp_path / "one"), run_script(mpirun, script, tmp_path / "two")
    assert one.returncode == 0, one.stderr
    assert two.returncode == 0, two.stderr
    assert one.stdout == two.stdout
    files = [path.relative_to(tmp_path / "one") for path in sorted((tmp_path / "one").rglob("model.safetensors"))]
    assert files
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_callback_decides_on_rank_0(mpirun: list[str], tmp_path: pathlib.Path) -> None:
    script = """
import l2gcn
seen = []
def stop(decision):
    seen.append(decision.epoch)
    return decision.epoch >= 2
run = l2gcn.train("synthetic:cora", preset="paper", method="l2gcn", epochs=6, threads=1, device="cpu", callbacks=stop)
assert (len(seen) > 0) == (l2gcn.rank() == 0)
print([layer["epochs"] for layer in run.layers])
"""
    one, two = run_script([], script, tmp_path), run_script(mpirun, script, tmp_path)
    assert two.returncode == 0, two.stderr
    assert one.stdout == two.stdout


def test_an_exception_on_one_rank_ends_all(mpirun: list[str], tmp_path: pathlib.Path) -> None:
    script = """
import l2gcn
data = l2gcn.load_dataset("synthetic:cora")
if l2gcn.rank() == 1:
    raise RuntimeError("no more")
l2gcn.train(data, preset="paper", epochs=50, threads=1, device="cpu")
print("done")
"""
    ended = run_script(mpirun, script, tmp_path)
    assert ended.returncode != 0
    assert "RuntimeError: no more" in ended.stderr
    assert "done" not in ended.stdout


def test_mistakes_can_be_caught(mpirun: list[str], tmp_path: pathlib.Path) -> None:
    script = """
import l2gcn
try:
    l2gcn.train("synthetic:cora", preset="paper", epochs=1, batch=0)
except l2gcn.Error as error:
    print(error.kind)
print(l2gcn.train("synthetic:cora", preset="paper", epochs=1, threads=1, device="cpu").seeds)
"""
    two = run_script(mpirun, script, tmp_path)
    assert two.returncode == 0, two.stderr
    assert two.stdout.split() == ["usage", "[0]"]

"""The module and what it brings are hardened like the program (docs/explanation/security.md)."""

import pathlib
import subprocess
import sys

import l2gcn._core

CHECK = pathlib.Path(__file__).parents[2] / "tests/elf/check.sh"
LIMITED_TRAINING = """
import resource, sys, l2gcn
data = l2gcn.load_dataset("synthetic:cora")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    l2gcn.train(data, preset="paper", epochs=1, output=sys.argv[1])
except l2gcn.Error as error:
    print(error)
"""


def test_shipped_files_are_hardened() -> None:
    module = pathlib.Path(l2gcn._core.__file__)
    files = [module, *module.parent.glob("libl2gcn_mpi.so")]
    done = subprocess.run([CHECK, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_file_size_limit_is_an_error(tmp_path: pathlib.Path) -> None:
    """Python ignores SIGXFSZ, so the module need not change how the process handles signals."""
    done = subprocess.run([sys.executable, "-c", LIMITED_TRAINING, tmp_path / "run"], capture_output=True, text=True)
    assert "ulimit -f" in done.stdout, done.stdout + done.stderr
    assert not list(tmp_path.iterdir())

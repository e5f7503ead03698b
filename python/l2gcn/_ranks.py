"""The ranks of a launcher: `mpirun -n R python script.py` distributes the work of one script.

Every rank runs the same script. Calls that compute share their work and return the same on every rank; rank 0 alone prints
and writes files. Processes that the script starts are on their own.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from types import TracebackType
from typing import Callable, Optional, Type

from . import _core
from ._settings import error


def _end_all(ranks: _core.Ranks) -> None:
    """From now on, an exception that ends the script on one rank ends it on all ranks."""
    show = sys.excepthook

    def end(kind: Type[BaseException], value: BaseException, trace: Optional[TracebackType]) -> None:
        if ranks.rank == 0:
            show(kind, value, trace)
        sys.stdout.flush()
        sys.stderr.flush()
        ranks.abort(f"the script ended by {kind.__name__}: {value}")

    sys.excepthook = end


def _join() -> Optional[_core.Ranks]:
    if sys.argv[:1] == ["-m"]:
        return None  # `python -m l2gcn` is becoming the program (__main__.py), which joins by itself
    ranks = _core.join_ranks()
    if ranks is None:
        return None
    os.environ["L2GCN_RANKS"] = "alone"  # for processes that this one starts
    if ranks.rank > 0:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    _end_all(ranks)
    atexit.register(ranks.part)
    return ranks


joined = _join()


def rank() -> int:
    """Which of the processes of mpirun this is, from 0 on; 0 where the script was started alone.

    >>> rank()
    0
    """
    return 0 if joined is None else joined.rank


def by_rank_0(write: Callable[[], Optional[str]]) -> str:
    """What rank 0 writes, with what it returns or raises on every rank."""
    if joined is None:
        return write() or ""
    text: Optional[str] = ""
    failure: Optional[Exception] = None
    if joined.rank == 0:
        try:
            text = write()
        except Exception as raised:  # told to the others, and raised below
            failure = raised
    said = None if failure is None else [str(failure), getattr(failure, "kind", "runtime")]
    text, said = json.loads(joined.agree(json.dumps([text, said])))
    if failure is not None:
        raise failure
    if said is not None:
        raise error(said[0], said[1])
    return text or ""

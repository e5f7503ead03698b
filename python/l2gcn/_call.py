"""The arguments that every computing function shares: settings of the machine, progress and logging."""

from __future__ import annotations

import os
import re
import sys
import warnings
from typing import Any, Callable, Optional, Sequence, Union

from . import _core
from ._ranks import joined, rank
from ._wording import in_python

Progress = Union[bool, Callable[[dict[str, Any]], Any]]


# Notes that a caller must see are warnings in Python, where notes are off: data without an effect, a guess at the labels, a
# model that has learned nothing, and predictions without a step that its scores include.
_TOLD = re.compile(
    r"\bleft out\b|\bhave no (row|edge|features)\b|\bmodel (has not seen|does not know)\b"
    r"|\blabels are in column\b|\beach is a label\b|\bdoes not beat\b|\bpredicted without Correct & Smooth\b"
)
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def make_call(
    machine: Sequence[tuple[str, str]] = (),
    progress: Progress = False,
    verbose: int = 0,
    reword: Callable[[str], str] = in_python,
) -> _core.Call:
    """A call that computes with these settings of the machine. Among several ranks only the first one reports."""
    tell: Optional[Callable[[dict[str, Any]], Any]] = None
    leads = rank() == 0
    if callable(progress):
        tell = progress
    elif progress:
        tell = ProgressBar()

    def note(text: str) -> None:
        if _TOLD.search(text):
            warn(reword(text))
        elif verbose:
            print("l2gcn:", reword(text))

    return _core.Call(
        machine=list(machine),
        progress=tell if leads else None,
        note=note if leads else None,
        warning=(lambda text: warn(reword(text))) if leads else None,
        ranks=joined,
    )


# Small tasks run on one thread, because starting more takes longer.
ONE_THREAD = (("threads", "1"),)


def warn(text: str) -> None:
    """A UserWarning at the line that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


class ProgressBar:
    """One progress bar per layer, by tqdm where it is installed, else a line on standard error that is overwritten."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._key: Any = None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self._tqdm: Any = None
        else:
            self._tqdm = tqdm

    def __call__(self, progress: dict[str, Any]) -> None:
        if progress["epochs"] == 0:
            self.close()
            return
        key = (progress["phase"], progress["layer"])
        ends = progress["epoch"] >= progress["epochs"]
        title = f"{progress['phase']} {progress['layer']}/{progress['layers']}" if progress["layer"] else progress["phase"]
        if self._tqdm is None:
            sys.stderr.write(f"\r{title}: {progress['epoch']}/{progress['epochs']}, loss {progress['loss']:.4f} ")
            if ends:
                sys.stderr.write("\n")
            return
        if key != self._key or self._bar is None or self._bar.n > progress["epoch"]:
            self.close()
            self._key = key
            self._bar = self._tqdm(total=progress["epochs"], desc=title, leave=True)
        self._bar.update(progress["epoch"] - self._bar.n)
        self._bar.set_postfix(loss=f"{progress['loss']:.4f}", refresh=False)
        if ends:
            self.close()

    def close(self) -> None:
        """Ends the current bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

"""Rewrites the library's messages for Python: options of the command line become keyword arguments.

`--lr -1: expected a number above 0` reads `lr=-1: expected a number above 0`, `use a larger --memory` reads
`use a larger `memory``, and `pass --force` reads `pass force=True`. Command lines (`l2gcn train --resume RUN`) and options that
no call takes stay as they are. All errors, warnings and notes of the library pass through `in_python`.
"""

from __future__ import annotations

import functools
import re
from typing import Mapping, Optional

from . import _core
from ._settings import every_setting, machine_settings, open_options, run_settings

# Arguments of calls that no table has, and whether each is a flag.
_OTHERS = {"force": True, "resume": True, "layer": False, "methods": False, "max_seconds": False, "to_f1": False}

_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*[a-z0-9])")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.I)
# After an option that is named without a value the sentence goes on with one of these, or with a word that is no choice of it.
_NO_VALUE = {"and", "or", "if", "is", "to", "in", "for", "of", "are", "where", "with", "exclude", "describe", "leaves", "needs", "names", "choose"}


@functools.lru_cache(maxsize=None)
def _flags() -> Mapping[str, bool]:
    """Keyword arguments of all calls, and whether each is a flag."""
    rows = (*every_setting(), *run_settings(), *machine_settings())
    opening = {name: isinstance(value, bool) for name, value in open_options().items()}
    return {**_OTHERS, **{row.name: row.kind == "flag" for row in rows}, **opening}


@functools.lru_cache(maxsize=None)
def _choices() -> Mapping[str, tuple[str, ...]]:
    return {row.name: row.choices for row in (*every_setting(), *run_settings(), *machine_settings())}


def _is_placeholder(word: str) -> bool:
    """FILE and COLUMN stand for values."""
    return word.isalpha() and word.isupper() and len(word) > 1


def _value(text: str) -> str:
    """A value of the command line as Python spells it."""
    if _NUMBER.fullmatch(text) or _is_placeholder(text):
        return text
    if "," in text and all(_NUMBER.fullmatch(word) for word in text.split(",")):
        return "[" + text.replace(",", ", ") + "]"
    return {"true": "True", "false": "False"}.get(text, repr(text))


def _value_after(name: str, text: str, first: bool) -> Optional[str]:
    """The value that follows an option in a sentence, or None. `text` is what comes after the option."""
    if not text.startswith(" ") or text.startswith(" --"):
        return None
    word = re.split(r"[\s;)]", text[1:], maxsplit=1)[0].rstrip(".,:")
    if word in _choices().get(name, ()):
        return word
    if first:  # "--scratch PATH: what is wrong with it"
        said = re.match(r" (.*?):( |$)", text)
        return said[1] if said else None
    if _NUMBER.fullmatch(word) or word in ("auto", "balanced", "none") or _is_placeholder(word):
        return word
    # "give --id person": a column's name or a path, which may be any word.
    return word if (name in open_options() or name == "resume") and word and word not in _NO_VALUE else None


def in_python(text: str) -> str:
    """A sentence of the library as a caller in Python reads it.

    >>> in_python("--hidden 1,2,3: 3 values for 2 layers")
    'hidden=[1, 2, 3]: 3 values for 2 layers'
    >>> in_python("use a larger --memory or --device cpu")
    "use a larger `memory` or device='cpu'"
    """
    done, at, valued = "", 0, False
    for found in _OPTION.finditer(text):
        if found.start() < at:
            continue
        name = found[1].replace("-", "_")
        between, rest = text[at : found.start()], text[found.end() :]
        command = re.search(r"\bl2gcn [a-z-]+( [^,;:.()]*)?$", text[: found.start()])
        if name not in _flags() or command:
            continue
        value = None if _flags()[name] and name != "resume" else _value_after(name, rest, found.start() == 0)
        done += ", " if valued and between == " " else between
        at, valued = found.end(), True
        if name == "resume" and value is not None:  # only the program resumes a training
            done += "l2gcn train --resume"
        elif value is not None:
            done += f"{name}={_value(value)}"
            at += 1 + len(value)
        else:
            done += f"{name}=True" if _flags()[name] else f"`{name}`"
    return done + text[at:]


_core.set_wording(in_python)

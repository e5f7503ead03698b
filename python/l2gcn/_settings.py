"""The library's tables of settings, as Python uses them.

No parameter is named in this package: names, defaults, ranges and sentences are read from the tables inside the
library, and signatures, docstrings, type stubs and checks are generated from them. A setting that is added to a table is
there at once.
"""

from __future__ import annotations

import functools
import inspect
import json
import operator
import os
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Mapping, TypeVar

from . import _core


@dataclass(frozen=True)
class Setting:
    """One row of a table of settings."""

    name: str  # as a Python argument
    kind: str  # "text", "number", "list" or "flag"
    placeholder: str
    help: str
    choices: tuple[str, ...]
    range: str  # of a number, in words
    default: str  # as text
    methods: tuple[str, ...]  # that take it; empty: all
    group: str  # its heading in the program's --help-all
    level: str  # "basic" or "advanced"; what presets decide is for config files of the program alone

    @property
    def typed_default(self) -> Any:
        """The default as a Python value; None where there is none."""
        if self.kind == "flag":
            return self.default == "true"
        if self.kind == "text":
            return self.default or None
        values = [_number(word) for word in self.default.split(",") if word]
        return values[0] if len(values) == 1 else values or None

    def document(self) -> str:
        """Its paragraph of a docstring."""
        if self.choices:
            kind = "{" + ", ".join(repr(choice) for choice in self.choices) + "}"
        else:
            kind = {"flag": "bool", "number": "number", "list": "int or list of int"}.get(self.kind, "str")
            if self.kind == "number" and self.placeholder in ("N", "SIZE"):
                kind = "int"
            if self.kind != "flag" and self.kind != "text" and self.placeholder not in ("N", "X", "N[,N…]"):
                kind += " or str"
        if self.range:
            kind += " " + self.range
        from ._wording import in_python  # which reads these tables

        sentence = in_python(self.help)
        if self.methods:
            sentence += " (" + ", ".join(self.methods) + ")"
        return f"{self.name} : {kind}, default {self.typed_default!r}\n    {sentence}"


def _number(word: str) -> int | float | str:
    for convert in (int, float):
        try:
            return convert(word)
        except ValueError:
            pass
    return word


def _rows(table: Iterable[Mapping[str, Any]]) -> tuple[Setting, ...]:
    return tuple(
        Setting(
            name=row["name"].replace("-", "_"),
            kind=row["kind"],
            placeholder=row["placeholder"],
            help=row["help"],
            choices=tuple(row["choices"]),
            range=row["range"],
            default=row["default"],
            methods=tuple(row["methods"]),
            group=row["group"],
            level=row["level"],
        )
        for row in table
    )


@functools.lru_cache(maxsize=None)
def every_setting() -> tuple[Setting, ...]:
    """All rows of the tables of a training and of learning a controller, with those that presets decide."""
    return (*_rows(_core.train_settings()), *_rows(_core.search_settings()))


def _offered(table: Iterable[Mapping[str, Any]]) -> tuple[Setting, ...]:
    return tuple(row for row in _rows(table) if row.level != "preset")


@functools.lru_cache(maxsize=None)
def train_settings() -> tuple[Setting, ...]:
    """Every setting of a training, in the order of the program's --help-all.

    >>> [setting.name for setting in train_settings()][:3]
    ['method', 'preset', 'seed']
    """
    return _offered(_core.train_settings())


@functools.lru_cache(maxsize=None)
def search_settings() -> tuple[Setting, ...]:
    """Every setting of a search for a controller."""
    return _offered(_core.search_settings())


@functools.lru_cache(maxsize=None)
def run_settings() -> tuple[Setting, ...]:
    """Further options of a run: the number of seeds, and how often checkpoints are written."""
    return _rows(_core.run_settings())


@functools.lru_cache(maxsize=None)
def machine_settings() -> tuple[Setting, ...]:
    """The settings of the machine of every call: threads, device, budgets of memory, the way ranks exchange rows.

    >>> [setting.name for setting in machine_settings()]
    ['threads', 'device', 'device_memory', 'memory', 'scratch', 'local_data', 'exchange']
    """
    return _rows(_core.machine_settings())


@functools.lru_cache(maxsize=None)
def _stored_options() -> dict[str, tuple[str, Any]]:
    """Options of opening a data set by keyword, which is the program's name of it (`label` for --label), each with the name
    under which runs keep it (`label_column`) and its default."""
    stored = json.loads(_core.open_options_json())
    del stored["one_way"]  # of runs of earlier versions
    return {name.removesuffix("_column"): (name, value) for name, value in stored.items()}


@functools.lru_cache(maxsize=None)
def open_options() -> dict[str, Any]:
    """Every option of opening a data set, with its default."""
    return {keyword: default for keyword, (_, default) in _stored_options().items()}


def as_text(value: Any) -> str:
    """A Python value as the text that the table's own parser reads.

    >>> as_text([40, 120]), as_text(True), as_text(1e-3)
    ('40,120', 'true', '0.001')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if hasattr(value, "tolist"):  # NumPy's scalars and arrays
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(as_text(item) for item in value)
    return repr(value) if isinstance(value, float) else str(value)


Said = list[tuple[str, str]]


def parted(settings: Mapping[str, Any], *tables: Iterable[Setting]) -> list[Said]:
    """The caller's settings as the library takes them, one list for each table; None means not set.

    >>> parted({"lr": "auto", "memory": "8G", "seed": None}, train_settings(), machine_settings())
    [[('lr', 'auto')], [('memory', '8G')]]
    """
    homes = {row.name: home for home, table in enumerate(tables) for row in table}
    said: list[Said] = [[] for _ in tables]
    for name, value in settings.items():
        if name not in homes:
            raise unknown(name, homes)
        if value is not None:
            said[homes[name]].append((name, as_text(value)))
    return said


def unknown(name: str, known: Iterable[str], what: str = "setting") -> _core.Error:
    """The error for an unknown name: it names the nearest one, or the replacement of a removed one."""
    instead = _core.where_to_set(name)
    if instead:
        return error(instead, "usage")
    return error(f"unknown {what} '{name}': did you mean '{_core.nearest_name(name, list(known))}'?", "usage")


def options_and_machine(options: Mapping[str, Any]) -> tuple[str, Said]:
    """Options of opening a data set and settings of the machine, given side by side."""
    names = {row.name for row in machine_settings()}
    for name in options:
        if name not in names and name not in open_options():
            raise unknown(name, [*open_options(), *names], "option")
    machine = {name: value for name, value in options.items() if name in names}
    rest = {name: value for name, value in options.items() if name not in names}
    return options_json(rest), parted(machine, machine_settings())[0]


def options_json(options: Mapping[str, Any]) -> str:
    """Options of opening a data set as the library takes them."""
    known = open_options()
    said: dict[str, Any] = {"one_way": False}
    for name, value in options.items():
        if name not in known:
            raise unknown(name, known, "option")
        if value is None:
            continue
        if name in ("nodes", "edges") and isinstance(value, Mapping):  # by type, by relation
            said[f"{name[:-1]}_tables"] = {
                key if isinstance(key, str) else ":".join(map(str, key)): path_of(one, name) for key, one in value.items()
            }
            continue
        if name == "weight" and isinstance(value, (list, tuple)):
            value = ",".join(text_of(one, name) for one in value)
        expected = type(known[name])
        if expected is str:
            value = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value
            value = text_of(os.fspath(value), name) if isinstance(value, (str, os.PathLike)) else value
        elif hasattr(value, "item"):
            value = value.item()
        if not isinstance(value, expected) or isinstance(value, bool) is not (expected is bool):
            raise error(f"{name}: {value!r} given; expected {expected.__name__}", "usage")
        if expected is int:
            value = whole(value, name, 0, 2**64 - 1 if name.endswith("seed") else 2**32 - 1)
        said[_stored_options()[name][0]] = value
    return json.dumps(said)


def whole(value: Any, what: str, least: int = 0, most: int = 2**32 - 1) -> int:
    """A whole number within bounds; flags and fractions are not accepted."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        raise error(f"{what}: {value!r} given; expected a whole number from {least} to {most}", "usage")
    return number


def flag(value: Any, what: str) -> bool:
    """True or False, NumPy's included; None is False."""
    if value is not None and type(value).__name__ not in ("bool", "bool_"):
        raise error(f"{what}: {value!r} given; expected True or False", "usage")
    return bool(value)


def text_of(value: Any, what: str) -> str:
    """Text that can leave Python: a lone half of a surrogate pair cannot."""
    try:
        str(value).encode("utf-8")
    except UnicodeEncodeError:
        raise error(f"{what}: {value!r} holds characters that are no Unicode text") from None
    return str(value)


def path_of(value: Any, what: str) -> str:
    """A path as text."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise error(f"{what}: a {type(value).__name__} given; expected a path", "usage")
    path = os.fsdecode(value)
    if "\0" in path:
        raise error(f"{what}: {path!r} holds a null character, which no path has", "usage")
    return path


def error(text: str, kind: str = "input") -> _core.Error:
    """An l2gcn.Error of this package's own."""
    made = _core.Error(text)
    made.kind = kind
    return made


def document(table: Iterable[Setting], indent: str = "    ") -> str:
    """The settings of a table as the parameters of a docstring: basic ones first, the others under headings."""
    rows = tuple(table)
    basic = [row.document() for row in rows if row.level == "basic"]
    groups = dict.fromkeys(row.group for row in rows if row.level != "basic")
    others = [[row.document() for row in rows if row.group == group and row.level != "basic"] for group in groups]
    text = "\n".join([*basic, *(f"\n*{group}*\n\n" + "\n".join(part) for group, part in zip(groups, others))])
    return text.strip("\n").replace("\n", "\n" + indent)


Function = TypeVar("Function", bound=Callable[..., Any])


def documented(text: str, table: Iterable[Setting]) -> Callable[[Function], Function]:
    """A decorator: the docstring `text` with {settings} replaced by the table's, and the table's parameters in the
    signature in place of **settings."""

    def decorate(function: Function) -> Function:
        rows = tuple(table)
        function.__doc__ = inspect.cleandoc(text).replace("{settings}", document(rows, ""))
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [
            inspect.Parameter(row.name, inspect.Parameter.KEYWORD_ONLY, default=None)
            for row in rows
            if row.name not in signature.parameters
        ]
        setattr(function, "__signature__", signature.replace(parameters=own + more))
        return function

    return decorate

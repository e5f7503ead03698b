"""Writes the type stubs that are made, not written: _core.pyi from the module, _parameters.pyi from its tables.

Usage: make_stubs.py FOLDER, the folder that holds the built module and gets the stubs. Needs nanobind and neither NumPy
nor the rest of the package, so it runs where the package is built.
"""

from __future__ import annotations

import pathlib
import re
import sys
import types

folder = pathlib.Path(sys.argv[1])
package = types.ModuleType("l2gcn")
package.__path__ = [str(folder), str(pathlib.Path(__file__).parent.parent / "l2gcn")]
sys.modules["l2gcn"] = package

from nanobind.stubgen import StubGen  # noqa: E402

import l2gcn._core as core  # noqa: E402
from l2gcn._parameters import OWN_PARAMETERS, estimator_settings  # noqa: E402
from l2gcn._settings import (  # noqa: E402
    Setting,
    machine_settings,
    open_options,
    run_settings,
    search_settings,
    train_settings,
)


def type_of(row: Setting) -> str:
    """The Python type of a setting's values; None stands for the preset's value."""
    if row.kind == "flag":
        kind = "bool"
    elif row.choices:
        kind = "Literal[" + ", ".join(repr(choice) for choice in row.choices) + "]"
    elif row.kind == "list":
        kind = "int | Sequence[int] | str"
    elif row.kind == "number":
        kind = "int" if row.placeholder in ("N", "SIZE") else "float"
        kind += "" if row.placeholder in ("N", "X") else " | str"
    else:
        kind = "str | float | PathLike[str]"
    return kind + " | None"


def typed_dict(name: str, fields: dict[str, str]) -> str:
    return f"class {name}(TypedDict, total=False):\n" + "".join(f"    {key}: {kind}\n" for key, kind in fields.items())


def option_type(value: object) -> str:
    return "str | PathLike[str] | None" if isinstance(value, str) else f"{type(value).__name__} | None"


def types(*tables: tuple[Setting, ...]) -> dict[str, str]:
    return {row.name: type_of(row) for table in tables for row in table}


opening = {name: option_type(value) for name, value in open_options().items()}
own = {one.name: one.type for one in OWN_PARAMETERS}
parameters = [
    '"""Made by python/tools/make_stubs.py from the library\'s tables of settings."""\n\n'
    "from os import PathLike\nfrom typing import Any, Literal, NamedTuple, Sequence, TypedDict\n\n"
    "from ._settings import Setting\n\n"
    "class OwnParameter(NamedTuple):\n    name: str\n    default: Any\n    kind: str\n    type: str\n    help: str\n\n"
    "NOT_OF_ESTIMATORS: tuple[str, ...]\nOWN_PARAMETERS: tuple[OwnParameter, ...]\n\n"
    "def estimator_settings() -> tuple[Setting, ...]: ...\n",
    typed_dict("TrainSettings", types(train_settings())),
    typed_dict("MachineSettings", types(machine_settings())),
    typed_dict("TrainArguments", types(train_settings(), run_settings(), machine_settings())),
    typed_dict("StudyArguments", types(train_settings(), machine_settings())),
    typed_dict("SearchArguments", types(search_settings(), machine_settings())),
    typed_dict("OpenOptions", opening),
    typed_dict("EstimatorSettings", {**types(estimator_settings()), **own}),
]
(folder / "_parameters.pyi").write_text("\n".join(parameters), encoding="utf-8")

generator = StubGen(core)
generator.put(core)
text = generator.get()
# What is an object to the binding is whatever the function gives: arrays, dicts, None.
text = re.sub(r"\bobject\b(?! stubs)", "Any", text)
text = re.sub(r"-> dict:", "-> dict[str, Any]:", text)
text = re.sub(r"-> list:", "-> list[Any]:", text)
text = re.sub(r"-> tuple:", "-> tuple[Any, ...]:", text)
text = re.sub(r": dict\b(?!\[)", ": dict[str, Any]", text)
text = re.sub(r": list\b(?!\[)", ": list[Any]", text)
# The class lives in the module and bears the package's name, by which the generator would import it.
text = text.replace("from l2gcn import Error as Error\n", "")
text += "\nclass Error(ValueError):\n    kind: str\n"
if "from typing import Any" not in text:
    text = "from typing import Any\n\n" + text
(folder / "_core.pyi").write_text(text, encoding="utf-8")

"""Trains graph convolutional networks layer by layer.

>>> import l2gcn
>>> data = l2gcn.load_dataset("synthetic:cora")
>>> run = l2gcn.train(data, method="lgcn", epochs=[4, 6], seed=7)
>>> sorted(run.f1)
['test', 'train', 'val']

`load_dataset` opens what the program opens, and takes arrays, DataFrames and graphs of NumPy, scipy, pandas, polars, NetworkX,
PyG and DGL; `train`, `learn_controller`, `compare`, `evaluate` and `report` are the program's commands, to the same bits; `GCNClassifier`,
`GCNRegressor` and `GCNEmbedder` follow scikit-learn's conventions. Mistakes are `l2gcn.Error`, a ValueError, with the program's sentences.

Importing needs NumPy and nothing else; other libraries are used when the caller has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._core import Error, build_features as _build_features, methods as _methods, version as _version
from ._dataset import Dataset, Split, list_datasets, load_dataset
from ._model import Model, evaluate, load_model
from ._ranks import rank
from ._settings import Setting, machine_settings, run_settings, search_settings, train_settings
from ._training import Comparison, Controller, Decision, Run, compare, learn_controller, plan, report, train

if TYPE_CHECKING:
    from ._estimators import GCNClassifier, GCNEmbedder, GCNRegressor, NotFittedError

__version__: str = _version()

__all__ = [
    "Comparison",
    "Controller",
    "Dataset",
    "Decision",
    "Error",
    "GCNClassifier",
    "GCNEmbedder",
    "GCNRegressor",
    "Model",
    "NotFittedError",
    "Run",
    "Setting",
    "Split",
    "build_features",
    "compare",
    "evaluate",
    "learn_controller",
    "list_datasets",
    "load_dataset",
    "load_model",
    "machine_settings",
    "methods",
    "plan",
    "rank",
    "report",
    "run_settings",
    "search_settings",
    "train",
    "train_settings",
]


def build_features() -> dict[str, str]:
    """The properties of this build: the SIMD level in use, optional parts, and whether it can use a CUDA device."""
    return dict(_build_features())


def methods() -> dict[str, str]:
    """The methods that it can train, each with a sentence; the default first."""
    return dict(_methods())


def __getattr__(name: str) -> Any:
    # The estimators take scikit-learn's base classes where it is installed, so they are imported when first asked for.
    if name in ("GCNClassifier", "GCNEmbedder", "GCNRegressor", "NotFittedError"):
        from . import _estimators

        value = getattr(_estimators, name)
        globals()[name] = value
        return value
    if name == "search":
        raise AttributeError("l2gcn.search has gone; use l2gcn.learn_controller")
    raise AttributeError(f"module 'l2gcn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))

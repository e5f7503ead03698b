"""Keyword arguments that are told by tables: types of those that come from the library, and the estimators' own.

A type checker reads the stub beside this file, which is made from the same tables when the package is built.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypedDict

from ._settings import open_options, search_settings, train_settings

# What an estimator says in another way: fit() is given the split, and scikit-learn calls the seed random_state.
NOT_OF_ESTIMATORS = ("split", "seed")


class OwnParameter(NamedTuple):
    """A parameter that estimators have besides the library's settings."""

    name: str
    default: Any
    kind: str  # for people
    type: str  # for a type checker
    help: str


OWN_PARAMETERS = (
    OwnParameter(
        "random_state",
        0,
        "int, RandomState, Generator or None",
        "Any",
        "Everything drawn at random follows from it; None draws a new seed for each fit.",
    ),
    OwnParameter(
        "n_jobs",
        None,
        "int",
        "int | None",
        "Threads; None or -1: one per core this process may use. Results do not depend on it.",
    ),
    OwnParameter("device", "auto", "{'auto', 'cpu', 'cuda'}", "str", "Where to compute."),
    OwnParameter(
        "data",
        None,
        "Dataset",
        "Any",
        "A data set whose nodes are the samples: X is then an array of node numbers, and the features and the graph are "
        "this data set's. So `cross_val_score` and `GridSearchCV` split nodes and not the graph.",
    ),
    OwnParameter("callbacks", None, "function or list of functions", "Any", "As for `train`."),
    OwnParameter("progress", False, "bool or function", "Any", "As for `train`."),
    OwnParameter("verbose", 0, "int", "int", "Print the library's notes."),
)

_ESTIMATOR_NAMES = [row.name for row in train_settings() if row.name not in NOT_OF_ESTIMATORS]
_ESTIMATOR_NAMES += [own.name for own in OWN_PARAMETERS]

TrainSettings = TypedDict("TrainSettings", {row.name: Any for row in train_settings()}, total=False)  # type: ignore[misc]
SearchSettings = TypedDict("SearchSettings", {row.name: Any for row in search_settings()}, total=False)  # type: ignore[misc]
OpenOptions = TypedDict("OpenOptions", {name: Any for name in open_options()}, total=False)  # type: ignore[misc]
EstimatorSettings = TypedDict("EstimatorSettings", {name: Any for name in _ESTIMATOR_NAMES}, total=False)  # type: ignore[misc]

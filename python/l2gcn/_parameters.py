"""Keyword arguments described by tables: types of those that come from the library, and the estimators' own.

A type checker reads the stub beside this file, which is generated from the same tables when the package is built.
"""

from __future__ import annotations

from typing import Any, Iterable, NamedTuple, TypedDict

from ._settings import Setting, machine_settings, open_options, run_settings, search_settings, train_settings

# Settings that an estimator takes in another way: fit() gets the split, and scikit-learn calls the seed random_state and the
# threads n_jobs.
NOT_OF_ESTIMATORS = ("split", "seed", "threads")


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



def _names(*tables: Iterable[Setting]) -> dict[str, Any]:
    return {row.name: Any for table in tables for row in table}


def estimator_settings() -> tuple[Setting, ...]:
    """The settings of a training and of the machine that an estimator has."""
    return tuple(row for row in (*train_settings(), *machine_settings()) if row.name not in NOT_OF_ESTIMATORS)


_OPEN = {name: Any for name in open_options()}
_OWN = {own.name: Any for own in OWN_PARAMETERS}

TrainSettings = TypedDict("TrainSettings", _names(train_settings()), total=False)  # type: ignore[misc]
MachineSettings = TypedDict("MachineSettings", _names(machine_settings()), total=False)  # type: ignore[misc]
TrainArguments = TypedDict(  # type: ignore[misc]
    "TrainArguments", _names(train_settings(), run_settings(), machine_settings()), total=False
)
StudyArguments = TypedDict("StudyArguments", _names(train_settings(), machine_settings()), total=False)  # type: ignore[misc]
SearchArguments = TypedDict("SearchArguments", _names(search_settings(), machine_settings()), total=False)  # type: ignore[misc]
OpenOptions = TypedDict("OpenOptions", _OPEN, total=False)  # type: ignore[misc]
EstimatorSettings = TypedDict("EstimatorSettings", {**_names(estimator_settings()), **_OWN}, total=False)  # type: ignore[misc]

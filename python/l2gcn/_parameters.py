"""Types of the keyword arguments that come from the library's tables.

A type checker reads the stub beside this file, which is made from the same tables when the package is built.
"""

from __future__ import annotations

from typing import Any, TypedDict

from ._settings import open_options, search_settings, train_settings

# What an estimator says in another way: fit() is given the split, and scikit-learn calls the seed random_state.
NOT_OF_ESTIMATORS = ("split", "seed")

TrainSettings = TypedDict("TrainSettings", {row.name: Any for row in train_settings()}, total=False)  # type: ignore[misc]
SearchSettings = TypedDict("SearchSettings", {row.name: Any for row in search_settings()}, total=False)  # type: ignore[misc]
OpenOptions = TypedDict("OpenOptions", {name: Any for name in open_options()}, total=False)  # type: ignore[misc]
EstimatorSettings = TypedDict(  # type: ignore[misc]
    "EstimatorSettings",
    {row.name: Any for row in train_settings() if row.name not in NOT_OF_ESTIMATORS},
    total=False,
)

"""Base classes of the estimators: scikit-learn's where it is installed, else the part of them that gets and sets
parameters."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ._core import Error

if TYPE_CHECKING:

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...

    class ClassifierMixin: ...

    class RegressorMixin: ...

    class TransformerMixin:
        def __init_subclass__(cls, auto_wrap_output_keys: Any = None) -> None: ...

    class _NotFitted(ValueError, AttributeError): ...

    HAS_SKLEARN: bool = True

else:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
        from sklearn.exceptions import NotFittedError as _NotFitted

        HAS_SKLEARN = True
    except ImportError:
        HAS_SKLEARN = False

        class _NotFitted(ValueError, AttributeError):
            pass

        class BaseEstimator:
            @classmethod
            def _get_param_names(cls):
                parameters = inspect.signature(cls.__init__).parameters.values()
                return sorted(p.name for p in parameters if p.name != "self")

            def get_params(self, deep=True):
                return {name: getattr(self, name) for name in self._get_param_names()}

            def set_params(self, **params):
                known = self._get_param_names()
                for name, value in params.items():
                    if name not in known:
                        raise ValueError(f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {known!r}.")
                    setattr(self, name, value)
                return self

            def __repr__(self):
                said = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not None]
                return f"{type(self).__name__}({', '.join(said)})"

        class ClassifierMixin:
            pass

        class RegressorMixin:
            pass

        class TransformerMixin:
            def __init_subclass__(cls, auto_wrap_output_keys=None, **kwargs):
                super().__init_subclass__(**kwargs)


class NotFittedError(Error, _NotFitted):
    """The estimator was used before fit(); also scikit-learn's NotFittedError where that is installed."""

    kind = "usage"

"""Estimators that follow scikit-learn's conventions.

Their parameters are the library's settings, read from its table; None stands for what the program would take. They are
kept as they were given and checked by fit(), as scikit-learn expects. transform() may be called without X, for the nodes
of fit(), so scikit-learn's wrapper of its output (set_output) is switched off.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _core
from ._arrays import as_array, feature_names, index_array, is_missing, label_array, node_mask, weight_array
from ._base import HAS_SKLEARN, BaseEstimator, ClassifierMixin, NotFittedError, RegressorMixin, TransformerMixin
from ._call import warn
from ._dataset import Dataset, stored_features, target_arrays
from ._model import Model
from ._parameters import OWN_PARAMETERS, estimator_settings
from ._settings import document, error, machine_settings, unknown, whole
from ._training import train

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._parameters import EstimatorSettings

__all__ = ["GCNClassifier", "GCNEmbedder", "GCNRegressor", "NotFittedError"]


def _document_own() -> str:
    return "\n".join(f"{own.name} : {own.kind}, default {own.default!r}\n    {own.help}" for own in OWN_PARAMETERS)


def _signature(extra: dict[str, Any]) -> inspect.Signature:
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    names = {**extra, **{row.name: None for row in estimator_settings()}}
    names.update({own.name: own.default for own in OWN_PARAMETERS})
    for name, default in names.items():
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
    return inspect.Signature(parameters)


def _parameters_from_table(text: str, **extra: Any) -> Any:
    """A class decorator: __init__ takes every setting of the table, and the docstring describes them."""

    def decorate(cls: Any) -> Any:
        signature = _signature(extra)

        def __init__(self: Any, **given: Any) -> None:
            defaults = {name: p.default for name, p in signature.parameters.items() if name != "self"}
            for name in given:
                if name not in defaults:
                    raise unknown(name, defaults)
            for name, default in defaults.items():
                setattr(self, name, given.get(name, default))

        __init__.__signature__ = signature  # type: ignore[attr-defined]
        __init__.__doc__ = "Keeps the parameters; fit() checks them."
        cls.__init__ = __init__
        settings = document(estimator_settings(), "")
        cls.__doc__ = inspect.cleandoc(text).replace("{parameters}", settings + "\n" + _document_own())
        return cls

    return decorate


class _GraphEstimator(BaseEstimator):
    """Shared by all estimators: trains a model on X, y and a graph, and returns arrays."""

    if TYPE_CHECKING:
        model_: Model
        classes_: Any
        label_type_: Any
        known_: np.ndarray
        data_: Dataset
        data: Optional[Dataset]
        n_features_in_: int

        def __init__(self, **settings: Unpack[EstimatorSettings]) -> None: ...

    def _fit(self, X: Any, y: Any, graph: Any, val: Any) -> None:
        if y is None:
            raise error(f"{type(self).__name__} requires y to be passed, but the target y is None; unlabelled nodes are −1 or NaN")
        parameters = self.get_params(deep=False)
        features, graph, count, nodes = self._samples(X, graph)
        labels = self._labels(y, count if nodes is None else len(nodes))
        if nodes is not None:
            labels = _spread(labels, nodes, count)
        known = self._known_nodes(labels)
        split: Optional[str] = "random:0.9,0.1,0"
        parts: dict[str, Any] = {}
        if val is not None:
            mask = node_mask(val, count, "val")
            parts, split = {"train": known & ~mask, "val": known & mask}, None
        data = _make(features, graph, labels, **parts, **self._label_options(count, nodes))
        settings = {row.name: parameters[row.name] for row in estimator_settings()}
        run = train(
            data,
            threads=self._threads(parameters),
            callbacks=parameters["callbacks"],
            progress=parameters["progress"],
            verbose=parameters["verbose"],
            split=split,
            seed=self._seed(parameters),
            **settings,
        )
        self.data_ = data
        self.has_graph_ = graph is not None
        self.model_ = run.model
        self.known_ = np.flatnonzero(run._split()[1] == 1)
        self.result_ = run.result
        self.history_ = run.history
        self.n_iter_ = int(sum(layer["epochs"] for layer in run.layers))
        self.n_features_in_ = 1 if nodes is not None else data.n_features

    # What a node is to learn: classes, unless an estimator has it otherwise.

    def _labels(self, y: Any, count: int) -> np.ndarray:
        labels, self.classes_, self.label_type_ = _encode(y, count)
        return labels

    @staticmethod
    def _known_nodes(labels: np.ndarray) -> np.ndarray:
        return np.asarray(labels >= 0 if labels.ndim == 1 else ~(labels < 0).any(axis=1))

    def _label_options(self, count: int, nodes: Optional[np.ndarray]) -> dict[str, Any]:
        return {"class_names": [str(name) for name in np.asarray(self.classes_)]}

    def _samples(self, X: Any, graph: Any) -> tuple[Any, Any, int, Optional[np.ndarray]]:
        """(features, graph, nodes, node numbers of the samples or None)."""
        bound = self.get_params(deep=False)["data"]
        if bound is None:
            self._remember_names(X)
            X = _with_shape(X)
            if len(X.shape) == 2 and X.shape[1] == 0:
                raise error(
                    f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required; train() makes "
                    "features from the graph of a Dataset that has none"
                )
            if X.shape[0] == 0:
                raise error("Found array with 0 sample(s) while a minimum of 1 is required: X has no rows")
            return X, graph, int(X.shape[0]), None
        if graph is not None:
            raise error("data has its graph; give either data, or graph beside features", "usage")
        if not isinstance(bound, Dataset):
            raise error(f"data: a {type(bound).__name__} given; expected a Dataset, as load_dataset gives", "usage")
        numbers = _node_numbers(X, bound.n_nodes)
        features = bound.features if bound.n_features else None
        return features, bound, bound.n_nodes, numbers

    def _remember_names(self, X: Any) -> None:
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_names(self, X: Any) -> None:
        """Raises where a DataFrame's columns are not those of fit()."""
        names, fitted = feature_names(X), getattr(self, "feature_names_in_", None)
        if fitted is None or names is None:
            if (fitted is None) != (names is None):
                import warnings

                had, has = ("does not have", "was fitted with") if names is None else ("has", "was fitted without")
                warnings.warn(
                    f"X {had} valid feature names, but {type(self).__name__} {has} feature names", UserWarning, stacklevel=4
                )
            return
        if list(names) == list(fitted):
            return
        text = "The feature names should match those that were passed during fit.\n"
        unseen, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
        if unseen:
            text += "Feature names unseen at fit time:\n" + "".join(f"- {name}\n" for name in unseen)
        if missing:
            text += "Feature names seen at fit time, yet now missing:\n" + "".join(f"- {name}\n" for name in missing)
        if not unseen and not missing:
            text += "Feature names must be in the same order as they were in fit.\n"
        raise error(text)

    @staticmethod
    def _threads(parameters: dict[str, Any]) -> Optional[int]:
        jobs = parameters["n_jobs"]
        if jobs is None or (isinstance(jobs, (int, np.integer)) and jobs < 0):
            return None
        return whole(jobs, "n_jobs", 1)

    @staticmethod
    def _seed(parameters: dict[str, Any]) -> int:
        state = parameters["random_state"]
        if state is None:
            return int(np.random.SeedSequence().generate_state(1)[0])
        if isinstance(state, np.random.Generator):
            return int(state.integers(2**31))
        if hasattr(state, "randint"):
            return int(state.randint(2**31 - 1))
        return whole(state, "random_state", 0, 2**64 - 1)

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )

    def _target(self, X: Any, graph: Any) -> tuple[Dataset, Optional[np.ndarray], bool]:
        """The data set to predict for, the nodes of it (None: all), and whether they are those of fit()."""
        self._check_fitted()
        if X is None:
            if graph is not None:
                raise error("a new graph needs its X", "usage")
            return self.data_, None, True
        if self.data is not None:
            numbers = _node_numbers(X, self.data_.n_nodes)
            return self.data_, numbers, True
        self._check_names(X)
        same = graph is None and self.has_graph_
        if same:
            rows = _with_shape(X).shape[0]
            if rows != self.data_.n_nodes:
                raise error(
                    f"X has {rows} rows, but the graph has {self.data_.n_nodes} nodes; expected one row a node. Give the new "
                    "nodes' graph beside X"
                )
            graph = self.data_
        labels = self.data_.labels if same else None
        made = _make(X, graph, labels)
        if made.n_features != self.n_features_in_:
            raise error(
                f"X has {made.n_features} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input"
            )
        if same and not _same_features(made, self.data_):
            warn("X is not the X of fit(): its rows are taken for the nodes of fit(), in their graph. For other nodes give graph=")
        return made, None, same

    def _compute(self, what: str, X: Any, graph: Any, **more: Any) -> np.ndarray:
        data, nodes, same = self._target(X, graph)
        parameters = self.get_params(deep=False)
        machine = {row.name: parameters.get(row.name) for row in machine_settings()}
        machine["threads"] = self._threads(parameters)
        function = getattr(self.model_, what)
        if what != "embed":
            more["known"] = self.known_ if same else None
        values: np.ndarray = function(data, **machine, **more)
        return values if nodes is None else values[nodes]

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.tensors[f"layers.{self.model_.n_layers - 1}.weight"].shape[1])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that transform() returns."""
        self._check_fitted()
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{i}" for i in range(self._n_features_out)], dtype=object)

    if HAS_SKLEARN:

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.input_tags.sparse = True
            tags.target_tags.required = True
            return tags


@_parameters_from_table(
    """Graph convolutional network for node classification, by scikit-learn's conventions.

    It is transductive: fit() sees the features and edges of all nodes, and predict() without arguments labels them. For other
    nodes give predict() their features and their graph.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : array
        Class labels as they were in y; for a matrix of labels, 0 … labels − 1.
    model_ : Model
    history_ : dict of arrays
        One row an epoch (`Run.history`).
    result_ : dict
        What the program's train prints.
    n_features_in_, feature_names_in_, n_iter_ :
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.eye(6, dtype="float32")
    >>> ring = [[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3]]
    >>> clf = GCNClassifier(hidden=8, layers=1, method="lgcn", lr=0.1)
    >>> clf.fit(X, ["a", "a", None, "b", "b", None], graph=ring).predict().tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """
)
class GCNClassifier(ClassifierMixin, TransformerMixin, _GraphEstimator, auto_wrap_output_keys=None):
    """Replaced by the decorator."""

    def fit(self, X: Any, y: Any = None, *, graph: Any = None, val: Any = None) -> Self:
        """Trains on the nodes whose label is known.

        Parameters
        ----------
        X : array (nodes, columns), scipy.sparse matrix or DataFrame
            Features of every node, labelled or not. float32 in C order is not copied.
        y : array (nodes,) of labels of any kind, or (nodes, labels) of 0 and 1
            −1, NaN or None: unlabelled.
        graph : scipy.sparse matrix, array (2, edges), NetworkX graph or Dataset, optional
            None: no edges, each node is on its own.
        val : mask or node numbers, optional
            Labelled nodes that only decide when to stop; None: a stratified tenth of them.
        """
        self._fit(X, y, graph, val)
        return self

    def predict(self, X: Any = None, graph: Any = None) -> np.ndarray:
        """Labels of every node: of the nodes of fit(), or of other nodes with the same columns.

        Parameters
        ----------
        X : as in fit(), optional
            None: the nodes of fit(). After fit() with a graph, an X without one must have a row for each of those nodes; if
            its values differ from those of fit(), a warning says that its rows are taken for the same nodes.
        graph : as in fit(), optional
            The edges among the rows of X. For nodes that fit() has not seen, it is required.
        """
        decisions = self._compute("predict", X, graph, raw=True)
        if decisions.ndim == 2:
            return decisions.astype(self.label_type_)
        return np.asarray(self.classes_)[decisions]

    def predict_proba(self, X: Any = None, graph: Any = None) -> np.ndarray:
        """Probabilities (nodes, classes), columns in the order of classes_."""
        return self._compute("predict_proba", X, graph)

    def decision_function(self, X: Any = None, graph: Any = None) -> np.ndarray:
        """Logits (nodes, classes); for two classes the logit of the second minus that of the first (nodes,)."""
        logits = self._compute("logits", X, graph)
        return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 and not self.model_.multilabel else logits

    def transform(self, X: Any = None, graph: Any = None) -> np.ndarray:
        """The output of the last layer for every node (nodes, width)."""
        return self._compute("embed", X, graph)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """fit(), then transform() of the same nodes."""
        return self.fit(X, y, **fit_params).transform(X if self.data is not None else None)

    def score(self, X: Any = None, y: Any = None, *, mask: Any = None, graph: Any = None, sample_weight: Any = None) -> float:
        """Share of nodes whose class is right; micro F1 for a matrix of labels. Unlabelled nodes are left out.

        >>> clf.score(y=truth, mask=test)    # doctest: +SKIP
        """
        if y is None:
            raise error("score: y is missing: the true labels", "usage")
        predicted = self.predict(X, graph)
        truth = label_array(y)
        if truth.shape[0] != predicted.shape[0]:
            raise error(f"score: y has {truth.shape[0]} rows for {predicted.shape[0]} nodes; expected one a node")
        known = _is_known(truth, self.classes_)
        if mask is not None:
            known = known & node_mask(mask, len(known), "mask")
        if predicted.ndim == 2:
            hit = (predicted[known] == 1) & (truth[known] == 1)
            total = (predicted[known] == 1).sum() + (truth[known] == 1).sum()
            return float(2 * hit.sum() / total) if total else 0.0
        weights = None
        if sample_weight is not None:
            given = weight_array(sample_weight)
            if given.shape != known.shape:
                raise error(f"score: sample_weight has {len(given)} values for {len(known)} nodes; expected one a node")
            weights = given[known]
        return float(np.average(predicted[known] == truth[known], weights=weights))

    if HAS_SKLEARN:

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.classifier_tags.multi_label = True
            tags.transformer_tags.preserves_dtype = ["float32"]
            return tags


@_parameters_from_table(
    """Graph convolutional network for the regression of numbers, by scikit-learn's conventions.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    model_, history_, result_, n_features_in_, feature_names_in_, n_iter_ :
        As in `GCNClassifier`.

    Examples
    --------
    >>> reg = GCNRegressor(preset="paper", random_state=0).fit(X, y, graph=A)    # doctest: +SKIP
    >>> reg.score(y=truth, mask=test)                                            # doctest: +SKIP
    """
)
class GCNRegressor(RegressorMixin, TransformerMixin, _GraphEstimator, auto_wrap_output_keys=None):
    """Replaced by the decorator."""

    def fit(self, X: Any, y: Any = None, *, graph: Any = None, val: Any = None, sample_weight: Any = None) -> Self:
        """Trains on the nodes that have a target.

        Parameters
        ----------
        X, graph : as in `GCNClassifier.fit`
        y : array (nodes,) or (nodes, targets) of numbers
            NaN or None: the node does not have this target.
        val : mask or node numbers, optional
            Nodes with a target that only decide when to stop; None: a tenth of them.
        sample_weight : array (nodes,), optional
            By what nodes count in the loss; above 0.
        """
        self._weights = sample_weight
        try:
            self._fit(X, y, graph, val)
        finally:
            del self._weights
        return self

    def predict(self, X: Any = None, graph: Any = None) -> np.ndarray:
        """Numbers of every node, float32 (nodes,) or (nodes, targets)."""
        return self._compute("predict", X, graph)

    def transform(self, X: Any = None, graph: Any = None) -> np.ndarray:
        """The output of the last layer for every node (nodes, width)."""
        return self._compute("embed", X, graph)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """fit(), then transform() of the same nodes."""
        return self.fit(X, y, **fit_params).transform(X if self.data is not None else None)

    def score(self, X: Any = None, y: Any = None, *, mask: Any = None, graph: Any = None, sample_weight: Any = None) -> float:
        """R², the mean over the targets. Missing targets are left out."""
        if y is None:
            raise error("score: y is missing: the true numbers", "usage")
        predicted = self.predict(X, graph).reshape(-1, self.model_.n_classes).astype(float)
        truth = target_arrays(label_array(y))["targets"].astype(float)
        if truth.shape != predicted.shape:
            raise error(f"score: y is {truth.shape[0]} × {truth.shape[1]}, predictions are {predicted.shape[0]} × {predicted.shape[1]}")
        chosen = np.ones(len(truth), dtype=bool) if mask is None else node_mask(mask, len(truth), "mask")
        weights = np.ones(len(truth)) if sample_weight is None else weight_array(sample_weight).astype(float)
        if len(weights) != len(truth):
            raise error(f"score: sample_weight has {len(weights)} values for {len(truth)} nodes; expected one a node")
        known = chosen[:, None] & ~np.isnan(truth)
        return float(np.mean([_r2(truth[k, c], predicted[k, c], weights[k]) for c, k in enumerate(known.T)]))

    def _labels(self, y: Any, count: int) -> np.ndarray:
        labels = target_arrays(label_array(y))["targets"]
        if len(labels) != count:
            raise error(f"y has {len(labels)} rows, but X has {count}; expected one row a node")
        if np.isinf(labels).any():
            raise error("y: Input y contains infinity; expected numbers, and NaN where one is missing")
        if self._known_nodes(labels).sum() < 2:
            raise error("y: no node or one sample alone has a target; training needs several")
        return labels

    @staticmethod
    def _known_nodes(labels: np.ndarray) -> np.ndarray:
        return np.asarray(~np.isnan(labels).all(axis=1))

    def _label_options(self, count: int, nodes: Optional[np.ndarray]) -> dict[str, Any]:
        options: dict[str, Any] = {"task": "regression"}
        if self._weights is not None:
            weights = weight_array(self._weights)
            if nodes is not None:
                spread = np.ones(count, dtype=np.float32)
                spread[nodes] = weights
                weights = spread
            options["sample_weight"] = weights
        return options

    if HAS_SKLEARN:

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.target_tags.multi_output = True
            tags.transformer_tags.preserves_dtype = ["float32"]
            return tags


@_parameters_from_table(
    """Graph convolutional network as a transformer: fit() learns from the labels, transform() gives embeddings.

    Parameters
    ----------
    layer : int, default 0
        The layer whose output is given; 1 is the first, 0 the last.
    {parameters}

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression    # doctest: +SKIP
    >>> Z = GCNEmbedder(layers=2).fit_transform(X, y, graph=A)    # doctest: +SKIP
    """,
    layer=0,
)
class GCNEmbedder(TransformerMixin, _GraphEstimator, auto_wrap_output_keys=None):
    """Replaced by the decorator."""

    if TYPE_CHECKING:
        layer: int

        def __init__(self, *, layer: int = 0, **settings: Unpack[EstimatorSettings]) -> None: ...

    def fit(self, X: Any, y: Any = None, *, graph: Any = None, val: Any = None) -> Self:
        """As `GCNClassifier.fit`."""
        self._fit(X, y, graph, val)
        return self

    def transform(self, X: Any = None, graph: Any = None) -> np.ndarray:
        """The output of the layer for every node (nodes, width): of the nodes of fit(), or of a new graph."""
        return self._compute("embed", X, graph, layer=self.layer)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """fit(), then transform() of the same nodes."""
        fitted = self.fit(X, y, **fit_params)
        return fitted.transform(X if self.data is not None else None)

    @property
    def _n_features_out(self) -> int:
        layer = self.layer or self.model_.n_layers
        return int(self.model_.tensors[f"layers.{layer - 1}.weight"].shape[1])

    if HAS_SKLEARN:

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.transformer_tags.preserves_dtype = ["float32"]
            return tags


def _is_known(y: np.ndarray, classes: Any = None) -> np.ndarray:
    """Which nodes have a label. −1 is a class where `classes` has it or where −1 and 1 are the only labels; else it is none."""
    if y.ndim == 2:
        return np.array(~((y < 0) | np.not_equal(y, y)).any(axis=1))
    if y.dtype.kind not in "Ofi":
        return np.ones(len(y), dtype=bool)
    if y.dtype.kind == "O":
        known = np.array([not is_missing(value) for value in y], dtype=bool)
        one = np.array([_is_number(value, 1) for value in y], dtype=bool)
        minus_one = np.array([_is_number(value, -1) for value in y], dtype=bool)
    else:
        known, one, minus_one = np.equal(y, y), np.equal(y, 1), np.equal(y, -1)
    others = known & ~minus_one
    is_class = bool(others.any() and one[others].all())
    if classes is not None:
        is_class = any(_is_number(value, -1) for value in classes)
    return np.array(known if is_class else others)


def _is_number(value: Any, number: int) -> bool:
    return isinstance(value, (int, float, np.number)) and bool(value == number)


def _node_numbers(X: Any, count: int) -> np.ndarray:
    """Samples that are node numbers, as cross-validation passes them: (samples,) or (samples, 1)."""
    array = np.atleast_1d(as_array(X, "X"))
    numbers = index_array(array.reshape(len(array), -1)[:, 0] if array.size else array.reshape(-1), "X")
    node_mask(numbers, count, "X")
    return numbers


def _with_shape(X: Any) -> Any:
    """Anything that reads as an array, with a shape to ask for."""
    return X if getattr(X, "shape", ()) else np.atleast_1d(as_array(X, "X"))


def _same_features(a: Dataset, b: Dataset) -> bool:
    """Whether the features are equal, and stored alike."""
    first, second = stored_features(a), stored_features(b)
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


def _make(X: Any, graph: Any, y: Any = None, **more: Any) -> Dataset:
    """Builds a data set. If X is not finite, the error begins with scikit-learn's words."""
    try:
        return Dataset.from_arrays(X, graph, y, **more)
    except _core.Error as problem:
        for value, name in ((" is nan;", "NaN"), (" is inf;", "infinity"), (" is -inf;", "infinity")):
            if value in str(problem):
                raise error(f"Input X contains {name}: {problem}") from None
        raise


def _r2(truth: np.ndarray, predicted: np.ndarray, weights: np.ndarray) -> float:
    """scikit-learn's r2_score of one target."""
    if len(truth) < 2:
        return float("nan")
    left = float((weights * (truth - predicted) ** 2).sum())
    total = float((weights * (truth - np.average(truth, weights=weights)) ** 2).sum())
    return 1 - left / total if total else float(left == 0)


def _encode(y: Any, count: int) -> tuple[np.ndarray, Any, Any]:
    """Labels as numbers from 0 on, −1 where unknown; the labels those numbers stand for; their type."""
    labels = label_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        import warnings

        warning: Any = UserWarning
        if HAS_SKLEARN:
            from sklearn.exceptions import DataConversionWarning

            warning = DataConversionWarning
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), for "
            "example using ravel().",
            warning,
            stacklevel=5,
        )
        labels = labels[:, 0]
    if labels.ndim not in (1, 2):
        raise error(f"y: an array of {labels.ndim} dimensions; expected 1, a label a node, or 2, 0 or 1 a label")
    if labels.shape[0] != count:
        raise error(f"y has {labels.shape[0]} rows, but X has {count}; expected one label a node")
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise error("y: Input y contains infinity; expected labels, and NaN or −1 where there is none")
    if labels.dtype.kind == "c":
        raise error("Complex data not supported: y holds complex numbers")
    known = _is_known(labels)
    if labels.ndim == 2:
        values = np.where(known[:, None], labels, -1).astype(np.int8)
        if not np.isin(values[known], (0, 1)).all():
            raise error("y: a matrix of labels holds more than 0 and 1")
        return values, np.arange(labels.shape[1]), labels.dtype
    if not known.any():
        raise error("y: no node has a label; training needs some")
    if labels.dtype.kind == "f" and (labels[known] != np.floor(labels[known])).any():
        raise error("Unknown label type: y holds numbers with fractions; expected labels of classes")
    try:
        classes, numbers = np.unique(labels[known], return_inverse=True)
    except TypeError:
        raise error("y: labels of different kinds, which have no order; make them all strings or all numbers") from None
    if len(classes) < 2:
        raise error(f"y: Classifier can't train when only one class is present; got {classes[0]!r} alone")
    encoded = np.full(len(labels), -1, dtype=np.int32)
    encoded[known] = numbers.reshape(-1)
    return encoded, classes, labels.dtype


def _spread(labels: np.ndarray, nodes: np.ndarray, count: int) -> np.ndarray:
    """Labels of some nodes as labels of all; the others have −1, or NaN among targets."""
    spread = np.full((count, *labels.shape[1:]), np.nan if labels.dtype.kind == "f" else -1, dtype=labels.dtype)
    spread[nodes] = labels
    return spread

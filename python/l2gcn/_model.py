"""Trained models: predictions, embeddings, scores, files, and the same arithmetic in torch."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Mapping, Optional

import numpy as np

from . import _core
from ._arrays import roles_of
from ._call import ONE_THREAD, make_call
from ._dataset import Dataset, load_dataset, open_spec
from ._html import counted, table
from ._interop import is_graph
from ._ranks import by_rank_0
from ._settings import Function, documented, error, machine_settings, parted, path_of, text_of, whole

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._parameters import MachineSettings


def machine_call(machine: Mapping[str, Any]) -> _core.Call:
    """A call that computes with these settings of the machine."""
    return make_call(parted(machine, machine_settings())[0])


def computing(function: Function) -> Function:
    """A decorator: the settings of the machine in the signature in place of **machine."""
    return documented(function.__doc__ or "", machine_settings())(function)


class Model:
    """A trained model. `train` returns one, and `load_model` opens one.

    Every method that computes takes the settings of the machine, as `train` does: threads, device, budgets of memory.
    """

    def __init__(
        self, handle: _core.Model, origin: Optional[dict[str, Any]] = None, data: Optional[Dataset] = None
    ) -> None:
        self._handle = handle
        self._origin = origin or {}  # what its run says of the data: its split, and how to open it
        self._data = data  # what it was trained on, where that is in memory

    @property
    def config(self) -> dict[str, Any]:
        """The settings it was trained with, all of them."""
        return dict(json.loads(self._handle.config_json))

    @property
    def n_features(self) -> int:
        """Columns a data set must have."""
        return self._handle.features

    @property
    def n_classes(self) -> int:
        """Classes, or labels of a multi-label model."""
        return self._handle.classes

    @property
    def n_layers(self) -> int:
        """Hidden layers."""
        return self._handle.layers

    @property
    def multilabel(self) -> bool:
        """Whether it predicts a set of labels."""
        return self._handle.multilabel

    @property
    def task(self) -> str:
        """What it predicts: "classification" or "regression"."""
        return "regression" if self._handle.regression else "classification"

    @property
    def class_names(self) -> list[str]:
        """Names of the classes; their numbers where they have none."""
        return self._handle.class_names or [str(c) for c in range(self.n_classes)]

    @property
    def _kind(self) -> str:
        return "targets" if self._handle.regression else "labels" if self.multilabel else "classes"

    @property
    def thresholds(self) -> list[float]:
        """Probabilities above which a label is on, or class 1 of two is chosen; empty: one half."""
        return self._handle.thresholds

    @property
    def tensors(self) -> dict[str, np.ndarray]:
        """Every weight by the name it has in model.safetensors; read-only views."""
        return self._handle.tensors

    @computing
    def predict(
        self,
        data: Any,
        graph: Any = None,
        *,
        known: Any = None,
        raw: bool = False,
        **machine: Unpack[MachineSettings],
    ) -> np.ndarray:
        """The class of every node (nodes,), rows in the data set's order; of a multi-label model 0/1 (nodes, labels); of a
        regression numbers, float32 (nodes,) or (nodes, targets).

        Classes are given by name, as strings, where they have names (`class_names`), else by number. `raw=True` gives numbers
        always: places in `class_names` and columns of `predict_proba`.

        `data` is a Dataset, a graph that `load_dataset` takes, or features with `graph` beside them as in `Dataset.from_arrays`. A model of preset "best" may
        spread the labels of train nodes over the graph: those of the nodes in `known` (a mask or node numbers), by default
        of the train nodes where `data` is what it was trained on, else of none.
        """
        data = as_dataset(data, graph)
        if self._handle.regression:
            numbers: np.ndarray = _core.logits(machine_call(machine), self._handle, data._handle, self._known(data, known))
            return numbers[:, 0] if numbers.shape[1] == 1 else numbers
        decided: np.ndarray = _core.decisions(machine_call(machine), self._handle, data._handle, self._known(data, known))
        names = self._handle.class_names
        return decided if raw or self.multilabel or not names else np.array(names)[decided]

    @computing
    def predict_proba(
        self,
        data: Any,
        graph: Any = None,
        *,
        known: Any = None,
        **machine: Unpack[MachineSettings],
    ) -> np.ndarray:
        """Probabilities (nodes, classes), float32."""
        data = as_dataset(data, graph)
        return _core.probabilities(machine_call(machine), self._handle, data._handle, self._known(data, known))

    @computing
    def logits(
        self,
        data: Any,
        graph: Any = None,
        *,
        known: Any = None,
        **machine: Unpack[MachineSettings],
    ) -> np.ndarray:
        """Logits (nodes, classes), float32, from which the probabilities are computed."""
        data = as_dataset(data, graph)
        return _core.logits(machine_call(machine), self._handle, data._handle, self._known(data, known))

    @computing
    def embed(
        self,
        data: Any,
        layer: int = 0,
        graph: Any = None,
        **machine: Unpack[MachineSettings],
    ) -> np.ndarray:
        """Output of a layer for every node (nodes, width); layer 1 is the first, 0 the last."""
        number = whole(layer, "layer")
        call = machine_call(machine)
        data = as_dataset(data, graph)
        return _core.embedding(call, self._handle, data._handle, number)

    def _known(self, data: Dataset, known: Any = None) -> Optional[np.ndarray]:
        """Roles of the nodes whose labels the model may read, or None."""
        if known is not None:
            return roles_of({"train": known}, data.n_nodes)
        roles: Optional[np.ndarray] = self._origin.get("roles")
        if roles is None or len(roles) != data.n_nodes:
            return None
        opened = bool(self._origin.get("knows_data")) and data._handle.spec == self._origin["spec"]
        same = opened and json.loads(data._handle.options_json) == json.loads(self._origin["options_json"])
        return roles if same or data is self._data else None

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes model.safetensors and config.json; `load_model` and the program open them."""
        by_rank_0(lambda: self._handle.save(path_of(directory, "directory")))

    @computing
    def export_predictions(self, data: Any, path: str | os.PathLike[str], **machine: Unpack[MachineSettings]) -> None:
        """Writes every node's class and probabilities as the program's predict does: .csv or .npy."""
        data = as_dataset(data)
        _core.export_predictions(machine_call(machine), self._handle, data._handle, self._known(data), path_of(path, "path"))

    def to_torch(self) -> Any:
        """A torch.nn.Module that gives the same logits: module(x, edge_index, edge_weight=None).

        The module does not propagate labels: its logits are those of `logits(data, known=[])`.

        >>> module = model.to_torch()                                           # doctest: +SKIP
        >>> module(torch.from_numpy(data.dense_features()), torch.from_numpy(data.edge_index))  # doctest: +SKIP
        """
        from ._torch import make_module

        return make_module(self)

    def __repr__(self) -> str:
        config = self.config
        return (
            f"Model({config['method']!r}, {self.n_features} features, {config['layers']} layers, "
            f"{self.n_classes} {self._kind})"
        )

    def _repr_html_(self) -> str:
        config, kind = self.config, self._kind
        rows = [("method", config["method"]), ("layers", self.n_layers), ("hidden", config["hidden"]), ("features", self.n_features)]
        weights = sum(tensor.size for tensor in self.tensors.values())
        rows += [(kind, counted(self.n_classes, self._handle.class_names)), ("weights", weights)]
        return table("Model", rows)

    def __reduce__(self) -> Any:
        import tempfile  # slow to import, and rarely needed

        with tempfile.TemporaryDirectory(prefix="l2gcn-") as folder:
            self.save(folder)
            files = {}
            for name in sorted(os.listdir(folder)):
                with open(os.path.join(folder, name), "rb") as file:
                    files[name] = file.read()
        return _from_files, (files,)

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: Any) -> Model:
        return self  # a model does not change


def _from_files(files: dict[str, bytes]) -> Model:
    """The model of a pickle."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="l2gcn-") as folder:
        for name, content in files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)
        return load_model(folder)


def as_dataset(data: Any, graph: Any = None) -> Dataset:
    """A Dataset as it is, what `load_dataset` opens, or features with a graph as one."""
    if isinstance(data, (Dataset, str, os.PathLike)) or is_graph(data):
        if graph is not None:
            raise error(f"a {type(data).__name__} has its graph; give graph beside features only", "usage")
        return load_dataset(data)
    return Dataset.from_arrays(data, graph)


def load_model(directory: str | os.PathLike[str], seed: Optional[int] = None) -> Model:
    """Opens a run's directory, or one that `Model.save` wrote.

    Of a run with several seeds it takes the best on validation, unless `seed` names one.
    """
    number = -1 if seed is None else whole(seed, "seed", 0, 2**63 - 1)
    opened = _core.load_run(path_of(directory, "directory"), number)
    return Model(opened.pop("model"), opened)


@documented(
    """Scores of every part of a split, and of all labelled nodes: what the program's evaluate prints.

    Parameters
    ----------
    model : Model, Run, or a directory that holds one
    data : Dataset, or what `load_dataset` opens, optional
        None: the data set it was trained on, where that can be known.
    split : str
        Score this split's parts; "": the model's own where it knows them, else the data set's default.
    train, val, test : masks or node numbers, optional
        A split of the caller's.
    {settings}

    Returns
    -------
    dict of "train", "val", "test" and "all" (those that have nodes), each a dict of f1 (micro), macro_f1, accuracy,
    balanced_accuracy, roc_auc, average_precision, log_loss, calibration_error, baseline figures, confusion, and figures
    by class (docs/reference/metrics.md). Of a regression: r2, mae, rmse, spearman, the same of the baseline, and by target. A metric
    that is undefined for these nodes is NaN.
    """,
    machine_settings(),
)
def evaluate(
    model: Any,
    data: Any = None,
    *,
    split: str = "",
    train: Any = None,
    val: Any = None,
    test: Any = None,
    **machine: Unpack[MachineSettings],
) -> dict[str, dict[str, Any]]:
    from ._training import Run

    roles: Optional[np.ndarray] = None
    name = split
    if isinstance(model, Run):
        if data is None or data is model.data:
            data = model.data
            name, roles = model._split()
        model = model.model
    elif isinstance(model, (str, os.PathLike)):
        model = load_model(model)
    elif not isinstance(model, Model):
        raise error(f"model: a {type(model).__name__} given; expected a Model, a Run, or the directory of one", "usage")
    origin = model._origin
    if data is None:
        if not origin.get("knows_data"):
            raise error("the model does not say which data set it was trained on; give one", "usage")
        data = open_spec(origin["spec"], origin["options_json"], parted(machine, machine_settings())[0], model)
        name, roles = origin["split_name"], origin["roles"]
    data = load_dataset(data)
    parts = {"train": train, "val": val, "test": test}
    if any(part is not None for part in parts.values()):
        name, roles = "given", roles_of(parts, data.n_nodes)
    elif split or roles is None or len(roles) != data.n_nodes:
        config = model.config
        name, roles = _core.resolve_split(
            make_call(ONE_THREAD), data._handle, text_of(split or config.get("split", ""), "split"), int(config["seed"])
        )
    return _core.evaluate(machine_call(machine), model._handle, data._handle, name, roles, model._known(data))

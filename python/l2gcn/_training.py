"""train, learn_controller and compare: the program's commands as calls."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core, _plot
from ._call import Progress, make_call
from ._dataset import Dataset, load_dataset
from ._html import table
from ._model import Model
from ._ranks import by_rank_0
from ._settings import (
    documented,
    error,
    flag,
    machine_settings,
    parted,
    path_of,
    run_settings,
    search_settings,
    train_settings,
    whole,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._parameters import SearchArguments, StudyArguments, TrainArguments, TrainSettings


@dataclass(frozen=True)
class Decision:
    """The state of a training that a callback gets at each decision."""

    layer: int  # from 1 on
    layers: int
    epoch: int  # done in this layer
    epochs: int  # at most
    losses: np.ndarray  # of every epoch of this layer so far
    seconds: float  # trained so far
    stop: bool  # what the stop policy decided
    stop_probability: Optional[float] = None  # the controller's
    validation_f1: Optional[float] = None  # where the policy evaluates it


Callback = Callable[[Decision], Optional[bool]]


def watch(callbacks: Union[None, Callback, Iterable[Callback]]) -> Optional[Callable[[dict[str, Any]], Optional[bool]]]:
    """Callbacks as one function of the library's dict, or None."""
    if callbacks is None:
        return None
    listed = [callbacks] if callable(callbacks) else list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]
    for one in listed:
        if not callable(one):
            raise error(f"callbacks: a {type(one).__name__} given; expected functions of a Decision", "usage")
    if not listed:
        return None

    def decide(seen: dict[str, Any]) -> Optional[bool]:
        decision = Decision(**seen)
        answers = [answer for answer in (callback(decision) for callback in listed) if answer is not None]
        return any(answers) if answers else None

    return decide


class Run:
    """The result of `train`: models, scores and the record of the training, one per seed."""

    def __init__(self, handle: _core.Run, data: Dataset) -> None:
        self._handle = handle
        self.data = data
        self.result: dict[str, Any] = json.loads(handle.result_json)

    @property
    def config(self) -> dict[str, Any]:
        """Every setting as it was resolved."""
        return dict(json.loads(self._handle.config_json))

    @property
    def f1(self) -> dict[str, Optional[float]]:
        """Micro F1 of "train", "val" and "test", means over seeds; None where a part has no nodes."""
        if "f1" not in self.result:
            raise error("f1: the run is a regression; use r2", "usage")
        return dict(self.result["f1"])

    @property
    def r2(self) -> dict[str, Optional[float]]:
        """R² of a regression, mean over targets, likewise."""
        if "r2" not in self.result:
            raise error("r2: the run is a classification; use f1", "usage")
        return dict(self.result["r2"])

    @property
    def _score(self) -> str:
        return "r2" if "r2" in self.result else "f1"

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of each phase, means over seeds."""
        return dict(self.result["seconds"])

    @property
    def seeds(self) -> list[int]:
        """The seeds that were trained."""
        return self._handle.seeds

    @property
    def history(self) -> dict[str, np.ndarray]:
        """One row per epoch, as columns for pandas: seed, layer, epoch, loss, stop_probability (NaN where there was none)."""
        return self._handle.history

    @property
    def validation(self) -> dict[str, np.ndarray]:
        """Scores of the validation nodes during training, where `val_every` asked for them, as columns."""
        return self._handle.validation

    @property
    def layers(self) -> list[dict[str, Any]]:
        """The record of each layer of the best seed: epochs, stopped_by, seconds."""
        return self._handle.layers(self._best())

    @property
    def model(self) -> Model:
        """The model of the seed that is best on validation."""
        return self.models[self._best()]

    @property
    def models(self) -> list[Model]:
        """One model per seed."""
        models = []
        for i in range(len(self.seeds)):
            name, roles = self._handle.split(i)
            models.append(Model(self._handle.model(i), {"split_name": name, "roles": roles}, self.data))
        return models

    def _best(self) -> int:
        scores = [one[self._score]["val"] for one in self.result["runs"]]
        return int(np.argmax([-np.inf if score is None else score for score in scores]))

    def _split(self) -> tuple[str, np.ndarray]:
        return self._handle.split(self._best())

    def save(self, directory: str | os.PathLike[str] = "", force: bool = False) -> str:
        """Writes the run's directory as the program would have, and returns its path; "": runs/DATASET-METHOD-NNN."""
        return by_rank_0(lambda: _core.save_run(make_call(), self._handle, path_of(directory, "directory"), flag(force, "force")))

    plot = _plot.plot_run

    def _repr_html_(self) -> str:
        mean, unit = self.result[self._score], 1 if self._score == "r2" else 100
        parts = [part for part, value in mean.items() if value is not None]
        seeds = [(str(one["seed"]), one[self._score], one["seconds"]) for one in self.result["runs"]]
        if len(seeds) > 1:
            seeds.append(("mean", mean, self.seconds))
        rows = [(seed, *(unit * float(score[part]) for part in parts), float(seconds["total"])) for seed, score, seconds in seeds]
        title = f"{self.result['method']} on {self.data.name}: {'R²' if self._score == 'r2' else 'F1 (%)'}"
        return table(title, rows, ("seed", *parts, "seconds"))

    def __repr__(self) -> str:
        name, unit, digits = ("R²", 1, 4) if self._score == "r2" else ("F1", 100, 2)
        known = {part: value for part, value in self.result[self._score].items() if value is not None}
        scores = ", ".join(f"{part} {unit * value:.{digits}f}" for part, value in known.items())
        return f"Run({self.result['method']!r} on {self.data.name!r}, {name} {scores}, {len(self.seeds)} seed(s))"


@documented(
    """Trains on a data set, as the program's train does, and to the same bits.

    None stands for the preset's value, which may depend on the data set and the method; defaults shown are those of
    data sets the paper does not treat.

    Parameters
    ----------
    data : Dataset, or what `load_dataset` opens
    output : path, optional
        Write the run there during training, so that it can be resumed; None: write nothing (`Run.save` does it later).
    force : bool
        Replace an existing run.
    progress : bool or callable
        A bar (tqdm's where it is installed), or a function of a dict that is called as training goes on.
    callbacks : function, or list of functions, of a `Decision`
        Called each time a layer might end. Returning True ends the layer, False lets it go on, None leaves it to the
        stop policy; raising ends the training with what was raised.
    verbose : int
        Print the library's notes.
    {settings}

    Returns
    -------
    Run

    >>> run = train("synthetic:cora", method="lgcn", epochs=[4, 6], seed=7)
    >>> run.f1["test"] > 0.5
    True
    """,
    (*train_settings(), *run_settings(), *machine_settings()),
)
def train(
    data: Union[Dataset, str, os.PathLike[str]],
    *,
    output: Union[None, str, os.PathLike[str]] = None,
    force: bool = False,
    progress: Progress = False,
    callbacks: Union[None, Callback, Iterable[Callback]] = None,
    verbose: int = 0,
    **settings: Unpack[TrainArguments],
) -> Run:
    said, run, machine = parted(settings, train_settings(), run_settings(), machine_settings())
    call = make_call(machine, progress, verbose)
    opened = open_data(data, machine)
    handle = _core.train(
        call, opened._handle, said, run, "" if output is None else path_of(output, "output"), flag(force, "force"), watch(callbacks)
    )
    return Run(handle, opened)


@documented(
    """The plan of a training, computed from counts alone, as the program's --dry-run prints it.

    Parameters
    ----------
    data : Dataset, or what `load_dataset` opens
    {settings}

    Returns
    -------
    dict of in_memory, need_bytes, least_bytes (the smallest budget that would do from disk), panels, bytes to move, scratch
    and seconds (docs/guides/larger-than-memory.md). A budget that will not do is an Error with the figures.

    >>> plan("synthetic:cora", preset="paper", memory="8G")["in_memory"]
    True
    """,
    (*train_settings(), *machine_settings()),
)
def plan(data: Union[Dataset, str, os.PathLike[str]], **settings: Unpack[StudyArguments]) -> dict[str, Any]:
    said, machine = parted(settings, train_settings(), machine_settings())
    opened = open_data(data, machine)
    return dict(json.loads(_core.plan(make_call(machine), opened._handle, said))["plan"])


def open_data(data: Any, machine: Sequence[tuple[str, str]] = ()) -> Dataset:
    """A Dataset as it is; anything else as `load_dataset` opens it."""
    if isinstance(data, (str, os.PathLike)):
        said: Any = dict(machine)
        return load_dataset(data, **said)
    return load_dataset(data)


class Controller:
    """A learned stopping rule. Save it and pass the path to `train(..., controller=path)`, or pass the controller itself."""

    def __init__(self, handle: _core.Controller) -> None:
        self._handle = handle
        self._path: Optional[str] = None

    @property
    def description(self) -> dict[str, Any]:
        """The description that the program's info prints."""
        return dict(json.loads(self._handle.description_json))

    @property
    def curve(self) -> dict[str, np.ndarray]:
        """One row per round, as columns: round, cost, epochs, greedy_cost (NaN where it was not measured)."""
        return self._handle.curve

    def save(self, path: str | os.PathLike[str], force: bool = False) -> None:
        """Writes the controller, and its reward curve beside it as PATH.json."""
        file = path_of(path, "path")
        by_rank_0(lambda: self._handle.save(file, flag(force, "force")))
        self._path = file

    def __fspath__(self) -> str:
        if self._path is None:
            raise error("the controller is not saved yet; call save(path) first", "usage")
        return self._path


@documented(
    """Learns a stopping controller on samples of one or more data sets, as the program's learn-controller does.

    Parameters
    ----------
    data : Dataset, name or path, or a list of them
    training : dict, optional
        Settings of the sampled trainings, as for `train`.
    keep : path, optional
        Where progress is kept; with `resume`, an interrupted search goes on from there to the same bits.
    progress, verbose : as for `train`
    {settings}

    Returns
    -------
    Controller
    """,
    (*search_settings(), *machine_settings()),
)
def learn_controller(
    data: Any,
    *,
    training: Optional[TrainSettings] = None,
    keep: Union[None, str, os.PathLike[str]] = None,
    resume: bool = False,
    progress: Progress = False,
    verbose: int = 0,
    **settings: Unpack[SearchArguments],
) -> Controller:
    said, machine = parted(settings, search_settings(), machine_settings())
    if training is not None and not isinstance(training, Mapping):
        raise error(f"training: a {type(training).__name__} given; expected a dict of settings of train()", "usage")
    sets = [open_data(one, machine) for one in (data if isinstance(data, (list, tuple)) else [data])]
    handle = _core.search(
        make_call(machine, progress, verbose),
        [one._handle for one in sets],
        said,
        parted(training or {}, train_settings())[0],
        "" if keep is None else path_of(keep, "keep"),
        flag(resume, "resume"),
    )
    return Controller(handle)


class Comparison:
    """Methods side by side: `rows` for programs, `str(comparison)` for people."""

    def __init__(self, json_text: str, text: str, csv: str) -> None:
        self.result: dict[str, Any] = json.loads(json_text)
        self.text = text
        self.csv = csv

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict a method: F1, seconds, memory, as the program's --json."""
        return list(self.result["methods"])

    def __str__(self) -> str:
        return self.text


def _real(value: Any, what: str, more: str = "") -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise error(f"{what}: {value!r} given; expected a number{more}", "usage") from None


def report(
    run: Any,
    path: Union[None, str, os.PathLike[str]] = None,
    *,
    data: Optional[Dataset] = None,
    data_dir: str | os.PathLike[str] = "",
) -> str:
    """Writes one self-contained HTML page about a run or a comparison, as the program's report does, and returns its path.

    Parameters
    ----------
    run : Run, Comparison, or the path of a run's directory; or a list of them
    path : path, optional
        Where the page goes; None: report.html in the current folder.
    data : Dataset, optional
        The runs' data set. A `Run` brings its own; a stored run knows its path, unless it was trained on arrays or DataFrames.
    data_dir : path, optional
        Where data sets of stored runs are looked for first.

    >>> report(train("synthetic:cora", preset="paper", epochs=2), "page.html")    # doctest: +SKIP
    'page.html'
    """
    import tempfile  # slow to import, and rarely needed

    target = "report.html" if path is None else path_of(path, "path")
    wanted = list(run) if isinstance(run, (list, tuple)) else [run]
    runs = [one for one in wanted if isinstance(one, Run)]
    if data is None and runs and len(runs) == len(wanted) and len({id(one.data) for one in runs}) == 1:
        data = runs[0].data

    def write() -> str:
        with tempfile.TemporaryDirectory(prefix="l2gcn-") as folder:
            sources = [_report_source(one, os.path.join(folder, str(i))) for i, one in enumerate(wanted)]
            handle = None if data is None else load_dataset(data)._handle
            _core.write_report(make_call(), sources, target, handle, path_of(data_dir, "data_dir"))
        return target

    return by_rank_0(write)


def _report_source(one: Any, place: str) -> str:
    """What the library reads of a run or a comparison; what is not stored is written below `place`."""
    if isinstance(one, (str, os.PathLike)):
        return os.fspath(one)
    os.makedirs(place)
    if isinstance(one, Run):
        directory = os.path.join(place, f"{os.path.basename(one.data.name) or 'data'}-{one.result['method']}".replace(":", "-"))
        return _core.save_run(make_call(), one._handle, directory, False)
    if isinstance(one, Comparison):
        file = os.path.join(place, "comparison.json")
        with open(file, "w", encoding="utf-8") as stream:
            json.dump(one.result, stream)
        return file
    raise error(f"report: a {type(one).__name__} given; expected a Run, a Comparison, or the path of a run's directory", "usage")


@documented(
    """Trains several methods on the same data and clock, as the program's compare does.

    Settings hold for every method that has them.

    Parameters
    ----------
    data : Dataset, name or path
    methods : list of str, or names with commas between them, optional
        None: those that the program compares if nobody names any.
    runs : int
        Seeds of each method.
    to_f1 : float or "equal", optional
        Time the first validation F1 of this fraction; "equal": within 0.005 of the first method's final one.
    max_seconds : float
        Seconds after which a training is stopped; 0: never.
    progress, verbose : as for `train`
    {settings}

    Returns
    -------
    Comparison
    """,
    (*train_settings(), *machine_settings()),
)
def compare(
    data: Union[Dataset, str, os.PathLike[str]],
    methods: Union[None, str, Sequence[str]] = None,
    *,
    runs: int = 1,
    to_f1: Union[None, float, str] = None,
    max_seconds: float = 0,
    progress: Progress = False,
    verbose: int = 0,
    **settings: Unpack[StudyArguments],
) -> Comparison:
    said, machine = parted(settings, train_settings(), machine_settings())
    opened = open_data(data, machine)
    equal = isinstance(to_f1, str) and to_f1 == "equal"
    listed = methods.split(",") if isinstance(methods, str) else methods or []
    if not isinstance(listed, Iterable) or not all(isinstance(one, str) for one in listed):
        raise error(f"methods: {methods!r} given; expected a list of names, such as ['lgcn', 'gcn']", "usage")
    result = _core.compare(
        make_call(machine, progress, verbose),
        opened._handle,
        list(listed),
        whole(runs, "runs", 1),
        said,
        0.0 if to_f1 is None or equal else _real(to_f1, "to_f1", " or 'equal'"),
        equal,
        _real(max_seconds, "max_seconds"),
    )
    return Comparison(result["json"], result["text"], result["csv"])

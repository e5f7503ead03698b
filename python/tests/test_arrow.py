"""Arrow tables: what other libraries hand out, and streams made by hand that are wrong."""

from __future__ import annotations

import ctypes
import datetime
import gc
from typing import Any, Optional

import numpy as np
import pytest

import l2gcn
from l2gcn import _arrow
from l2gcn._arrow import read_stream

EDGES = {"source": ["a", "b", "c"], "target": ["b", "c", "d"]}
NODES = {
    "id": ["a", "b", "c", "d"],
    "size": [1.5, None, 3.0, 4.0],
    "count": [1, 2, None, 2**40],
    "member": [True, False, None, True],
    "joined": [datetime.date(2024, 1, day) for day in (31, 1, 2, 3)],
    "kind": ["x", "y, z", "x", None],
}


def written(table: Any, tmp_path: Any) -> list[str]:
    read_stream(table, "nodes").write_csv(str(tmp_path / "table.csv"))
    return (tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()


LINES = [
    "id,size,count,member,joined,kind",
    "a,1.5,1,True,2024-01-31,x",
    'b,,2,False,2024-01-01,"y, z"',
    "c,3.0,,,2024-01-02,x",
    "d,4.0,1099511627776,True,2024-01-03,",
]


@pytest.mark.parametrize("library", ["pyarrow", "polars", "duckdb"])
def test_other_libraries(library, tmp_path):
    module = pytest.importorskip(library)
    if library == "pyarrow":
        table = module.table(NODES)
        parts = [module.concat_tables([table.slice(0, 1), table.slice(1)]), table.set_column(5, "kind", table["kind"].dictionary_encode())]
        views = table.set_column(5, "kind", table["kind"].cast(module.string_view()))
        for one in (table, *parts, views, table.set_column(5, "kind", table["kind"].cast(module.large_string()))):
            assert written(one, tmp_path) == LINES
        assert written(table.slice(2, 1), tmp_path)[1:] == LINES[3:4]
    elif library == "polars":
        table = module.DataFrame(NODES)
        assert written(table, tmp_path) == LINES
        assert written(table.with_columns(module.col("kind").cast(module.Categorical)), tmp_path) == LINES
        assert written(table.slice(1, 2), tmp_path)[1:] == LINES[2:4]
    else:
        pyarrow = pytest.importorskip("pyarrow")
        table = module.connect().from_arrow(pyarrow.table(NODES))
        assert written(table, tmp_path) == LINES


def test_moments(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    moment = datetime.datetime(2024, 1, 31, 8, 30, 0, 250000)
    table = pyarrow.table(
        {
            "plain": pyarrow.array([moment], pyarrow.timestamp("us")),
            "zoned": pyarrow.array([moment], pyarrow.timestamp("ms", tz="Europe/Berlin")),
            "day": pyarrow.array([moment.date()], pyarrow.date64()),
        }
    )
    line = written(table, tmp_path)[1]
    assert line == "2024-01-31T08:30:00.250000,2024-01-31T08:30:00.250Z,2024-01-31T00:00:00.000"
    with pytest.raises(l2gcn.Error, match="column where: values of Arrow's format '\\+l' are not read"):
        read_stream(pyarrow.table({"where": [[1.0, 2.0]]}), "nodes")


def test_load_dataset_takes_arrow_tables_and_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    edges, nodes = pyarrow.table(EDGES), pyarrow.table(NODES).drop_columns(["joined"])
    data = l2gcn.load_dataset(edges=edges, nodes=nodes, label="kind")
    assert data.node_ids.tolist() == ["a", "b", "c", "d"] and data.class_names == ["x", "y, z"]
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(edges, tmp_path / "edges.parquet")
    parquet.write_table(nodes, tmp_path / "nodes.parquet")
    again = l2gcn.load_dataset(edges=tmp_path / "edges.parquet", nodes=str(tmp_path / "nodes.parquet"), label="kind")
    np.testing.assert_array_equal(again.dense_features(), data.dense_features())


class Handmade:
    """A stream of one batch with one column, whose structures the test fills in. Counts what is released."""

    def __init__(
        self, form: bytes, length: int, buffers: list[Optional[bytes]], nulls: int = 0, offset: int = 0, fails: bool = False, words: Any = None
    ) -> None:
        self.released: list[str] = []
        self.fails = fails
        self.batches = 1
        self.kept: list[Any] = []
        self.column = self.array(length, buffers, nulls, offset)
        self.field = self.schema(form, b"c")
        if words is not None:
            self.field.dictionary = ctypes.pointer(self.schema(b"u", b""))
            self.column.dictionary = ctypes.pointer(self.array(*words))
        self.callbacks = self._callbacks()
        get_schema, get_next, get_last_error, release = self.callbacks[:4]
        self.stream = _arrow._Stream(get_schema, get_next, get_last_error, release)

    def schema(self, form: bytes, name: bytes) -> Any:
        made = _arrow._Schema(format=form, name=name)
        self.kept.append(made)
        return made

    def array(self, length: int, buffers: list[Optional[bytes]], nulls: int = 0, offset: int = 0) -> Any:
        memory = [None if one is None else ctypes.create_string_buffer(one, len(one)) for one in buffers]
        pointers = (ctypes.c_void_p * len(memory))(*(None if one is None else ctypes.addressof(one) for one in memory))
        made = _arrow._Array(length, nulls, offset, len(memory), 0, pointers)
        self.kept += [memory, pointers, made]
        return made

    def _callbacks(self) -> list[Any]:
        kinds = [dict(_arrow._Stream._fields_)[name] for name in ("get_schema", "get_next", "get_last_error", "release")]
        release_schema = dict(_arrow._Schema._fields_)["release"](lambda part: self._released("schema", part))
        release_array = dict(_arrow._Array._fields_)["release"](lambda part: self._released("array", part))
        no_nulls = (ctypes.c_void_p * 1)(None)
        fields = (ctypes.POINTER(_arrow._Schema) * 1)(ctypes.pointer(self.field))
        columns = (ctypes.POINTER(_arrow._Array) * 1)(ctypes.pointer(self.column))

        def get_schema(_: Any, out: Any) -> int:
            out[0] = _arrow._Schema(b"+s", b"", None, 0, 1, fields, None, release_schema)
            return 0

        def get_next(_: Any, out: Any) -> int:
            if self.fails:
                return 5
            if self.batches == 0:
                out[0] = _arrow._Array()
            else:
                length = self.column.length if self.column.length > 0 else 1
                out[0] = _arrow._Array(length, 0, 0, 1, 1, no_nulls, columns, None, release_array)
            self.batches -= 1
            return 0

        reason = ctypes.create_string_buffer(b"the disk is gone")
        self.kept.append(reason)
        functions = [get_schema, get_next, lambda _: ctypes.addressof(reason), lambda part: self._released("stream", part)]
        return [kind(function) for kind, function in zip(kinds, functions)] + [release_schema, release_array, no_nulls, fields, columns]

    def _released(self, what: str, part: Any) -> None:
        self.released.append(what)
        part.contents.release = type(part.contents.release)()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.stream), b"arrow_array_stream", None)

    def read(self) -> list[Any]:
        return read_stream(self, "nodes")._cells[0]


def offsets(*ends: int) -> bytes:
    return np.array(ends, "i4").tobytes()


def test_made_by_hand_and_released():
    made = Handmade(b"i", 3, [b"\x0b", np.array([7, 8, 9, 10], "i4").tobytes()], nulls=1, offset=1)
    assert made.read() == [8, None, 10]
    assert made.released == ["array", "schema", "stream"]
    with pytest.raises(l2gcn.Error, match="was read already"):
        made.read()
    assert Handmade(b"u", 2, [None, offsets(0, 2, 3), b"abc"]).read() == ["ab", "c"]
    assert Handmade(b"c", 2, [None, b"\1\0"], words=(2, [None, offsets(0, 1, 2), b"xy"])).read() == ["y", "x"]
    view = np.array([(13, b"long", 0, 1)], _arrow._VIEW).tobytes()
    assert Handmade(b"vu", 1, [None, view, b"_longer than 12", np.array([15], "i8").tobytes()]).read() == ["longer than 12"[:13]]
    gc.collect()


@pytest.mark.parametrize(
    "made, message",
    [
        (Handmade(b"i", -1, [None, b""]), "length -1"),
        (Handmade(b"i", 1, [None, b"\0\0\0\0"], nulls=1), "1 missing values, but no bitmap"),
        (Handmade(b"i", 1, [None, None]), "buffer 1 of its Arrow array is missing"),
        (Handmade(b"i", 1, [None]), "1 buffers; expected 2"),
        (Handmade(b"u", 2, [None, offsets(0, 5, 3), b"abcde"]), "row 2: its text ends at byte 3, before it begins"),
        (Handmade(b"u", 1, [None, offsets(-4, 3), b"abc"]), "row 1: its text ends"),
        (Handmade(b"u", 1, [None, offsets(0, 2), b"\xff\xfe"]), "row 1: .* is not UTF-8"),
        (Handmade(b"c", 2, [None, b"\0\2"], words=(1, [None, offsets(0, 1), b"x"])), "row 2: place 2 of a dictionary of 1 values"),
        (Handmade(b"vu", 1, [None, np.array([(13, b"", 1, 0)], _arrow._VIEW).tobytes(), b"x" * 13, b"\x0d" + b"\0" * 7]), "past its end"),
        (Handmade(b"tts", 1, [None, b"\0" * 4]), "format 'tts' are not read"),
        (Handmade(b"i", 1, [None, b"\0" * 4], fails=True), "the disk is gone"),
    ],
)
def test_broken_streams_are_refused_and_released(made, message):
    with pytest.raises(l2gcn.Error, match=message):
        made.read()
    assert made.released[-1] == "stream" and "schema" in made.released
    assert made.fails or "array" in made.released

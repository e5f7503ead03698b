"""Reads tables of other libraries through Arrow's PyCapsule interface (`__arrow_c_stream__`), without an Arrow library.

The structures are those of Arrow's C data interface. Lengths, offsets, null bitmaps and places in dictionaries are checked
before they are used, as far as the interface tells them; a buffer's own size is the producer's word.
"""

from __future__ import annotations

import csv
import ctypes
from typing import Any, Callable, Iterator, Optional

import numpy as np

from ._settings import error


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))),
    ("private_data", ctypes.c_void_p),
]

_NUMBERS = {"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8", "e": "f2", "f": "f4", "g": "f8"}
_UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
_VIEW = np.dtype([("length", "i4"), ("prefix", "S4"), ("buffer", "i4"), ("offset", "i4")])
_INLINE = 12  # bytes of a text that stand in its view
_MOST_ROWS = 2**40


class ArrowTable:
    """Columns of Python values, None where missing."""

    def __init__(self, names: list[str], cells: list[list[Any]]) -> None:
        self.columns = names
        self._cells = cells

    def write_csv(self, path: str) -> None:
        """Writes the table as text."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(zip(*self._cells))


def read_stream(table: Any, what: str) -> ArrowTable:
    """The table that an object's `__arrow_c_stream__` hands out."""
    capsule = table.__arrow_c_stream__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    try:
        address = get_pointer(capsule, b"arrow_array_stream")
    except ValueError:
        raise error(f"{what}: __arrow_c_stream__ gave no capsule called arrow_array_stream") from None
    stream = _Stream.from_address(address)
    if not stream.release:
        raise error(f"{what}: its Arrow stream was read already")
    schema = _Schema()
    try:
        _call(stream, stream.get_schema, schema, what)
        return _read_batches(stream, schema, what)
    finally:
        _release(schema)
        _release(stream)


def _release(part: Any) -> None:
    if part.release:
        part.release(ctypes.byref(part))


def _call(stream: _Stream, function: Callable[..., int], out: Any, what: str) -> None:
    code = function(ctypes.byref(stream), ctypes.byref(out))
    if code != 0:
        address = stream.get_last_error(ctypes.byref(stream)) if stream.get_last_error else None
        reason = _text(ctypes.string_at(address)) if address else f"error {code}"
        raise error(f"{what}: its Arrow stream fails: {reason}")


def _read_batches(stream: _Stream, schema: _Schema, what: str) -> ArrowTable:
    if schema.format != b"+s" or schema.n_children < 1:
        raise error(f"{what}: an Arrow stream of format {_text(schema.format)!r}; expected a table of columns")
    fields = [schema.children[c].contents for c in range(schema.n_children)]
    names = [_text(field.name) for field in fields]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise error(f"{what}: two columns are called '{doubled}'; rename one")
    cells: list[list[Any]] = [[] for _ in fields]
    for batch in _batches(stream, what):
        _check(batch, what, buffers=1)
        if batch.n_children != len(fields):
            raise error(f"{what}: a batch of {batch.n_children} columns; expected {len(fields)}")
        if _valid(batch, batch.offset, batch.length, what) is not None:
            raise error(f"{what}: rows that are missing as a whole; drop them first")
        for c, field in enumerate(fields):
            column = _Column(field, batch.children[c].contents, f"{what}: column {names[c]}", len(cells[c]))
            cells[c] += column.read(batch.offset, batch.length)
    return ArrowTable(names, cells)


def _batches(stream: _Stream, what: str) -> Iterator[_Array]:
    while True:
        batch = _Array()
        _call(stream, stream.get_next, batch, what)
        if not batch.release:
            return
        try:
            yield batch
        finally:
            _release(batch)


def _text(name: Optional[bytes]) -> str:
    return (name or b"").decode("utf-8", "replace")


def _check(array: _Array, what: str, buffers: int) -> None:
    if not (0 <= array.length < _MOST_ROWS and 0 <= array.offset < _MOST_ROWS):
        raise error(f"{what}: an Arrow array of length {array.length} at offset {array.offset}; its producer is broken")
    if array.n_buffers < buffers or (buffers > 0 and not array.buffers):
        raise error(f"{what}: an Arrow array of {array.n_buffers} buffers; expected {buffers}")


def _buffer(array: _Array, index: int, kind: Any, count: int, what: str) -> np.ndarray:
    """The first elements of a buffer, without a copy."""
    dtype = np.dtype(kind)
    if count == 0:
        return np.zeros(0, dtype)
    address = array.buffers[index]
    if not address:
        raise error(f"{what}: buffer {index} of its Arrow array is missing")
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype)


def _bits(array: _Array, index: int, first: int, count: int, what: str) -> np.ndarray:
    packed = _buffer(array, index, "u1", (first + count + 7) // 8, what)
    return np.unpackbits(packed, bitorder="little")[first : first + count].astype(bool)


def _valid(array: _Array, first: int, count: int, what: str) -> Optional[np.ndarray]:
    """Which elements have a value; None: all."""
    if array.null_count == 0 or count == 0:
        return None
    if not array.buffers[0]:
        if array.null_count > 0:
            raise error(f"{what}: {array.null_count} missing values, but no bitmap that says which")
        return None
    valid = _bits(array, 0, first, count, what)
    return None if valid.all() else valid


class _Column:
    """One column of one batch. `row` is the row of the table at which the batch begins, for messages."""

    def __init__(self, field: _Schema, array: _Array, what: str, row: int) -> None:
        self.format = _text(field.format)
        self.field, self.array, self.what, self.row = field, array, what, row

    def read(self, first: int, count: int) -> list[Any]:
        """Elements of the column behind its own offset."""
        has_bitmap = self.format != "n"
        _check(self.array, self.what, buffers=1 if has_bitmap else 0)
        if first + count > self.array.length:
            raise error(f"{self.what}: {self.array.length} values for {first + count} rows")
        if not has_bitmap:
            return [None] * count
        first += self.array.offset
        valid = _valid(self.array, first, count, self.what)
        values = self._words(first, count, valid) if self.field.dictionary else self._values(first, count, valid)
        if valid is None:
            return values
        return [value if known else None for value, known in zip(values, valid.tolist())]

    def _fail(self, row: int, problem: str) -> Any:
        return error(f"{self.what}: row {self.row + row + 1}: {problem}")

    def _fixed(self, kind: str, first: int, count: int) -> np.ndarray:
        _check(self.array, self.what, buffers=2)
        return _buffer(self.array, 1, kind, first + count, self.what)[first:]

    def _values(self, first: int, count: int, valid: Optional[np.ndarray]) -> list[Any]:
        if self.format in _NUMBERS:
            return self._fixed(_NUMBERS[self.format], first, count).tolist()
        if self.format == "b":
            _check(self.array, self.what, buffers=2)
            return _bits(self.array, 1, first, count, self.what).tolist()
        if self.format in ("u", "U"):
            return self._texts(first, count, "i4" if self.format == "u" else "i8")
        if self.format == "vu":
            return self._views(first, count, valid)
        moments = self._moments(first, count)
        if moments is None:
            raise error(
                f"{self.what}: values of Arrow's format '{self.format}' are not read; expected numbers, booleans, texts, "
                "dictionaries of texts, dates or timestamps: cast the column"
            )
        return moments

    def _moments(self, first: int, count: int) -> Optional[list[Any]]:
        """Dates and timestamps as ISO 8601; None for other formats."""
        if self.format == "tdD":
            days: list[Any] = np.datetime_as_string(self._fixed("i4", first, count).astype("M8[D]")).tolist()
            return days
        unit = "ms" if self.format == "tdm" else _UNITS.get(self.format[2:3]) if self.format.startswith("ts") else None
        if unit is None:
            return None
        times = self._fixed("i8", first, count).view(f"M8[{unit}]")
        zone = "Z" if self.format.partition(":")[2] else ""
        return ["" if time == "NaT" else time + zone for time in np.datetime_as_string(times).tolist()]

    def _texts(self, first: int, count: int, kind: str) -> list[Any]:
        _check(self.array, self.what, buffers=3)
        ends = _buffer(self.array, 1, kind, first + count + 1 if count else 0, self.what)[first:].astype(np.int64)
        if count == 0:
            return []
        wrong = np.flatnonzero((ends[:-1] < 0) | (np.diff(ends) < 0))
        if wrong.size:
            raise self._fail(int(wrong[0]), f"its text ends at byte {ends[wrong[0] + 1]}, before it begins")
        data = _buffer(self.array, 2, "u1", int(ends[-1]), self.what).tobytes()
        places = ends.tolist()
        return [self._decode(data[places[i] : places[i + 1]], i) for i in range(count)]

    def _decode(self, text: bytes, row: int) -> str:
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError:
            raise self._fail(row, f"{text[:40]!r} is not UTF-8") from None

    def _views(self, first: int, count: int, valid: Optional[np.ndarray]) -> list[Any]:
        """Texts of up to 12 bytes stand in their view, others in one of several buffers."""
        _check(self.array, self.what, buffers=3)
        more = self.array.n_buffers - 3
        sizes = _buffer(self.array, self.array.n_buffers - 1, "i8", more, self.what).tolist()
        raw = _buffer(self.array, 1, "u1", (first + count) * 16, self.what).tobytes()
        views = np.frombuffer(raw, _VIEW)[first:].tolist()
        texts: list[Any] = []
        for i, (length, _, place, offset) in enumerate(views):
            if valid is not None and not valid[i]:
                texts.append(None)
            elif 0 <= length <= _INLINE:
                begin = (first + i) * 16 + 4
                texts.append(self._decode(raw[begin : begin + length], i))
            elif length < 0 or not 0 <= place < more or offset < 0 or offset + length > sizes[place]:
                raise self._fail(i, f"a text of {length} bytes at {offset} of buffer {place}, past its end")
            else:
                address = self.array.buffers[2 + place]
                if not address:
                    raise self._fail(i, f"buffer {place} of its texts is missing")
                texts.append(self._decode(ctypes.string_at(address + offset, length), i))
        return texts

    def _words(self, first: int, count: int, valid: Optional[np.ndarray]) -> list[Any]:
        """Values named by their place in a dictionary."""
        if self.format not in _NUMBERS or _NUMBERS[self.format][0] == "f":
            raise error(f"{self.what}: a dictionary with places of format '{self.format}'; expected whole numbers")
        if not self.array.dictionary:
            raise error(f"{self.what}: the dictionary of its Arrow array is missing")
        field, values = self.field.dictionary.contents, self.array.dictionary.contents
        words = _Column(field, values, f"{self.what}: dictionary", 0).read(0, values.length)
        places = self._fixed(_NUMBERS[self.format], first, count)
        wrong = (places < 0) | (places >= len(words))
        wrong &= True if valid is None else valid
        if wrong.any():
            row = int(np.argmax(wrong))
            raise self._fail(row, f"place {places[row]} of a dictionary of {len(words)} values")
        return [words[place] if 0 <= place < len(words) else None for place in places.tolist()]

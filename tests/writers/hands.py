"""Writes the adversarial columns by a library of Python, in whatever version is installed: run by that version's own
interpreter, `python hands.py LIBRARY FOLDER`. A file that the library refuses to write is said and left out."""

# ruff: noqa: UP006, UP031, UP035, T201, PLW0108 - of any version of Python
from __future__ import annotations

import decimal
import os
import shutil
import struct
import sys
from typing import Any, Callable, Dict, List, Tuple

import pyarrow as pa
from columns import Column, columns

decimal.getcontext().prec = 60
_NUMPY = {"half": "<f2", "float": "<f4", "double": "<f8"}
_PACKED = {"half": ("H", "<f2"), "float": ("I", "<f4"), "double": ("Q", "<f8")}
_TYPES = {
    "bool": pa.bool_(), "half": pa.float16(), "float": pa.float32(), "double": pa.float64(), "date": pa.date32(),
    "text": pa.string(), "bytes": pa.binary(), "fixed4": pa.binary(4), "time_ms": pa.time32("ms"),
    "time_us": pa.time64("us"), "time_ns": pa.time64("ns"),
}  # fmt: skip
for _bits in (8, 16, 32, 64):
    _TYPES["int%d" % _bits] = getattr(pa, "int%d" % _bits)()
    _TYPES["uint%d" % _bits] = getattr(pa, "uint%d" % _bits)()
for _unit in ("ms", "us", "ns"):
    _TYPES["ts_" + _unit] = pa.timestamp(_unit)
    _TYPES["utc_" + _unit] = pa.timestamp(_unit, "UTC")


def type_of(name: str) -> pa.DataType:
    if name.startswith("decimal"):
        return pa.decimal128(*map(int, name[8:-1].split(",")))
    return _TYPES[name]


def array_of(type_: str, values: List[Any], words: Any = None) -> pa.Array:
    if type_ == "category":
        words = words or sorted({value for value in values if value is not None}, reverse=True)
        places = pa.array([None if v is None else words.index(v) for v in values], pa.int32())
        return pa.DictionaryArray.from_arrays(places, pa.array([w.decode() for w in words], pa.string()))
    if type_.startswith("struct"):
        # Below a struct that is NULL there may be anything, which is not there.
        hidden = next((value[0] for value in values if value is not None), None)
        inner = array_of(type_[7:-1], [hidden if value is None else value[0] for value in values], words)
        if not len(values):
            return pa.StructArray.from_arrays([inner], ["f"])
        validity = pa.array([value is not None for value in values]).buffers()[1]
        nulls = sum(value is None for value in values)
        return pa.Array.from_buffers(
            pa.struct([("f", inner.type)]), len(values), [validity if nulls else None], children=[inner]
        )
    arrow = type_of(type_)
    if type_ in _PACKED:
        import numpy as np

        code, kind = _PACKED[type_]
        data = np.frombuffer(b"".join(struct.pack("<" + code, v or 0) for v in values), kind)
        return pa.Array.from_buffers(arrow, len(values), [_valid(values), pa.py_buffer(data.tobytes())])
    if type_.startswith("decimal"):
        whole = b"".join((v or 0).to_bytes(16, "little", signed=True) for v in values)
        return pa.Array.from_buffers(arrow, len(values), [_valid(values), pa.py_buffer(whole)])
    if type_ == "text":
        return pa.array([None if v is None else v.decode() for v in values], arrow)
    if type_[:4] in ("date", "time") or type_[:3] in ("ts_", "utc"):
        wide = pa.int32() if type_ in ("date", "time_ms") else pa.int64()
        return pa.array(values, wide).view(arrow)
    return pa.array(values, arrow)


def _valid(values: List[Any]) -> Any:
    return pa.array([value is not None for value in values]).buffers()[1] if values else None


def tables(column: Column) -> List[pa.Table]:
    words = None
    if column.shape.startswith("shared"):
        flat = [v[0] if isinstance(v, tuple) else v for batch in column.batches for v in batch]
        words = sorted({value for value in flat if value is not None}, reverse=True)
    return [pa.Table.from_arrays([array_of(column.type, batch, words)], ["c"]) for batch in column.batches]


def whole(column: Column) -> pa.Table:
    return pa.concat_tables(tables(column))


# Each library: columns, and where to write one of them; a dictionary of ways to do so. -----------------------------

Way = Callable[[Column, str], None]
Ways = Dict[str, Way]


def _pyarrow() -> Ways:
    import pyarrow.parquet as pq

    def groups(column: Column, path: str, **how: Any) -> None:
        parts = tables(column)
        with pq.ParquetWriter(path, parts[0].schema, **how) as out:
            for part in parts:
                out.write_table(part)

    def together(column: Column, path: str, **how: Any) -> None:
        pq.write_table(whole(column), path, **how)

    small = {"data_page_size": 64, "use_dictionary": False}
    try:
        pq.write_table(pa.table({"c": [1]}), pa.BufferOutputStream(), write_batch_size=8)  # removes a path if it fails
        small["write_batch_size"] = 8
    except TypeError:
        pass
    ways = {
        "row-groups": lambda c, p: groups(c, p),
        "together": lambda c, p: together(c, p),
        "small-pages": lambda c, p: together(
            c, p, version="2.0" if int(pa.__version__.split(".")[0]) < 6 else "2.6", **small
        ),
        "pages-of-version-2": lambda c, p: together(c, p, data_page_version="2.0", **{**small, "use_dictionary": True}),
        "no-schema": lambda c, p: groups(c, p, store_schema=False) if _has("store_schema") else None,
        "int96": lambda c, p: (
            together(c, p, use_deprecated_int96_timestamps=True) if c.type[:3] in ("ts_", "utc") else None
        ),
        "integers": lambda c, p: (
            together(c, p, store_decimal_as_integer=True)
            if c.type.startswith("decimal") and _has("store_decimal_as_integer")
            else None
        ),
        "page-index": lambda c, p: together(c, p, write_page_index=True) if _has("write_page_index") else None,
    }

    def _has(option: str) -> bool:
        import inspect

        return option in str(inspect.signature(pq.ParquetWriter.__init__)) or option in str(pq.write_table.__doc__)

    return ways


def _polars() -> Ways:
    import polars as pl

    def way(column: Column, path: str, **how: Any) -> None:
        frame = pl.from_arrow(whole(column))
        try:
            frame.write_parquet(path, statistics="full", **how)
        except (TypeError, ValueError):
            frame.write_parquet(path, statistics=True, **how)

    return {
        "default": way,
        "small-pages": lambda c, p: way(c, p, data_page_size=64),
        "row-groups": lambda c, p: way(c, p, row_group_size=50, data_page_size=128),
        "streaming": lambda c, p: (
            pl.from_arrow(whole(c)).lazy().sink_parquet(p, data_page_size=256, row_group_size=500)
        ),
    }


def _duckdb() -> Ways:
    import duckdb

    def way(column: Column, path: str, how: str = "") -> None:
        if "category" in column.type and duckdb.__version__[:3] in ("0.8", "0.9"):
            raise TypeError("the process would end")
        asked = whole(column)  # noqa: F841 - by name
        with duckdb.connect() as con:
            con.execute("COPY (SELECT * FROM asked) TO '%s' (FORMAT parquet%s)" % (path, how))

    return {
        "default": way,
        "row-groups": lambda c, p: way(c, p, ", ROW_GROUP_SIZE 2048"),
        "version-2": lambda c, p: way(c, p, ", PARQUET_VERSION v2, ROW_GROUP_SIZE 4096"),
    }


def _fastparquet() -> Ways:
    import fastparquet

    def way(column: Column, path: str, **how: Any) -> None:
        rows = whole(column)
        frame = rows.to_pandas(date_as_object=False) if column.type != "bytes" else rows.to_pandas()
        fastparquet.write(path, frame, stats=True, **how)

    return {
        "default": way,
        "row-groups": lambda c, p: way(c, p, row_group_offsets=50),
        "int96": lambda c, p: way(c, p, times="int96") if c.type[:3] in ("ts_", "utc") else None,
    }


def _deltalake() -> Ways:
    import deltalake

    def way(column: Column, path: str, **properties: Any) -> None:
        root = path + ".table"
        how = {"writer_properties": deltalake.WriterProperties(**properties)} if properties else {}
        if "engine" in str(deltalake.write_deltalake.__kwdefaults__ or ""):
            how["engine"] = "rust"
        try:
            deltalake.write_deltalake(root, whole(column), **how)
            found = [
                os.path.join(at, name) for at, _, names in os.walk(root) for name in names if name.endswith(".parquet")
            ]
            if found:
                shutil.move(found[0], path)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    return {
        "default": way,
        "small-pages": lambda c, p: way(c, p, data_page_size_limit=64, write_batch_size=8),
        "row-groups": lambda c, p: way(c, p, max_row_group_size=50, dictionary_page_size_limit=64),
    }


def _datafusion() -> Ways:
    import datafusion

    def way(column: Column, path: str, how: str = "") -> None:
        context = datafusion.SessionContext()
        context.from_arrow(whole(column)).write_parquet(path)

    return {"default": way}


LIBRARIES: Dict[str, Callable[[], Ways]] = {
    "pyarrow": _pyarrow, "polars": _polars, "duckdb": _duckdb, "fastparquet": _fastparquet, "deltalake": _deltalake,
    "datafusion": _datafusion,
}  # fmt: skip


def main(library: str, folder: str) -> None:
    refused: Dict[Tuple[str, str], str] = {}
    for name, way in LIBRARIES[library]().items():
        for column in columns():
            path = os.path.join(folder, "%s.%s.parquet" % (column.name, name))
            if os.path.exists(path):
                continue
            try:
                way(column, path)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                if os.path.exists(path):
                    os.remove(path)
                refused[(column.type, name)] = str(error).split("\n")[0][:100]
    for (type_, name), why in refused.items():
        print("refused: %s, %s: %s" % (type_, name, why))


if __name__ == "__main__":
    main(*sys.argv[1:3])

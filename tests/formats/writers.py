"""The writers of Parquet whose footers are read, texts that are cut in their bounds, and whether bounds hold."""

import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metaindex.expressions import ColumnBounds, to_physical
from tests.formats.footers_of import footers, one

Writer = Callable[[pa.Table, Path], None]


def _polars(table: pa.Table, path: Path) -> None:
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame.write_parquet(path)


def _duckdb(table: pa.Table, path: Path) -> None:
    import duckdb

    with duckdb.connect() as con:
        con.from_arrow(table).write_parquet(str(path))


def _deltalake(table: pa.Table, path: Path) -> None:
    from deltalake import DeltaTable, write_deltalake

    root = path.with_suffix("")
    shutil.rmtree(root, ignore_errors=True)
    write_deltalake(str(root), table)
    (written,) = DeltaTable(str(root)).file_uris()
    Path(written).rename(path)


def _pyarrow(**how: Any) -> Writer:
    return functools.partial(pq.write_table, **how)


WRITERS: dict[str, Writer] = {
    "pyarrow": _pyarrow(),
    "pyarrow 1.0": _pyarrow(version="1.0", use_deprecated_int96_timestamps=False),
    "pyarrow 2.4, no schema": _pyarrow(version="2.4", store_schema=False, data_page_version="2.0"),
    "pyarrow, page index": _pyarrow(write_page_index=True, use_dictionary=False, row_group_size=2),
    "pyarrow, integers": _pyarrow(store_decimal_as_integer=True, compression="zstd", use_byte_stream_split=False),
    "duckdb": _duckdb,
    "polars": _polars,
    "deltalake": _deltalake,
}


def lies_within(values: pa.Array, bounds: ColumnBounds | None, row: int = 0) -> bool:
    """Is no value outside the bounds? Whether there are bounds is the answer."""
    if bounds is None or bounds.lower is None or bounds.upper is None:
        return False
    low, high = bounds.lower[row].as_py(), bounds.upper[row].as_py()
    present = values.drop_null()
    lows = [v for v in to_physical(present, values.type, upper=False).to_pylist() if v is not None and v == v]
    highs = [v for v in to_physical(present, values.type, upper=True).to_pylist() if v is not None and v == v]
    assert low is None or not lows or low <= min(lows), (low, min(lows))
    assert high is None or not highs or high >= max(highs), (high, max(highs))
    return low is not None and high is not None


def hold(values: pa.ChunkedArray, bounds: ColumnBounds, row: int) -> int:
    """Every bound and count that is stated holds for the physical values of a file; those of a partition are counts of
    one of its rows, which are all NULL or all not. How many bounds are stated."""
    nan = pc.sum(pc.is_nan(values)).as_py() or 0 if pa.types.is_floating(values.type) else 0
    of_one = bounds.row_count is not None and bounds.row_count[row].as_py() == 1
    for counts, true in ((bounds.null_count, values.null_count), (bounds.nan_count, nan)):
        said = None if counts is None else counts[row].as_py()
        assert said is None or true == (said * len(values) if of_one else said)
    stated = 0
    for bound, upper in ((bounds.lower, False), (bounds.upper, True)):
        if bound is not None and (limit := bound[row].as_py()) is not None:
            stated += 1
            physical = to_physical(values.drop_null().combine_chunks(), values.type, upper=upper).to_pylist()
            assert all(v is None or (v <= limit if upper else v >= limit) for v in physical), (limit, upper)
    return stated


def holds(writer: str, values: pa.Array, tmp_path: Path) -> bool:
    table = pa.table({"c": values})
    WRITERS[writer](table, tmp_path / "a.parquet")
    return lies_within(values, one(footers([tmp_path / "a.parquet"], table.schema), "c").bounds)


TEXTS = {
    "long": ["a" * 5000, "b" * 5000],
    "emoji": ["😀" * 60, "😀" * 60 + "z"],
    "last": ["\U0010ffff" * 40, "\U0010ffff" * 41],
    "surrogates": ["\ud7ff" * 40, "\ud7ff" * 39 + "\ue000"],
    "32 and more": ["k" * 31 + "😀", "k" * 32 + "\U0010ffff"],
    "nul and empty": ["", "\x00", "\x00\x00"],
    "bytes above ascii": ["az", "aé"],
}

"""Partition transforms: what a partition value says of the column it was made from, and how it reads as text.

    transform           a value v of the partition says of every source value x of the file
    identity            x = v                                   (exact)
    truncate[W]         v <= x < v + W; strings: x starts with v
    year month day hour the start of period v <= x < the start of the next
    bucket              hash(x) = v                             (`buckets`)
    void, ...           nothing
    any of the first four rows, NULL                            x is NULL

Writers before Iceberg 0.12 rounded negative times towards zero, so that a period at or before 1970 may hold values of
the period before: bounds there reach one back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from .metadata import PartitionSpec, TableMetadata

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Transform:
    """A transform by name, with its width or count."""

    name: str
    parameter: int = 0

    @classmethod
    def parse(cls, text: str) -> Transform:
        match = re.fullmatch(r"(\w+)(?:\[\s*(\d{1,9})\s*\])?", text)
        return cls("unknown") if match is None else cls(match[1], int(match[2] or 0))


def made_of(
    data: pl.DataFrame, specs: Mapping[int, PartitionSpec], field_id: int | None
) -> Iterator[tuple[npt.NDArray[np.intp], list[tuple[Transform, pl.Series]]]]:
    """Yield of each spec the rows of its files in `data`, and the partition fields made from a column, with their
    values in these files (from the columns p<field id>). Specs without such a field are left out."""
    for spec_id in data["spec_id"].unique(maintain_order=True).to_list():
        fields = [field for field in specs[spec_id].fields if field.source_id == field_id]
        if fields:
            chosen = data["spec_id"] == spec_id
            made = [(Transform.parse(f.transform), data[f"p{f.field_id}"].filter(chosen)) for f in fields]
            yield np.flatnonzero(chosen.to_numpy()), made


# Text


def partition_texts(frame: pl.DataFrame, spec: PartitionSpec, metadata: TableMetadata, prefix: str) -> pl.Series:
    """The canonical text of each row's partition tuple, from its columns p<field id>."""
    import polars as pl

    if not spec.fields:
        return pl.Series("partition", [prefix.rstrip(":")], dtype=pl.String).new_from_index(0, frame.height)
    types = {field_id: kinds[-1] for field_id, kinds in source_types(metadata).items()}
    parts = []
    for position, field in enumerate(spec.fields):
        from urllib.parse import quote

        name = quote((prefix if position == 0 else "") + field.name, safe="")
        kind = types.get(field.source_id, "") if field.source_id is not None else ""
        values = frame[f"p{field.field_id}"]
        texts = human(values, Transform.parse(field.transform), kind)
        # What the calendar cannot write (a damaged or very far date) stays a number: it is a value, not NULL.
        if values.dtype.is_integer() and texts.null_count() > values.null_count():
            texts = texts.fill_null(values.cast(pl.String))
        parts.append(pl.select(pl.lit(name + "=") + pl.lit(_encoded(texts))).to_series())
    if len(parts) == 1:
        return parts[0].alias("partition")
    return pl.select(pl.concat_str(parts, separator="/")).to_series().alias("partition")


def source_types(metadata: TableMetadata) -> dict[int, list[Any]]:
    """The types of each field id in all schemas, that of the current one last: partition sources may be nested, or
    dropped since."""
    out: dict[int, list[Any]] = {}

    def walk(fields: Any) -> None:
        for field in fields:
            out.setdefault(int(field["id"]), []).append(field["type"])
            if isinstance(field["type"], dict) and field["type"].get("type") == "struct":
                walk(field["type"]["fields"])

    for schema in metadata.schemas.values():
        walk(schema["fields"])
    walk(metadata.schemas[metadata.current_schema_id]["fields"])
    return out


_WIDE = Context(prec=60)
_NULL = "__HIVE_DEFAULT_PARTITION__"


def _encoded(texts: pl.Series) -> pl.Series:
    """Percent-encoded; NULL as Hive writes it, and a value that reads like Hive's NULL told from it."""
    import polars as pl

    unsafe = texts.filter(texts.str.contains(r"[^A-Za-z0-9_.~-]") | (texts == _NULL)).unique()
    if unsafe.len():
        from urllib.parse import quote

        codes = [quote(t, safe="").replace(_NULL, "%5F" + _NULL[1:]) for t in unsafe.to_list()]
        texts = texts.replace(unsafe, pl.Series(codes, dtype=pl.String))
    return texts.fill_null(_NULL)


def human(values: pl.Series, transform: Transform, kind: Any) -> pl.Series:
    """Values as people read them; different values give different texts."""
    import polars as pl

    text: pl.Series
    if values.dtype == pl.Null:
        return values.cast(pl.String)
    if values.dtype == pl.Boolean:
        return values.replace_strict({True: "true", False: "false"}, return_dtype=pl.String)
    if transform.name in _PERIOD and values.dtype.is_integer():
        text = _PERIOD[transform.name](values)
        return text
    if transform.name in ("identity", "truncate") and isinstance(kind, str):
        if kind == "date" and values.dtype.is_integer():
            return _day(values)
        if kind in _TIMES and values.dtype.is_integer():
            unit, zone, form = _TIMES[kind]
            return values.cast(pl.Int64).cast(pl.Datetime(unit)).dt.strftime(form) + zone
        if kind == "time" and values.dtype.is_integer():
            return (values.cast(pl.Int64) * 1000).cast(pl.Time).dt.strftime("%H:%M:%S%.6f")
        if kind.startswith("decimal") and values.dtype == pl.Binary:
            scale = int(kind.rstrip(") ").split(",")[1])
            return _by_unique(
                values, lambda raw: f"{Decimal(int.from_bytes(raw, 'big', signed=True)).scaleb(-scale, _WIDE):f}"
            )
        if kind == "uuid" and values.dtype == pl.Binary:
            import uuid

            return _by_unique(values, lambda raw: str(uuid.UUID(bytes=raw)))
    if values.dtype == pl.Binary:
        return values.bin.encode("hex")
    return values.cast(pl.String)


def _by_unique(values: pl.Series, text: Callable[[bytes], str]) -> pl.Series:
    import polars as pl

    unique = values.drop_nulls().unique()
    texts = pl.DataFrame({"v": unique, "t": pl.Series([text(v) for v in unique.to_list()], dtype=pl.String)})
    return pl.DataFrame({"v": values}).join(texts, on="v", how="left", maintain_order="left")["t"]


def _day(values: pl.Series) -> pl.Series:
    import polars as pl

    return values.cast(pl.Int32).cast(pl.Date).dt.strftime("%Y-%m-%d")


def _padded(values: pl.Series, width: int) -> pl.Series:
    import polars as pl

    return values.cast(pl.String).str.zfill(width)


_PERIOD: dict[str, Callable[[Any], Any]] = {
    "year": lambda v: _padded(1970 + v, 4),
    "month": lambda v: _padded(1970 + v // 12, 4) + "-" + _padded(v % 12 + 1, 2),
    "day": _day,
    "hour": lambda v: _day(v // 24) + "-" + _padded(v % 24, 2),
}
_TIMES: dict[str, tuple[Literal["us", "ns"], str, str]] = {
    "timestamp": ("us", "", "%Y-%m-%dT%H:%M:%S%.6f"),
    "timestamptz": ("us", "+00:00", "%Y-%m-%dT%H:%M:%S%.6f"),
    "timestamp_ns": ("ns", "", "%Y-%m-%dT%H:%M:%S%.9f"),
    "timestamptz_ns": ("ns", "+00:00", "%Y-%m-%dT%H:%M:%S%.9f"),
}

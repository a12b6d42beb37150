"""Rows of a shown table as pyiceberg and Polars read them, beside metaindex's own."""

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from pyiceberg.catalog import Catalog, load_catalog

import metaindex as mi


def catalog(address: str) -> Catalog:
    return load_catalog("shown", type="rest", uri=address)


def in_order(rows: Sequence[dict[str, Any]]) -> list[str]:
    return sorted(repr([*map(plain, row.values())]) for row in rows)


def plain(value: Any) -> Any:
    """A value as any reader has it: maps as pairs, instants in one zone."""
    match value:
        case {"key": key, "value": inner}:
            return plain(key), plain(inner)
        case dict():
            return [(key, plain(inner)) for key, inner in value.items()]
        case list():
            return [plain(inner) for inner in value]
        case tuple():
            return tuple(plain(inner) for inner in value)
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(dt.UTC).replace(tzinfo=dt.UTC)
    return value


def as_shown(address: str, path: Path | str, name: str, *conditions: str) -> None:
    """Rows and counts of pyiceberg, and rows of Polars, are those of metaindex."""
    ours, theirs = mi.open_table(path), catalog(address).load_table(f"lake.{name}")
    names = ours.schema.names
    for condition in (None, *conditions):
        want = (ours.scan() if condition is None else ours.scan(condition)).to_arrow()
        scan = theirs.scan() if condition is None else theirs.scan(condition)
        got = scan.to_arrow()
        assert got.schema.names == names
        assert in_order(got.to_pylist()) == in_order(want.select(names).to_pylist()), condition
        assert scan.count() == want.num_rows, condition
        lazy = pl.scan_iceberg(theirs)
        if condition is not None:
            lazy = lazy.filter(pl.sql_expr(condition))
        seen = lazy.collect()
        assert seen.columns == names
        assert in_order(seen.to_dicts()) == in_order(want.select(names).to_pylist()), condition

"""Statistics."""

from __future__ import annotations

import math
from typing import Any

from .lies import Run, Unknown
from .values import digits, domain, family, placed, wide


def room(t: str) -> int:
    return {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint8": 9, "uint16": 17, "uint32": 33}[t]


def carried(bound: Any, old: str, new: str, *, upper: bool = False) -> Any:
    """A bound that was written under one type, under another. Unknown where it may not answer."""
    if old == new or bound is None:
        return bound
    before, after = family(old), family(new)
    if before == after == "int" and "bool" not in (old, new) and not new.startswith("u") and room(old) <= room(new):
        return bound
    if before == "int" and old != "bool" and new == "double":
        return float(bound) if abs(bound) <= 2**53 else math.nextafter(float(bound), math.inf if upper else -math.inf)
    if before in ("int", "decimal", "wide") and after in ("decimal", "wide"):
        if before == "int":
            precision, scale = {8: 3, 9: 3, 16: 5, 17: 5, 32: 10, 33: 10, 64: 19}[room(old)], 0
        else:
            precision, scale = digits(old)
        whole, behind = digits(new)[0] - digits(new)[1], digits(new)[1]
        if behind >= scale and whole >= precision - scale:
            number = int.from_bytes(bound, "big") - 2**127 if isinstance(bound, bytes) else bound
            number *= 10 ** (behind - scale)
            return wide(number) if after == "wide" else number
    if before == after == "double" and ("halffloat", "float", "double").index(old) <= (
        "halffloat",
        "float",
        "double",
    ).index(new):
        return bound
    if before == "date" and new.startswith("timestamp") and "tz=" not in new:
        return bound * 86_400_000_000
    if before == after == "bytes":
        return bound
    raise Unknown(f"{old} for {new}")


def excluded(op: str, values: list[Any], row: dict[str, Any], old: str, new: str) -> bool:
    """Does the statistic prove that no row matches? The table of reading.md."""
    state, no_nan = row["state"], row["nan_count"] == 0
    if op == "is null":
        return bool(row["null_count"] == 0 or row["value_count"] == 0)
    if state == 1:
        return True
    if op == "is not null":
        return False
    nans = [v for v in values if isinstance(v, float) and math.isnan(v)]
    if nans and not (no_nan and op in ("=", "in", ">=")):
        return False
    values = [v for v in values if not (isinstance(v, float) and math.isnan(v))]
    if nans and not values:
        return True
    if state == 0:
        return False
    lo, hi = (carried(row[f"{end}_{domain(old)}"], old, new, upper=end == "upper") for end in ("lower", "upper"))
    if lo is None:
        return op in ("=", "in", "<", "<=", "prefix")  # nothing but NaN and NULL
    if op == "prefix":
        prefix = values[0].encode()
        return bool(hi < prefix or lo[: len(prefix)] > prefix)
    at = [placed(v, new) for v in values]
    match op:
        case "=" | "in":
            return all(v < lo or v > hi for v in at)
        case "<":
            return bool(lo >= at[0])
        case "<=":
            return bool(lo > at[0])
        case ">":
            return bool(hi <= at[0] and no_nan)
        case ">=":
            return bool(hi < at[0] and no_nan)
        case "<>":
            return bool(lo == hi == at[0] and no_nan)
    raise Unknown(op)


def by_statistics(run: Run, op: str, values: list[Any], stable: str, now: str) -> set[int]:
    """Ordinals that are proved out."""
    column = run.columns.get(stable)
    if column is None:
        return set()
    number, old = int(column["column_id"]), column["type"]
    if column["partition"]:
        rows = {row["partition_ord"]: row for row in run.of("partition_stats", "column_id", number)}
        out = {n for n, row in rows.items() if excluded(op, values, row, old, now)}
        return {file["ordinal"] for file in run.files if file["partition_ord"] in out}
    rows = {row["ordinal"]: row for row in run.of("column_stats", "column_id", number)}
    return {n for n, row in rows.items() if excluded(op, values, row, old, now)}

"""An index that is not built yet, offered to the ranker as if it were: what would it be worth to a query?"""

from __future__ import annotations

from metaindex.expressions.build import parse_path
from metaindex.formats.model import Schema
from metaindex.kinds.served import RowKind
from metaindex.kinds.spark_types import TEXT_BYTES, width
from metaindex.pruning.ranking import PRUNED, Offer, asked_of, share_read

from . import scans
from .reasons import Reason
from .request import SparkScan


def imagined(
    name: str,
    kind: RowKind,
    schema: Schema,
    scan: SparkScan,
    total_bytes: int,
    kept_bytes: int | None = None,
) -> Offer | Reason:
    """The offer that an index of this kind would be for one scan of a request, or why it would not be used. Columns are
    by the names that the scan has for them; bytes are shared out by their widths. `total_bytes`: of the table's files.
    `kept_bytes`: of those that the scan would read."""
    columns = {parse_path(column) for column in (*kind.indexed, *kind.included)}
    needs = [need.path for need in scan.needs]
    if not set(needs) <= columns:
        return Reason.NOT_COVERED
    indexed = [".".join(parse_path(column_)) for column_ in kind.indexed]
    asked = {".".join(ref.parts): asked_column for ref, asked_column in asked_of(scan.conditions).items()}
    buckets = kind.buckets_at(total_bytes)
    wants = scans.wants(scan, {name: name for name in indexed}, indexed) if buckets else scans.Wants()
    of_use = any(name in asked for name in indexed[: kind.bounded]) or scans.for_columns_alone(scan)
    if not of_use and not wants.all:
        return Reason.NOT_ASKED
    if not scan.harmless:
        return Reason.MAY_FAIL
    widths: dict[tuple[str, ...], int] = {(field.name,): width(field.type) for field in schema.fields}
    widths |= {leaf.parts: width(leaf.type) for leaf in schema.leaves()}
    whole = sum(width(field.type) for field in schema.fields) or 1
    needed = total_bytes * min(1.0, sum(widths.get(path, TEXT_BYTES) for path in needs) / whole)
    every = total_bytes if scan.text else needed
    kept = total_bytes if kept_bytes is None else min(kept_bytes, total_bytes)
    rows = total_bytes // whole
    read = needed * share_read(asked, indexed, buckets, kind.bounded, rows)
    order = tuple(indexed) if buckets else ()
    pruned = PRUNED if scan.pruned else 1.0
    source = pruned * every * kept / max(1, total_bytes)
    return Offer(name, source, read, of_use, wants.all, buckets, order, pruned=pruned, unsorted=wants.unsorted)

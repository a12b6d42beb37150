"""Comparison of what the table's log claims of its files with the facts that an index has of them: rows, NULLs, and
bounds that some row has. The facts are to be believed: they are of exactly these bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.formats import Snapshot
from metaindex.index.kinds.facts import plain, sure
from metaindex.index.open_index import OpenIndex
from metaindex.index.statistics.bounds import FileStatistics

from .report import Finding, Verification


def check_claims(index: OpenIndex, snapshot: Snapshot, report: Verification) -> None:
    """Tell the report what the log claims of files of the snapshot that is not so, each once."""
    known = FileStatistics(snapshot, [index], claims=False)
    claimed_rows = plain(snapshot.files.table.column("record_count"))
    covered = index.covered_columns()
    told = set[str]()
    for leaf in snapshot.schema.leaves():
        if leaf.stable not in covered or leaf.field.partition:
            continue
        facts, bounds = known.indexed(leaf).facts, snapshot.details.log_bounds(leaf)
        name = f"column {'.'.join(leaf.parts)!r}"
        pairs = [("rows", claimed_rows, facts.column("value_count"))]
        if bounds is not None and bounds.null_count is not None:
            pairs.append((f"NULLs in {name}", bounds.null_count, facts.column("null_count")))
        different = [(partial(_count, what), claim, fact, pc.not_equal(claim, fact)) for what, claim, fact in pairs]
        for side, word, beyond in (("lower", "least", pc.greater), ("upper", "greatest", pc.less)):
            claim = None if bounds is None else getattr(bounds, side)
            if claim is not None:
                fact = facts.column(side)
                attained = pc.and_(beyond(claim, fact), facts.column(f"{side}_exact"))
                different.append((partial(_bound, f"{word} value of {name}"), claim, fact, attained))
        for told_of, claim, fact, wrong in different:
            for path, said in _told(snapshot, told_of, claim, fact, wrong):
                if (key := f"{path} {said}") not in told:
                    told.add(key)
                    report.claims.append(Finding("claim", said, file=path))


def _count(what: str, claim: int, fact: int) -> str:
    return f"{claim:,} {what}, the file has {fact:,}"


def _bound(what: str, claim: object, fact: object) -> str:
    return f"{claim!r} as {what}, a row has {fact!r}"


def _told(
    snapshot: Snapshot, told_of: Callable[..., str], claim: pa.Array, fact: pa.ChunkedArray, wrong: pa.Array
) -> Iterator[tuple[str, str]]:
    """Yield the path of each file whose claim is wrong, and the difference."""
    for row in np.flatnonzero(np.asarray(sure(plain(wrong)))).tolist():
        said = told_of(claim[row].as_py(), fact[row].as_py())
        yield snapshot.files.paths[row].as_py(), f"the log says {said}: believe the index"

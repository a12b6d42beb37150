"""How often a filter was asked, and what was read for it: by the queries that were given, or by a query log, where the
rows themselves say what they read and who asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions.errors import MetaIndexError
from metaindex.expressions.normalize import normalize
from metaindex.expressions.records import dataclass
from metaindex.expressions.references import leaves
from metaindex.expressions.tree import Opaque, Predicate
from metaindex.querylog.texts import is_masked
from metaindex.whatif.weigh import Weighing
from metaindex.workloads.statements import condition

MOST_TEXTS: Final = 500
"""Different conditions of a log that are looked at: those for which most was read."""
_LONGEST: Final = 4_000
_MOST_SAID: Final = float(1 << 53)
_FINDS_OUT: Final = ("arrow", "pandas")
"""Engines whose scans surely apply the filter of the row alone: others may have pushed one of theirs into it."""
_LEFT_OUT: Final = re.compile(r"'\?[1-9][0-9]*'")

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class FilterAsking:
    """A whole filter, each time that it came: when (numbers that grow; all 0 where nobody knows), how often, what one
    of these read. `finds_out`: could what it found have been remembered? `hidden`: its values are hashes. `needs`: the
    columns that are read beside its own."""

    predicate: Predicate
    at: Numbers
    times: Numbers
    files: Floats
    size_bytes: Floats
    finds_out: Flags
    spark: Flags
    hidden: bool = False
    needs: frozenset[tuple[str, ...]] = frozenset()


def asked_of(weighing: Weighing) -> list[FilterAsking]:
    """Of queries that were given: those of which it is known how often each came."""
    out = []
    for query, tree in zip(weighing.asked.queries, weighing.trees, strict=True):
        if isinstance(tree, str) or query.stands is not None:
            continue
        reads = weighing.nows[tree].reads
        files, size = np.array([reads.files.expected]), np.array([reads.size_bytes.expected])
        if size[0] > 0:
            yes, no = np.ones(1, np.bool_), np.zeros(1, np.bool_)
            seen = np.array([query.seen], np.int64)
            out.append(FilterAsking(tree, np.zeros(1, np.int64), seen, files, size, yes, no, needs=query.needs))
    return out


def logged(rows: pa.Table) -> list[FilterAsking]:
    """Of a query log, oldest first, that strangers may have written: rows that read files and were helped by no index.
    A text that cannot be read, or says not which values were asked, is left out."""
    rows = rows.filter(
        pc.and_(
            pc.fill_null(pc.equal(pc.list_value_length(rows.column("indexes")), 0), True),
            pc.and_(
                pc.fill_null(pc.greater(rows.column("files_read"), 0), False),
                pc.fill_null(pc.greater(rows.column("bytes_read"), 0), False),
            ),
        )
    )
    rows = rows.filter(pc.is_valid(rows.column("predicate")))
    if not rows.num_rows:
        return []
    texts = rows.column("predicate").combine_chunks().dictionary_encode()
    of = texts.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    files, size = _floats(rows, "files_read"), _floats(rows, "bytes_read")
    engine = rows.column("engine")
    spark = _flags(pc.equal(engine, "spark"))
    finds_out = _flags(pc.is_in(engine, pa.array(_FINDS_OUT))) & _flags(pc.is_null(rows.column("limit")))
    total = np.bincount(of, size, len(texts.dictionary))
    most = np.argsort(-total, kind="stable")[:MOST_TEXTS]
    # Rows by their texts, each in their order: every row is looked at once, however many texts there are.
    by_text = np.argsort(of, kind="stable")
    ends = np.cumsum(np.bincount(of, minlength=len(total)))
    starts = ends - np.bincount(of, minlength=len(total))
    out = []
    for number in most.tolist():
        if (read := _read(texts.dictionary[number].as_py())) is None:
            continue
        places = by_text[starts[number] : ends[number]].astype(np.int64)
        once = np.ones(len(places), np.int64)
        told = (places, once, files[places], size[places], finds_out[places], spark[places])
        out.append(FilterAsking(read, *told, hidden=is_masked(read)))
    return out


def _read(text: str) -> Predicate | None:
    if len(text) > _LONGEST or _LEFT_OUT.search(text):
        return None
    try:
        predicate = normalize(condition(text))
    except MetaIndexError:
        return None
    return None if is_masked(predicate) and _has_unknown(leaves(predicate)) else predicate


def _has_unknown(told: Sequence[Predicate]) -> bool:
    return any(isinstance(leaf, Opaque) for leaf in told)


def _floats(rows: pa.Table, name: str) -> Floats:
    """Sums of what a stranger wrote overflow nothing."""
    told: Floats = rows.column(name).cast(pa.float64()).to_numpy()
    return told.clip(0.0, _MOST_SAID)


def _flags(told: pa.ChunkedArray) -> Flags:
    return np.asarray(pc.fill_null(told, False).to_numpy(), np.bool_)

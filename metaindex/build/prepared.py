"""Facts that the table's log states of new files, so that they need not be opened: the writer has just counted them (RFC-27, metadata prepared with the data commit).

What a log may be believed in is decided by `SnapshotDetails.log_bounds`; here only whether it says enough. A file is opened where some column lacks its state, its NULL count or
its rows; so it is for float columns where NaN are to be counted, which no log does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expressions.statistics import ColumnBounds, Mask
from formats.model import Leaf, Trust

from .collect import Collected
from .column_writer import Facts, packed, unpacked
from .protocol import BuildRequest
from .statistics import facts_of, replace_rows, take_bounds, unknown_facts


def prepared(request: BuildRequest) -> tuple[list[Facts], Mask]:
    """The facts of every leaf over the request's files, and the files for which they are enough."""
    count = len(request.files)
    enough = np.ones(count, np.bool_)
    facts: list[Facts] = []
    for leaf in request.leaves:
        stated = _stated(request, leaf)
        enough &= _says_enough(stated, leaf, request.scan_floats)
        facts.append(packed(stated))
    return facts, enough


def completed(facts: list[Facts], enough: Mask, read: Collected) -> Collected:
    """Prepared facts with those of the files that were read after all."""
    rows = np.flatnonzero(~enough)
    scanned = np.zeros(len(enough), np.bool_)
    scanned[rows] = read.scanned
    whole: list[Facts] = []
    for at, better in enumerate(read.facts):
        whole.append(packed(replace_rows(unpacked(facts[at]), rows, unpacked(better))))
    return Collected(whole, {int(rows[row]): why for row, why in read.problems.items()}, scanned)


def _stated(request: BuildRequest, leaf: Leaf) -> pa.Table:
    bounds: ColumnBounds | None = request.snapshot.details.log_bounds(leaf)
    if bounds is None:
        return unknown_facts(leaf.type, len(request.files))
    bounds = take_bounds(bounds, request.snapshot_rows)
    return facts_of(replace(bounds, type=leaf.type), len(request.files), Trust.LOG)


def _says_enough(facts: pa.Table, leaf: Leaf, scan_floats: bool) -> Mask:
    said = pc.and_(pc.is_valid(facts.column("null_count")), pc.is_valid(facts.column("value_count")))
    said = pc.and_(said, pc.greater(facts.column("state"), 0))
    if scan_floats and pa.types.is_floating(leaf.type):
        said = pc.and_(said, pc.is_valid(facts.column("nan_count")))
    return np.asarray(said.combine_chunks().to_numpy(zero_copy_only=False), np.bool_)

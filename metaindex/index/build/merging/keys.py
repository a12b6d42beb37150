"""Merges the keys of runs: which source says what of each file is decided here, once for all kinds; how rows are merged
is the kind's.

A file that stands in several runs is taken from the last one that keys it. A file of which no source knows anything, or
that is blanked, is unkeyed, and nothing of its values is left. Runs that do not cover the same keys are not merged: the
files of the one would become unkeyed. Nor are those whose values of a key do not compare (a column that changed its
type in a way that readers do not carry over).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from metaindex.core import DamagedIndexError, Mask
from metaindex.index.build.key_build import write_unkeyed
from metaindex.index.kinds.described import Ordinals
from metaindex.index.kinds.keyed import Units, part_number
from metaindex.index.kinds.kind import MergeInto, StoredKind
from metaindex.index.kinds.registry import readable, rows_of
from metaindex.index.log.entry import CoveredColumn, CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.writer import RunSink

if TYPE_CHECKING:
    from metaindex.index.kinds.pieces import WritesPieces


def keys_together(a: Sequence[CoveredKey], b: Sequence[CoveredKey]) -> tuple[CoveredKey, ...] | None:
    """The keys of a run merged of two that cover these; None where the runs stay apart."""
    others = {key.key_id: key for key in b}
    if others.keys() != {key.key_id for key in a}:
        return None
    out = []
    for key in a:
        other = others[key.key_id]
        if not (readable(key) and readable(other) and rows_of(key).together(key, other)):
            return None
        columns = [_together(rows_of(key), column, two) for column, two in zip(key.columns, other.columns, strict=True)]
        known = [column for column in columns if column is not None]
        if len(known) < len(columns):
            return None
        out.append(replace(key, columns=tuple(known)))
    return tuple(out)


def merge_keys(
    keys: Sequence[CoveredKey],
    sources: Sequence[RunReader],
    ordinals: Sequence[Ordinals],
    files: int,
    sink: RunSink,
    blank: Mapping[str, Mask],
    write: WritesPieces | None = None,
) -> tuple[tuple[CoveredKey, ...], list[PartInfo]]:
    """Write the rows of all keys of a run of so many files. `ordinals`: by source, the new ordinal of each of its
    files, -1 if it is dropped. `keys`: from `keys_together`. `write`: as in `MergeInto`."""
    blanked = np.zeros(files, np.bool_)
    for source, places in zip(sources, ordinals, strict=True):
        if source.run.run in blank:
            here = places[blank[source.run.run]]
            blanked[here[here >= 0]] = True
    unkeyed = [unkeyed_of(source) for source in sources]
    merged, parts, without = [], [], []
    for number, key in enumerate(keys):
        owner = np.full(files, -1, np.int32)
        for at, places in enumerate(ordinals):
            taken = places.copy()
            taken[unkeyed[at].get(key.key_id, _NONE)] = -1
            owner[taken[taken >= 0]] = at
        owner[blanked] = -1
        some = [
            (source, _covered(source, key), _mine(places, owner, at, unkeyed[at].get(key.key_id, _NONE)))
            for at, (source, places) in enumerate(zip(sources, ordinals, strict=True))
        ]
        layout, written = rows_of(key).merge(key, some, MergeInto(sink, partial(part_number, number), write))
        left = np.flatnonzero(owner < 0)
        merged.append(replace(key, layout=layout, unkeyed_files=len(left)))
        without.append((key.key_id, left))
        parts += written
    return tuple(merged), [*parts, *write_unkeyed(sink, without)]


def unkeyed_of(source: RunReader) -> dict[int, Units]:
    """Return for each key of a run the ordinals it does not cover. DamagedIndexError if their number differs from the
    log entry's."""
    by_key: dict[int, list[npt.NDArray[np.int64]]] = {}
    for part in source.parts("unkeyed"):
        table = source.read(part, range(len(source.footer(part).rows)), ["key_id", "ordinal"], keep=False)
        ids = np.asarray(table.column("key_id").to_numpy())
        for key in np.unique(ids).tolist():
            by_key.setdefault(key, []).append(
                np.asarray(table.column("ordinal").to_numpy())[ids == key].astype(np.int64)
            )
    out = {key: np.unique(np.concatenate(ordinals)) for key, ordinals in by_key.items()}
    for said in source.run.keys:
        count = len(out.get(said.key_id, _NONE))
        if count != said.unkeyed_files:
            raise DamagedIndexError(
                f"run {source.run.run} names {said.unkeyed_files} files of which a key knows nothing; {count} are"
                " there; refresh the index with mode='full'"
            )
    return out


_NONE = np.zeros(0, np.int64)


def _mine(places: Ordinals, owner: npt.NDArray[np.int32], number: int, unkeyed: Units) -> npt.NDArray[np.int64]:
    """The new ordinal of each file of a source, -1 where it is not taken from there."""
    out = places.astype(np.int64)
    out[unkeyed] = -1
    there = out >= 0
    out[there] = np.where(owner[out[there]] == number, out[there], -1)
    return out


def _covered(source: RunReader, key: CoveredKey) -> CoveredKey:
    return next(covered for covered in source.run.keys if covered.key_id == key.key_id)


def _together(rows: type[StoredKind], a: CoveredColumn, b: CoveredColumn) -> CoveredColumn | None:
    """The column with the type that the values of both are of."""
    if a.type_text == b.type_text:
        return b
    old, new = a.type, b.type
    if old is None or new is None:
        return None
    if rows.carries_over(old, new):
        return b
    return replace(b, type_text=a.type_text) if rows.carries_over(new, old) else None

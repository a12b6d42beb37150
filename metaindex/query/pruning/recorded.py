"""The version's files as an index has recorded them: its own `files` rows are the list, and the table's log is not
replayed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, Vector, dataclass
from metaindex.expressions import CompositeStatistics, ManyFiles, PruningStatistics
from metaindex.formats import FileTable, Format, Schema
from metaindex.index import BoundPredicate, Lacking, OpenIndex, RunCoverage
from metaindex.storage import both_at, each_at, is_remote

from .sources import FileSource, HeardStatistics, JoinedSources, Portion
from .walk import (
    NeedsSnapshot,
    TableQuestion,
    Tally,
    Walked,
    ask_ahead,
    column_names,
    guard,
    known_by,
    leaf_reports,
    surely,
    walk,
)

Ordinals = npt.NDArray[np.int64]

_FEW_FILES = 16
_ONE_OF = 1_000


def few(kept: int, total: int) -> bool:
    """Return whether reading the kept files costs less than asking the table's log for more (docs/decisions/0010)."""
    return not kept or (total >= _ONE_OF and kept <= max(_FEW_FILES, total // _ONE_OF))


def over_recorded(question: TableQuestion, indexes: Sequence[OpenIndex], *, alone: bool) -> Walked | NeedsSnapshot:
    """Wants.HELPS where the table itself may prove more and the indexes keep many files, unless they are to answer
    `alone`. Some index must have recorded the version."""
    primary = _primary(question, indexes)
    recorded = primary.versions.find(question.version)
    assert recorded is not None, "the primary index recorded the version"
    record, live = recorded.record, recorded.live
    asked = BoundPredicate.of(question.bound(recorded.schema), recorded.schema, indexes)
    with guard(primary):
        runs = [RunCoverage.of(primary, run, asked) for run in primary.entry.content.runs if run.run in live.dead]
        segments = [RunSegment(known, live.mask(known.run), live.with_deletes(known.run)) for known in runs]
    others = []
    for index in indexes:
        if index is not primary:
            with guard(index):
                others.append((index, RunCoverage.of_index(index, asked)))
    tallies = {index.name: Tally() for index in indexes}
    root = primary.storage.root
    ahead = _ahead(segments, others) if is_remote(root) else []
    own, _ = both_at(
        root,
        lambda: each_at(root, segments, lambda segment: _own(segment, tallies)),
        lambda: each_at(root, ahead, lambda ask: ask(), of_store=len(ahead)),
    )
    pairs = list(zip(segments, own, strict=True))
    searched = each_at(root, pairs, lambda pair: _search(*pair, others, tallies, indexes))
    kept = sum(piece.count for piece in searched)
    wide = not alone and not few(kept, record.files)
    if wide and (asked.answered_by_table(indexes) or _log_knows_more(question, asked, searched, indexes)):
        return NeedsSnapshot.HELPS
    with guard(primary):
        files = FileTable(_concat(each_at(root, searched, lambda piece: piece.segment.files(piece.kept))))
    used = {
        primary.name: column_names(set().union(*(segment.known.columns for segment in segments)) if segments else set())
    }
    used |= {index.name: column_names(set().union(*(k.columns for k in known))) for index, known in others if known}
    _tally(
        searched,
        tallies,
        primary,
        record.size_bytes - files.size_bytes,
        one_source=not any(known for _, known in others),
    )

    def certain(*, claims: bool = False) -> pa.Array:
        masks = [surely(asked.predicate, s.together(claims=claims), s.segment.run.files)[s.kept] for s in searched]
        return pa.array(np.concatenate(masks) if masks else [], pa.bool_())

    return Walked(
        files=files,
        total_files=record.files,
        total_bytes=record.size_bytes,
        schema=asked.schema,
        predicate=asked.predicate,
        walked=asked.walked,
        alone=tallies,
        used_columns=used,
        dropped=lambda: FileTable(_concat([piece.segment.files(piece.dropped) for piece in searched])),
        certain=certain,
        leaves=lambda: [r for piece in searched for r in leaf_reports(asked, piece.sources(), piece.segment.live)],
        row_groups=lambda row, groups: _row_groups(searched, row, groups),
        knows_row_groups=any(known.key_columns for _, runs in others for known in runs)
        or any(segment.known.key_columns for segment in segments),
        lacks=_lacks(asked, searched, [index for index in indexes if used.get(index.name)], record.files),
    )


def _lacks(
    asked: BoundPredicate, searched: Sequence[_Searched], indexes: Sequence[OpenIndex], count: int
) -> dict[str, Lacking]:
    """Return the lack of each index: the files of which it knows none of the asked columns."""
    lacks = {}
    for index in indexes:
        files = partial(_unknown, searched, index.name)
        with guard(index):
            lacking = asked.lacking(index, count - sum(piece.knows(index.name) for piece in searched), count, files)
        if lacking is not None:
            lacks[index.name] = lacking
    return lacks


def _unknown(searched: Sequence[_Searched], name: str) -> FileTable:
    """The live files of which an index knows none of the asked columns."""
    masks = [~piece.knowing(name) & piece.segment.live for piece in searched]
    pieces = zip(searched, masks, strict=True)
    return FileTable(_concat([piece.segment.files(np.flatnonzero(mask)) for piece, mask in pieces]))


def _primary(question: TableQuestion, indexes: Sequence[OpenIndex]) -> OpenIndex:
    """The index whose list of files is taken: of those that recorded the version, the one that covers most of the
    columns asked."""
    found = ((index, index.versions.find(question.version)) for index in indexes)
    candidates = [(index, recorded.schema) for index, recorded in found if recorded is not None]
    if len(candidates) == 1:
        return candidates[0][0]

    def covered(pair: tuple[OpenIndex, Schema]) -> int:
        stable = {leaf.stable for leaf in pair[1].leaves() if leaf.parts in question.named}
        return len(stable & pair[0].covered_columns())

    return max(candidates, key=covered)[0]


def _log_knows_more(
    question: TableQuestion, asked: BoundPredicate, searched: Sequence[_Searched], indexes: Sequence[OpenIndex]
) -> bool:
    """Return whether the table's log may know a column of a kept file of which no index has a fact: one that a quick
    refresh named, one of an older type."""
    return Format.named(question.format).has_log and any(
        not known_by(piece.walked, indexes, column)[piece.kept].all()
        for piece in searched
        for column in (asked.columns if piece.count else ())
    )


class RunSegment:
    """The files of one run of the primary index, as the list to walk over."""

    def __init__(self, known: RunCoverage, live: Mask, with_deletes: Mask) -> None:
        self.known, self.index, self.run, self.asked = known, known.index, known.run, known.asked
        self.live, self._deletes = live, with_deletes

    def with_later_runs(self, own: ManyFiles) -> ManyFiles:
        """Join the run with other runs of the index of the same files: a quick refresh named those, and a later one has
        read them."""
        if not self._later:
            return own
        everything = np.arange(self.run.files)
        return JoinedSources(self.run.files, [Portion(own, everything, everything), *self._later])

    @cached_property
    def _later(self) -> list[Portion]:
        missing = set(self.asked.columns) - self.known.columns
        if not missing:
            return []
        runs = [known for known in RunCoverage.of_index(self.index, self.asked) if known.run.run != self.run.run]
        return _portions([known for known in runs if known.columns & missing], self)

    def size_bytes(self, ordinals: Ordinals) -> int:
        sizes = self.index.rows(self.run, "files", ordinals, ["size_bytes"]).column("size_bytes")
        return sum(int(Vector(chunk).numbers.sum()) for chunk in sizes.chunks)

    def files(self, ordinals: Ordinals) -> pa.Table:
        return self.index.files_of(self.run, ordinals, self._deletes)


_Others = Sequence[tuple[OpenIndex, list[RunCoverage]]]


@dataclass(frozen=True)
class _Searched:
    """A segment after the walk: what may match, alone and together."""

    segment: RunSegment
    others: Mapping[str, ManyFiles]
    own: ManyFiles
    mask: Mask
    masks: dict[str, Mask]

    @cached_property
    def kept(self) -> Ordinals:
        return np.flatnonzero(self.mask)

    @property
    def count(self) -> int:
        return len(self.kept)

    @property
    def dropped(self) -> Ordinals:
        return np.flatnonzero(self.segment.live & ~self.mask)

    def knows(self, name: str) -> int:
        """Return for how many live files an index knows some asked column."""
        return int(np.count_nonzero(self.knowing(name) & self.segment.live))

    def knowing(self, name: str) -> Mask:
        """Return a mask of the files of which an index knows some asked column."""
        source = self.own if name == self.segment.index.name else self.others.get(name)
        if isinstance(source, JoinedSources):
            return source.known
        return np.full(self.segment.run.files, isinstance(source, ManyFiles) and bool(source.columns))

    def sources(self) -> Mapping[str, ManyFiles]:
        """Return all sources, each for all files."""
        return {self.segment.index.name: self.segment.with_later_runs(self.segment.known.whole()), **self.others}

    def together(self, *, claims: bool) -> PruningStatistics[Mask]:
        """Return the sources as one: their facts, and what they copied of the table's log, too."""
        sources = list(self.sources().values())
        return CompositeStatistics(sources if claims else [*map(HeardStatistics.facts, sources)])

    @property
    def walked(self) -> Mapping[str, ManyFiles]:
        """Return the sources that were walked, in parts of the run alone."""
        return {self.segment.index.name: self.own, **self.others}

    def row_groups(self, ordinal: int, groups: int) -> PruningStatistics[Mask]:
        return FileSource(groups, list(self.walked.values()), ordinal)


def _ahead(segments: Sequence[RunSegment], others: _Others) -> list[Callable[[], object]]:
    """Return what will be asked of a store whatever the answers are: the files of the only run, or of all where several
    sources are told apart; which of them other runs know, and what."""
    several = any(runs for _, runs in others)
    ahead: list[Callable[[], object]] = []
    if several or len(segments) == 1:
        ahead += [partial(segment.index.list_ahead, segment.run) for segment in segments]
    for known in (known for _, runs in others for known in runs):
        ahead.append(partial(ask_ahead, known.index.storage.root, known.asked.walked, {"": known.whole()}))
        if any(known.run.files_digest != segment.run.files_digest for segment in segments):
            ahead.append(partial(known.index.ids_ahead, known.run))
    return ahead


def _own(segment: RunSegment, tallies: dict[str, Tally]) -> ManyFiles:
    """Return what the index itself knows of the segment."""
    started = time.perf_counter()
    with guard(segment.index):
        own = segment.with_later_runs(segment.known.narrowed())
    ask_ahead(segment.index.storage.root, segment.asked.walked, {"": own})
    tallies[segment.index.name].seconds += time.perf_counter() - started
    return own


def _search(
    segment: RunSegment, own: ManyFiles, others: _Others, tallies: dict[str, Tally], indexes: Sequence[OpenIndex]
) -> _Searched:
    more: dict[str, ManyFiles] = {}
    for index, runs in others:
        if runs:
            with guard(index):
                more[index.name] = JoinedSources(segment.run.files, _portions(runs, segment))
    sources = {segment.index.name: own, **more}
    mask, masks = walk(segment.asked.walked, sources, tallies, indexes, segment.run.files)
    return _Searched(segment, more, own, mask & segment.live, masks)


def _portions(runs: Sequence[RunCoverage], segment: RunSegment) -> list[Portion]:
    """Return what runs say of the files of a segment: by equal numbering where the digests agree, else by file id."""
    everything = np.arange(segment.run.files)

    def located(known: RunCoverage) -> list[Portion]:
        run = known.run
        if (run.table_uuid, run.files_digest) == (segment.run.table_uuid, segment.run.files_digest):
            return [Portion(known.whole(), everything, everything)]
        return Portion.located(known, known.index.locate(run, segment.index.identities(segment.run)))

    return [portion for portions in each_at(segment.index.storage.root, runs, located) for portion in portions]


def _tally(
    searched: Sequence[_Searched],
    tallies: dict[str, Tally],
    primary: OpenIndex,
    dropped_bytes: int,
    *,
    one_source: bool,
) -> None:
    """Tally what each source drops alone. Sizes are read only if there are several sources."""
    for piece in searched:
        for name, single in piece.masks.items():
            out = np.greater(piece.segment.live, single)  # live, and not kept
            tallies[name].files += int(np.count_nonzero(out))
            if not one_source:
                with guard(primary):
                    tallies[name].bytes += piece.segment.size_bytes(np.flatnonzero(out))
    if one_source:
        tallies[primary.name].bytes = dropped_bytes


def _row_groups(searched: Sequence[_Searched], row: int, groups: int) -> PruningStatistics[Mask]:
    for piece in searched:
        if row < piece.count:
            return piece.row_groups(int(piece.kept[row]), groups)
        row -= piece.count
    raise IndexError(row)


def _concat(tables: list[pa.Table]) -> pa.Table:
    if len(tables) == 1:
        return tables[0]
    return pa.concat_tables(tables) if tables else FileTable.empty().table

"""The data files that are read again, to be compared with what an index says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from metaindex.core import Mask, Vector
from metaindex.formats import Snapshot, TableRef
from metaindex.index.build.protocol import Progress
from metaindex.index.keys import FileIdentities
from metaindex.index.log.entry import RunRef
from metaindex.index.log.versions import Recorded
from metaindex.index.open_index import OpenIndex

from .report import Verification
from .runs import RunRows

Ordinals = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Sample:
    """`limit` files (None: all) that are live at the version `recorded`, spread over its runs, of which `rows` were
    read back. `snapshot` says how the files are read, and what stands under their paths now: `replaced` marks those of
    each run that are not it."""

    index: OpenIndex
    rows: Mapping[str, RunRows]
    recorded: Recorded
    snapshot: Snapshot
    ref: TableRef
    limit: int | None
    report: Verification
    replaced: Mapping[str, Mask]
    progress: Progress | None = None

    @classmethod
    def made(
        cls,
        index: OpenIndex,
        rows: Mapping[str, RunRows],
        recorded: Recorded,
        snapshot: Snapshot,
        ref: TableRef,
        limit: int | None,
        report: Verification,
        progress: Progress | None,
    ) -> Sample:
        """Tells the report how many of the files are not what stands under their paths now: the index is behind there,
        and not wrong."""
        replaced = _replaced([rows[run] for run in recorded.live.dead], snapshot)
        report.replaced = sum(
            int(np.count_nonzero(mask & recorded.live.mask(rows[run].run))) for run, mask in replaced.items()
        )
        return cls(index, rows, recorded, snapshot, ref, limit, report, replaced, progress)

    def of(self, covers: Callable[[RunRef], object]) -> list[tuple[RunRows, Ordinals]]:
        """The runs that `covers` takes, each with the ordinals of its files."""
        runs = [self.rows[run] for run in self.recorded.live.dead if covers(self.rows[run].run)]
        there = [
            np.flatnonzero(self.recorded.live.mask(run_rows.run) & ~self.replaced[run_rows.run.run])
            for run_rows in runs
        ]
        return list(zip(runs, sampled(there, self.limit), strict=True))

    def tell(self, what: str, done: int, of: Sequence[tuple[RunRows, Ordinals]]) -> None:
        """Tells how many files of all are done."""
        if self.progress is not None:
            self.progress(what, done, sum(len(ordinals) for _, ordinals in of))


def _replaced(runs: Sequence[RunRows], snapshot: Snapshot) -> dict[str, Mask]:
    """Files of runs whose path the snapshot has, as another file."""
    paths, now = Vector(snapshot.files.paths).array, FileIdentities.of(snapshot)
    out = {}
    for run_rows in runs:
        named = pc.is_in(run_rows.files.column("path"), value_set=paths)
        same = now.places(Vector(run_rows.files.column("file_id")).array).is_valid()
        mine = run_rows.run.table_uuid == now.table_uuid
        out[run_rows.run.run] = Vector(pc.and_not(Vector(named).array, same) if mine else named).truths(null=False)
    return out


def sampled(live: Sequence[Ordinals], sample: int | None) -> list[Ordinals]:
    """Return at most so many of all ordinals, evenly spread: the same ones each time, so that a finding can be
    reproduced. None: all."""
    count = sum(map(len, live))
    if sample is None or count <= sample:
        return list(live)
    picked = np.unique(np.linspace(0, count - 1, sample).astype(np.int64)) if sample else np.zeros(0, np.int64)
    starts = np.cumsum([0, *map(len, live)])
    return [
        live_rows[picked[(picked >= a) & (picked < b)] - a]
        for live_rows, a, b in zip(live, starts, starts[1:], strict=False)
    ]

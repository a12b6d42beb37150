"""An index kept up by refreshes of any mode, at versions asked in any order, answers like a new one: at every version,
recorded or not, whatever happened to the table."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from unittest.mock import patch

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import metaindex as mi
from tests.examples import few
from tests.histories.driver import RANDOM, History, Index, run
from tests.index.actions.delta_history import DeltaHistory


class Happening(History):
    """What may happen to a Delta table, chosen at random."""

    verbs = "append append remove drop_partition delete_rows statistics_again restore new_column create clean"

    def __init__(self, lake: DeltaHistory, random: Random) -> None:
        super().__init__(random)
        self.lake = lake

    def happen(self, verb: str) -> None:
        which = self.random.randrange(100)
        self.statements.append(f"{verb} {which}")
        if verb == "append":
            self.lake.append(1 + which % 3)
        elif verb in ("new_column", "clean"):
            getattr(self.lake, verb)()
        elif verb != "create":
            getattr(self.lake, verb)(which)
        elif which % 4 == 0:
            self.lake.create()


class AnyMode(Index):
    """`recorded`: the versions that are answered for exactly."""

    verbs = "refresh refresh refresh older quick full of_a_partition of_a_folder optimize clean"

    def __init__(self, history: Happening) -> None:
        self.lake = history.lake
        super().__init__(history, lambda: mi.open_table(str(self.lake.root)), mi.ColumnStats())
        self.recorded = {self.now}

    @property
    def now(self) -> tuple[int, int]:
        return self.lake.lives, len(self.lake.versions) - 1

    def refresh(self, mode: object = "incremental", **how: object) -> None:
        super().refresh(mode, **how)
        if mode == "full":
            self.recorded.clear()  # the runs before are gone, with the rows of files that had left
        if mode != "quick" and not how:
            self.recorded.add(self.now)

    def older(self) -> None:
        self.refresh("quick" if self.random.random() < 0.2 else "incremental", version=self._any(self.lake.readable))

    def of_a_partition(self) -> None:
        self.refresh(where=f"p = {self._any(range(3))}")

    def of_a_folder(self) -> None:
        self.refresh(under=f"p={self._any(range(3))}")

    def _any(self, numbers: range) -> int:
        return numbers[self.random.randrange(len(numbers))]


def check(table: mi.Table, lake: DeltaHistory, recorded: set[tuple[int, int]]) -> None:
    for version in lake.readable:
        files = lake.versions[version]
        if not files:
            continue
        number = next(iter(files.values())).first + 3
        result = table.prune(f"id = {number}", version=version, indexes=["kept"])
        wanted = {f"{lake.root}/{p}" for p, f in files.items() if f.may_hold(number)}
        assert wanted <= set(result.paths), (version, number)
        assert len(result.paths) == len(set(result.paths))
        assert result.total_files == len(files)
        assert result.total_bytes == sum(f.size for f in files.values())
        assert set(result.dropped.paths.to_pylist()) | {os.path.relpath(p, lake.root) for p in result.paths} == set(
            files
        )
        if (lake.lives, version) in recorded:
            assert set(result.paths) == wanted, (version, number)
        deletes = result.files.table.column("deletes").to_pylist()
        marked = {path for path, gone in zip(result.files.paths.to_pylist(), deletes, strict=True) if gone}
        assert marked == {p for p, f in files.items() if f.deletes} & set(result.files.paths.to_pylist())


@contextmanager
def limited(small: bool) -> Iterator[None]:
    """Versions leave the entry early; `small`: and are forgotten early."""
    limits = {"MAX_INLINE": 4, "KEPT_INLINE": 2, "MAX_VERSIONS": 7 if small else 1024}
    with (
        patch.multiple("metaindex.index.log.history", **limits),
        patch("metaindex.index.actions.records.MAX_BITS", 30 if small else 4096),
    ):
        yield


@settings(max_examples=few(8, 40), phases=(Phase.explicit, Phase.generate))
@given(st.integers(4, 24), st.booleans(), RANDOM)
def test_every_version_answers_like_the_table(steps: int, small: bool, random: Random) -> None:
    with tempfile.TemporaryDirectory() as folder, limited(small):
        lake = DeltaHistory(Path(folder) / "lake")
        history = Happening(lake, random)
        index = AnyMode(history)
        run(steps, history, index, oracles=[index.refresh, lambda: check(index.opened(), lake, index.recorded)])

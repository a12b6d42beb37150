"""An index kept up by refreshes of any mode, at versions asked in any order, answers like a new one: at every version,
recorded or not, whatever happened to the table."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import metaindex as mi
from tests.index.actions.delta_history import DeltaHistory

HAPPENS = ["append", "append", "remove", "drop", "rows", "again", "restore", "column", "create", "clean"]
REFRESHES = [
    "incremental",
    "incremental",
    "incremental",
    "older",
    "quick",
    "limited",
    "under",
    "full",
    "optimize",
    "clean up",
]
STEPS = st.lists(
    st.tuples(st.sampled_from(HAPPENS) | st.sampled_from(REFRESHES), st.integers(0, 99)), min_size=4, max_size=24
)


def happen(lake: DeltaHistory, what: str, which: int) -> None:
    match what:
        case "append":
            lake.append(1 + which % 3)
        case "remove":
            lake.remove(which)
        case "drop":
            lake.drop_partition(which)
        case "rows":
            lake.delete_rows(which)
        case "again":
            lake.statistics_again(which)
        case "restore":
            lake.restore(which)
        case "column":
            lake.new_column()
        case "create" if which % 4 == 0:
            lake.create()
        case "clean":
            lake.clean()


def refresh(table: mi.Table, lake: DeltaHistory, what: str, which: int) -> None:
    match what:
        case "older":
            version = lake.readable[which % len(lake.readable)]
            table.refresh_index(
                "kept", mode="quick" if which % 5 == 0 else "incremental", version=version, builder="local"
            )
        case "limited":
            table.refresh_index("kept", where=f"p = {which % 3}", builder="local")
        case "optimize":
            table.optimize_index("kept", "full" if which % 2 else "quick")
        case "clean up":
            table.clean_index("kept", retention=0)
        case "under":
            table.refresh_index("kept", under=f"p={which % 3}", builder="local")
        case "incremental" | "quick" | "full":
            table.refresh_index("kept", mode=what, builder="local")  # type: ignore[arg-type]


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
        marked = {
            p
            for p, d in zip(
                result.files.paths.to_pylist(), result.files.table.column("deletes").to_pylist(), strict=True
            )
            if d
        }
        assert marked == {p for p, f in files.items() if f.deletes} & set(result.files.paths.to_pylist())


@settings(max_examples=5 if os.environ.get("METAINDEX_FAST") else 40, phases=(Phase.explicit, Phase.generate))
@given(STEPS, st.booleans())
def test_every_version_answers_like_the_table(steps: list[tuple[str, int]], small: bool) -> None:
    limits = {"MAX_INLINE": 4, "KEPT_INLINE": 2, "MAX_VERSIONS": 7 if small else 1024}
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.multiple("metaindex.index.log.history", **limits),
        patch("metaindex.index.actions.records.MAX_BITS", 30 if small else 4096),
    ):
        lake = DeltaHistory(Path(folder) / "lake")
        mi.open_table(str(lake.root)).create_index("kept", mi.ColumnStats(), builder="local")
        recorded = {(lake.lives, len(lake.versions) - 1)}
        for what, which in [*steps, ("incremental", 0)]:
            happen(lake, what, which)
            table = mi.open_table(str(lake.root))
            if what in REFRESHES:
                refresh(table, lake, what, which)
                if what == "full":
                    recorded.clear()  # the runs before are gone, with the rows of files that had left
                if what in ("incremental", "full"):
                    recorded.add((lake.lives, len(lake.versions) - 1))
        check(mi.open_table(str(lake.root)), lake, recorded)

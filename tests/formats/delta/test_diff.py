"""Diffs from the log: first and last action of a key, and what was live at the base; both ways agree."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from metaindex.formats.diff import Diff
from metaindex.formats.format import At
from tests.formats.delta.hand import (
    DELTA,
    add,
    checkpoint,
    column,
    commit,
    dv,
    metadata,
    protocol,
    ref,
    remove,
    snapshot,
)


def shown(diff: Diff | None) -> tuple[set[tuple[object, ...]], ...]:
    out = []
    for files in (diff.appended, diff.deleted, diff.deletes_changed):
        rows = files.table.select(["path", "size_bytes", "deletes", "partition", "record_count"]).to_pylist()
        out.append({tuple(row.values()) for row in rows})
    return tuple(out)


def names(diff: Diff | None) -> tuple[list[str], ...]:
    return tuple(sorted(f.paths.to_pylist()) for f in (diff.appended, diff.deleted, diff.deletes_changed))


SAME: tuple[list[str], ...] = ([], [], [])


@pytest.mark.parametrize(
    ("commits", "expected"),
    [
        ([[add("a", stats={"numRecords": 1}, dataChange=False)]], SAME),
        ([[add("b"), remove("a", size=10)], [remove("b", size=10), add("a")]], SAME),
        ([[remove("ghost", size=10)]], SAME),
        ([[remove("a", size=10)], [add("a", size=11)]], (["a"], ["a"], [])),
    ],
    ids=["statistics written again", "a file that came and went", "of what was not there", "another size"],
)
def test_what_is_a_change(tmp_path: Path, commits: list[list[Any]], expected: tuple[list[str], ...]) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    for version, actions in enumerate(commits, 1):
        commit(tmp_path, version, *actions)
    assert names(DELTA.diff(ref(tmp_path), snapshot(tmp_path, 0), At())) == expected


def test_what_the_log_does_not_say_of_a_removed_file_two_snapshots_say(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    commit(tmp_path, 1, remove("a", size=10, deletionVector=dv(1)))  # of another state of the file
    commit(tmp_path, 2, remove("b"))  # without a size
    base = snapshot(tmp_path, 0)
    for version in (1, 2):
        assert DELTA.diff(ref(tmp_path), base, At(version=version)) is None
        assert names(Diff.between(base, snapshot(tmp_path, version))) == ([], [], [])


def test_a_changed_schema_and_partitioning_are_said(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(column("id")), add("a"))
    commit(tmp_path, 1, metadata(column("id")))
    commit(
        tmp_path,
        2,
        metadata(column("id"), column("p", "string"), partitions=["p"]),
        remove("a", size=10),
        add("b", partitionValues={"p": "x"}),
    )
    base = snapshot(tmp_path, 0)
    same, other = (
        DELTA.diff(ref(tmp_path), base, At(version=1)),
        DELTA.diff(ref(tmp_path), base, At(version=2)),
    )
    assert (same.schema_changed, other.schema_changed) == (False, True)
    assert other.appended.entry(0).partition == "p=x"


def test_what_the_log_cannot_serve_is_left_to_the_comparison(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    commit(tmp_path, 1, add("b"))
    commit(tmp_path, 2, add("c"))
    base, newest = snapshot(tmp_path, 0), snapshot(tmp_path)
    assert DELTA.diff(ref(tmp_path), newest, At(version=0)) is None
    assert names(DELTA.diff(ref(tmp_path), newest, At())) == ([], [], [])
    checkpoint(tmp_path, 2, protocol(), metadata(), add("a"), add("b"), add("c"))
    (tmp_path / "_delta_log" / f"{1:020d}.json").unlink()
    assert DELTA.diff(ref(tmp_path), base, At(version=2)) is None


def test_a_base_of_another_table_at_the_same_path_is_not_served(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    commit(tmp_path, 1, add("b"))
    base = snapshot(tmp_path, 0)
    commit(tmp_path, 0, protocol(), metadata(table_id="two"), add("x"))
    assert DELTA.diff(ref(tmp_path), base, At(version=1)) is None


ACTION = st.tuples(st.sampled_from(["add", "remove", "dv", "undv"]), st.sampled_from("abcdé %"), st.integers(1, 2))
HISTORY = st.lists(st.lists(ACTION, max_size=4), min_size=1, max_size=7)


def written(path: Path, history: list[list[tuple[str, str, int]]]) -> list[dict[str, tuple[int, int | None]]]:
    """A log of such a history, and the live files of every version: path to (size, deletion vector)."""
    live: dict[str, tuple[int, int | None]] = {}
    states = []
    commit(path, 0, protocol(3, ["deletionVectors"]), metadata())
    states.append(dict(live))
    for version, steps in enumerate(history, 1):
        lines: list[Any] = []
        touched: set[str] = set()
        for what, name, number in steps:
            if name in touched:
                continue
            touched.add(name)
            raw = name.replace("%", "%25").replace(" ", "%20")
            old = live.get(name)
            gone = (
                []
                if old is None
                else [remove(raw, size=old[0], **({} if old[1] is None else {"deletionVector": dv(old[1])}))]
            )
            match what:
                case "add":
                    lines += [add(raw, size=number, stats={"numRecords": number})] + (
                        gone if old and old[1] is not None else []
                    )
                    live[name] = (number, None)
                case "remove":
                    lines += gone
                    live.pop(name, None)
                case "dv" if old is not None and old[1] != number:
                    lines += [add(raw, size=old[0], stats={"numRecords": old[0]}, deletionVector=dv(number)), *gone]
                    live[name] = (old[0], number)
                case "undv" if old is not None and old[1] is not None:
                    lines += [*gone, add(raw, size=old[0], stats={"numRecords": old[0]})]
                    live[name] = (old[0], None)
        commit(path, version, *lines)
        states.append(dict(live))
    return states


def left_to_comparison(states: list[dict[str, tuple[int, int | None]]]) -> bool:
    """Did a file of the first version get deletes, or lose all, before it was taken out? The log names it by what it
    was then, and is not believed."""
    return any(
        states[-1].get(name, (None,))[0] != size
        and any(name in state and (state[name][1] is None) != (deletes is None) for state in states[1:])
        for name, (size, deletes) in states[0].items()
    )


@settings(max_examples=settings.default.max_examples * 60 // 100)
@example([[("add", "a", 1)], [("dv", "a", 1)], [("remove", "a", 1)]], 0)
@given(HISTORY, st.integers(0, 7))
def test_random_histories(tmp_path_factory: Any, history: list[list[tuple[str, str, int]]], kept: int) -> None:
    table = tmp_path_factory.mktemp("history")
    states = written(table, history)
    snapshots = [snapshot(table, v) for v in range(len(states))]
    for state, found in zip(states, snapshots, strict=True):
        rows = {r["path"]: (r["size_bytes"], r["delta_dv_offset"]) for r in found.files.table.to_pylist()}
        assert rows == state
    for base in range(len(states)):
        for target in range(base, len(states)):
            own = DELTA.diff(ref(table), snapshots[base], At(version=target))
            if own is not None or not left_to_comparison(states[base : target + 1]):
                assert shown(own) == shown(Diff.between(snapshots[base], snapshots[target]))
    # A checkpoint anywhere changes nothing.
    at = min(kept, len(states) - 1)
    adds = [
        add(p.replace("%", "%25").replace(" ", "%20"), size=s, **({} if d is None else {"deletionVector": dv(d)}))
        for p, (s, d) in states[at].items()
    ]
    checkpoint(table, f"{at:020d}.checkpoint.parquet", protocol(3, ["deletionVectors"]), metadata(), *adds)
    for number in range(at, len(states)):
        rows = {
            r["path"]: (r["size_bytes"], r["delta_dv_offset"]) for r in snapshot(table, number).files.table.to_pylist()
        }
        assert rows == states[number]

"""Bad input: what is damaged or hostile raises one error of ours that names table, version and file; a snapshot is
whole or not there."""

import copy
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metaindex.core import CorruptTableError, FormatError, VersionNotFoundError
from metaindex.formats.format import At
from tests.formats.delta.hand import (
    DELTA,
    add,
    checkpoint,
    column,
    commit,
    metadata,
    paths,
    protocol,
    ref,
    remove,
    snapshot,
)

DV = {
    "storageType": "i",
    "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 40,
    "cardinality": 6,
}
FULL: list[dict[str, Any]] = [
    protocol(3, ["deletionVectors", "columnMapping"]),
    metadata(column("id"), column("p", "integer"), partitions=["p"], configuration={"a": "b"}),
    add(
        "p=1/f",
        stats={"numRecords": 3, "minValues": {"id": 1}, "maxValues": {"id": 2}, "nullCount": {"id": 0}},
        partitionValues={"p": "1"},
        baseRowId=3,
    ),
    add("p=2/f", partitionValues={"p": None}, deletionVector=DV),
    remove("gone", partitionValues={"p": "1"}, size=4),
    {"commitInfo": {"timestamp": 1, "inCommitTimestamp": 5}},
    {"txn": {"appId": "a", "version": 1}},
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


def places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [above, *(way for key, one in inside for way in places(one, (*above, key)))]


def everything(table: Path, version: int | None = None) -> None:
    """All that a snapshot can be asked for."""
    found = snapshot(table, version)
    for one in found.schema.leaves():
        found.details.log_bounds(one)
        found.details.partition_bounds(one)
    for row in range(len(found.files)):
        if found.files.table.column("deletes")[row].is_valid:
            found.details.deletes(row)


def refusal(work: Callable[[], object]) -> str:
    """What it is refused with; "" where it is not. Any other error passes through."""
    try:
        work()
    except FormatError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[" * 100_000, "it is nested too deep"),
        ('{"commitInfo": ' + '{"a":' * 100_000, "it is nested too deep"),
        ('{"add": {"size": ' + "9" * 5_000 + "}}", "it has a number of too many digits"),
    ],
)
def test_what_is_too_large_for_python_is_told_in_words_of_ours(tmp_path: Path, line: str, said: str) -> None:
    commit(tmp_path, 0, *FULL[:2])
    (tmp_path / "_delta_log" / f"{1:020}.json").write_text(line)
    told = refusal(lambda: snapshot(tmp_path))
    assert f"line 1 is no Delta action: {said}; the log is damaged" in told


@pytest.mark.parametrize("kind", [f"decimal({'9' * 5_000},2)", '{"type":"array","elementType":' * 100_000])
def test_a_schema_too_large_for_python_is_told_in_words_of_ours(tmp_path: Path, kind: str) -> None:
    said = metadata(column("id", "@"))
    said["metaData"]["schemaString"] = said["metaData"]["schemaString"].replace(
        '"@"', kind if "{" in kind else f'"{kind}"'
    )
    commit(tmp_path, 0, protocol(), said)
    told = refusal(lambda: snapshot(tmp_path))
    assert "is no Delta schema: it " in told
    assert "sys." not in told


@given(st.data())
def test_any_value_in_any_place_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    actions = copy.deepcopy(FULL)
    *above, last = data.draw(st.sampled_from([w for w in places(actions) if w]))
    holder: Any = actions
    for key in above:
        holder = holder[key]
    if isinstance(holder, dict) and data.draw(st.booleans()):
        del holder[last]
    else:
        holder[last] = data.draw(JSON)
    table = tmp_path_factory.mktemp("t")
    commit(table, 0, *actions)
    said = refusal(lambda: everything(table))
    assert not said or str(table) in said
    # As a difference, too.
    commit(table, 0, *FULL[:2])
    commit(table, 1, *actions)
    said = refusal(lambda: DELTA.diff(ref(table), snapshot(table, 0), At(version=1)))
    assert not said or str(table) in said


@pytest.mark.slow
def test_a_log_that_grows_and_is_cleaned_while_it_is_read_gives_whole_versions(tmp_path: Path) -> None:
    """A writer appends, checkpoints and cleans. Version v has the files 0 to v, neither more nor fewer."""
    last = 150
    commit(tmp_path, 0, protocol(), metadata(), add("0"))

    def write() -> None:
        for version in range(1, last + 1):
            _rename_into(tmp_path, version)
            if version % 5 == 0:
                made = checkpoint(
                    tmp_path, f"{version:020d}.tmp", protocol(), metadata(), *(add(str(n)) for n in range(version + 1))
                )
                made.rename(made.with_name(f"{version:020d}.checkpoint.parquet"))
                for old in (tmp_path / "_delta_log").iterdir():
                    if int(old.name[:20]) < version - 20:
                        old.unlink()
            time.sleep(0.002)

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    try:
        while writer.is_alive() or not seen:
            try:
                found = snapshot(tmp_path)
            except VersionNotFoundError:
                continue
            version = int(found.version.id)
            assert set(paths(found)) == {str(n) for n in range(version + 1)}
            seen.add(version)
    finally:
        writer.join()
    assert paths(snapshot(tmp_path)) == sorted(str(n) for n in range(last + 1))


def _rename_into(table: Path, version: int) -> None:
    """A commit as a writer makes it: whole, at once."""
    made = table / "_delta_log" / f"{version:020d}.writing"
    made.write_text(json.dumps(add(str(version))) + "\n")
    made.rename(table / "_delta_log" / f"{version:020d}.json")


def test_a_commit_that_is_still_written_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    whole = commit(tmp_path, 1, add("b"), add("c")).read_text()
    half = tmp_path / "_delta_log" / f"{1:020d}.json"
    half.write_text(whole[:-20])
    with pytest.raises(CorruptTableError, match=r"version 1, .*00001\.json, line 2"):
        snapshot(tmp_path)

    from metaindex.formats.delta import replay

    read = replay.read_commit

    def finished_meanwhile(storage: Any, table: str, version: int) -> Any:
        if version == 1 and half.read_text() != whole:
            try:
                return read(storage, table, version)
            finally:
                half.write_text(whole)
        return read(storage, table, version)

    monkeypatch.setattr(replay, "read_commit", finished_meanwhile)
    assert paths(snapshot(tmp_path)) == ["a", "b", "c"]


def test_a_commit_cut_between_lines_is_seen_when_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The listing showed one line, the read finds two: which of them is the commit is for the next listing to say."""
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    grown = commit(tmp_path, 1, add("b"), add("c")).read_text()
    file = commit(tmp_path, 1, add("b"))

    from metaindex.formats.delta import table as module

    find = module.find_segment
    listed = []

    def then_it_grows(*arguments: Any) -> Any:
        found = find(*arguments)
        if not listed:
            file.write_text(grown)
        listed.append(found)
        return found

    monkeypatch.setattr(module, "find_segment", then_it_grows)
    assert paths(snapshot(tmp_path)) == ["a", "b", "c"]
    assert len(listed) == 2


def test_a_snapshot_is_of_one_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is dropped and created anew, as long as before to the byte, while its commits are read."""
    from metaindex.formats.delta import replay

    def create(*files: str) -> None:
        for version, file in enumerate(files):
            (tmp_path / "_delta_log" / f"{version:020d}.json").unlink(missing_ok=True)
            commit(tmp_path, version, *([] if version else [protocol(), metadata()]), add(file))

    create("a", "b", "c")
    read, anew = replay.read_commit, [("x", "y", "z")]

    def created_meanwhile(storage: Any, table: str, version: int) -> Any:
        if version == 1 and anew:
            create(*anew.pop())
        return read(storage, table, version)

    monkeypatch.setattr(replay, "read_commit", created_meanwhile)
    assert paths(snapshot(tmp_path)) == ["x", "y", "z"]
    assert not anew


UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


def v2(table: Path, *sidecars: str) -> None:
    actions = [{"checkpointMetadata": {"version": 0}}, protocol(3, ["v2Checkpoint"]), metadata()]
    actions += [{"sidecar": {"path": one, "sizeInBytes": 1, "modificationTime": 1}} for one in sidecars]
    (table / "_delta_log").mkdir(parents=True, exist_ok=True)
    (table / "_delta_log" / f"{0:020d}.checkpoint.{UUID}.json").write_text("\n".join(map(json.dumps, actions)))


@pytest.mark.parametrize(
    "path",
    [
        "s.parquet",
        "_sidecars/s.parquet",
        "_delta_log/_sidecars/s.parquet",
        "s3://old-place/t/_delta_log/_sidecars/s.parquet",
    ],
)
def test_sidecars_are_those_of_the_log_itself(tmp_path: Path, path: str) -> None:
    checkpoint(tmp_path, "_sidecars/s.parquet", add("a"))
    v2(tmp_path, path)
    assert paths(snapshot(tmp_path)) == ["a"]


@pytest.mark.parametrize(
    "path",
    ["s3://foreign/s.parquet", "/etc/s.parquet", "../s.parquet", "other/s.parquet", "%2e%2e/_sidecars/s.parquet"],
)
def test_a_sidecar_somewhere_else_is_refused(tmp_path: Path, path: str) -> None:
    checkpoint(tmp_path, "_sidecars/s.parquet", add("a"))
    v2(tmp_path, path)
    with pytest.raises(CorruptTableError, match=r"version 0, sidecar"):
        snapshot(tmp_path)


@pytest.mark.parametrize("path", ["s3://foreign/dv.bin", "file:///no/where/dv.bin"])
def test_a_deletion_vector_in_a_foreign_place_is_an_error_that_names_it(tmp_path: Path, path: str) -> None:
    vector = {"storageType": "p", "pathOrInlineDv": path, "offset": 1, "sizeInBytes": 40, "cardinality": 1}
    commit(tmp_path, 0, protocol(3, ["deletionVectors"]), metadata(), add("f", deletionVector=vector))
    with pytest.raises(FormatError, match=r"version 0.*dv\.bin"):
        snapshot(tmp_path).details.deletes(0)


@pytest.mark.parametrize("left", [slice(1), slice(8), slice(100), slice(-1), slice(-8), slice(-20), slice(-40), None])
def test_a_checkpoint_cut_anywhere_or_of_zeros_is_an_error_that_names_it(tmp_path: Path, left: slice | None) -> None:
    made = checkpoint(tmp_path, 3, protocol(), metadata(), *(add(str(n)) for n in range(50)))
    made.write_bytes(made.read_bytes()[left] if left else b"PAR1" + bytes(500) + b"PAR1")
    with pytest.raises(CorruptTableError, match=rf"{tmp_path} version 3, .*checkpoint\.parquet"):
        snapshot(tmp_path)


@example(at=2293, junk=b"\x00")  # a protocol without its version
@example(at=2506, junk=b"\x01")  # a provider that is no text
@given(st.integers(4, 10_000), st.binary(min_size=1, max_size=30))
def test_bytes_overwritten_in_a_checkpoint_are_an_error_or_change_nothing_that_is_told(
    tmp_path_factory: pytest.TempPathFactory, at: int, junk: bytes
) -> None:
    table = tmp_path_factory.mktemp("t")
    made = checkpoint(table, 3, protocol(), metadata(), *(add(f"f{n}") for n in range(20)))
    pq.write_table(pq.read_table(made), made, write_page_checksum=True)
    data = bytearray(made.read_bytes())
    at %= len(data) - len(junk)
    data[at : at + len(junk)] = junk
    made.write_bytes(bytes(data))
    said = refusal(lambda: everything(table))
    assert not said or str(table) in said


def test_a_wrong_page_checksum_of_a_checkpoint_is_an_error(tmp_path: Path) -> None:
    """Spark writes them: a path with one letter changed would be another file."""
    made = checkpoint(tmp_path, 3, protocol(), metadata(), add("the-name-of-a-file"))
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(pq.read_table(made), made, write_page_checksum=True, **plain)
    data = made.read_bytes()
    where = data.index(b"the-name-of-a-file")
    made.write_bytes(data[:where] + b"T" + data[where + 1 :])
    with pytest.raises(CorruptTableError, match=r"version 3, .*checkpoint\.parquet"):
        snapshot(tmp_path)

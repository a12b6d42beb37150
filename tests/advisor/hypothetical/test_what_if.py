"""`Table.what_if` over real tables of every format: as it comes where the sample is the table, with bounds that hold
where it is not. Nothing is written."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake

import metaindex as mi
from metaindex.advisor.hypothetical.answer import WhatIf
from metaindex.index import Kind
from metaindex.query import FooterGroups
from metaindex.table import handle_of
from tests.advisor.tables import filled_with, of_parquet, tree
from tests.tables import FIVE, FORMATS


def rows(number: int, count: int = 60) -> pa.Table:
    """Of a file: ids of its own, a few categories, names that some files share, NULLs among all."""
    rng = np.random.default_rng(number)
    ids = rng.permutation(count) + number * count
    names = [None if one % 7 == 0 else f"n{one % 40 + number * 10:03d}" for one in range(count)]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "cat": pa.array(rng.integers(0, 4, count) * 2 + number % 2, pa.int64()),
            "name": pa.array(names, pa.string()),
        }
    )


def filled(folder: Path, format_: str, files: int = 8) -> mi.Table:
    return filled_with(map(rows, range(files)), folder, format_)


QUERIES = [
    "id = 77",
    "id in (3, 200)",
    "id between 100 and 130",
    "name = 'n041' and cat = 1",
    "name is null",
    "cat = 9",
]

CANDIDATES: dict[str, Sequence[Kind]] = {
    "column_stats": [mi.ColumnStats()],
    "values": [mi.Values("id", "name")],
    "values by value": [mi.Values("id", by="value")],
    "values of two": [mi.Values(("name", "cat"))],
    "bloom": [mi.Bloom("id", "cat")],
    "value lists": [mi.ValueList("cat")],
    "several": [mi.ColumnStats("id"), mi.Values("name"), mi.Bloom("cat")],
}


def groups_read(table: mi.Table, result: mi.PruneResult) -> int:
    footers = FooterGroups(handle_of(table).ref.storage)
    found = [footers.of(result, path, [result.walked])[0] for path in result.files.paths.to_pylist()]
    return sum(int(one.kept.sum()) for one in found)


@pytest.mark.exhaustive(but="bloom-delta")
@pytest.mark.parametrize("format_", sorted(FIVE))
@pytest.mark.parametrize("kinds", sorted(CANDIDATES))
def test_it_is_as_it_comes_where_the_sample_is_the_table(tmp_path: Path, kinds: str, format_: str) -> None:
    table = filled(tmp_path, format_)
    before = tree(tmp_path)
    found = table.what_if(QUERIES, list(CANDIDATES[kinds]))
    assert tree(tmp_path) == before
    assert (found.sampled.files, found.refused) == (8, 0)
    (cost,) = found.candidates
    assert cost.problem == ""
    now = [table.prune(query) for query in QUERIES]
    created = table.create_index("i", *CANDIDATES[kinds], builder="local")
    assert cost.size_bytes.exact
    assert cost.size_bytes.expected == pytest.approx(created.entry.content.runs[0].size_bytes, rel=0.01)
    for query, was in zip(QUERIES, now, strict=True):
        then, told = table.prune(query), found[query]
        (effect,) = told.effects
        assert (told.now.files.expected, told.now.size_bytes.expected) == (was.kept_files, was.kept_bytes), query
        assert effect.exact
        assert (effect.reads.files.expected, effect.reads.size_bytes.expected) == (then.kept_files, then.kept_bytes)
        if format_ in ("csv", "json"):
            assert effect.reads.row_groups is None
        else:
            assert effect.reads.row_groups.expected == groups_read(table, then)


def skewed(folder: Path, seed: int, files: int = 60) -> mi.Table:
    """Plain files of different sizes: ids of one file each, values with skew and NULLs, others that lie together."""
    rng = np.random.default_rng(seed)
    nulls, skew, many = rng.uniform(0, 0.3), rng.uniform(1.2, 2.0), int(rng.choice([50, 1_000, 20_000]))

    def columns(number: int) -> dict[str, object]:
        count = int(rng.integers(500, 1_500))
        left_out = rng.random(count) < nulls
        return {
            "id": pa.array(rng.permutation(count) + number * 2_000),
            "heavy": pa.array(rng.zipf(skew, count) % many, mask=left_out),
            "some": pa.array(rng.integers(0, files * 50, count).astype(str), mask=left_out),
            "near": pa.array((rng.integers(0, many, count) + number * many // 20) % many),
        }

    return of_parquet(map(columns, range(files)), folder, row_group_size=400)


def asked_of(table: mi.Table, seed: int) -> list[str]:
    """Values that rows have, values that none has, ranges and NULL."""
    rng = np.random.default_rng(seed)
    every = table.scan().to_arrow()
    found = ["heavy is null", "some = 'none'", "id = -5", "near between 5 and 9"]
    for name in ("id", "heavy", "some", "near"):
        known = every.column(name).drop_null()
        some = [known[int(rng.integers(len(known)))].as_py() for _ in range(3)]
        found += [f"{name} = {one!r}" for one in some[:2]] + [f"{name} in ({some[1]!r}, {some[2]!r})"]
    return found


@pytest.mark.exhaustive
def test_the_bounds_hold_what_comes_in_85_of_100(tmp_path: Path) -> None:
    kinds: dict[str, Kind] = {"v": mi.Values("id", "heavy", "some", "near"), "b": mi.Bloom("id", "heavy", "some")}
    held: dict[str, list[bool]] = {"files": [], "bytes": [], "row groups": [], "size": []}
    off = []
    for seed in range(3):
        table = skewed(tmp_path / str(seed), seed)
        queries = asked_of(table, seed)
        found = table.what_if(queries, *kinds.values(), sample=0.15)
        assert 4 <= found.sampled.files <= 12
        assert found.sampled.size_bytes <= found.sampled.limit_bytes
        for (name, kind), cost in zip(kinds.items(), found.candidates, strict=True):
            outcome = table.create_index(name, kind, builder="local")
            size = outcome.entry.content.runs[0].size_bytes
            held["size"].append(cost.size_bytes.low <= size <= cost.size_bytes.high)
            for query in queries:
                then, reads = table.prune(query, indexes=[name]), found[query][cost.candidate].reads
                held["files"].append(reads.files.low <= then.kept_files <= reads.files.high)
                held["bytes"].append(reads.size_bytes.low - 1 <= then.kept_bytes <= reads.size_bytes.high + 1)
                off.append(abs(reads.files.expected - then.kept_files) / max(then.kept_files, 1))
                if reads.row_groups is not None:
                    groups = groups_read(table, then)
                    held["row groups"].append(reads.row_groups.low <= groups <= reads.row_groups.high)
    shares = {what: float(np.mean(some)) for what, some in held.items()}
    assert min(shares["files"], shares["bytes"], shares["row groups"]) >= 0.85, shares
    assert shares["size"] >= 0.8, shares
    assert np.median(off) <= 0.1


def told(found: WhatIf) -> dict[str, object]:
    """What does not depend on the processor."""
    said = found.to_json()
    for cost in said["candidates"]:  # type: ignore[attr-defined]
        cost.pop("build_cpu_seconds")
        cost.pop("upkeep_a_day")
    return said


def test_nothing_is_built_among_the_files_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no other folder can be written, temporary files are Python's current folder's."""
    table = filled(tmp_path, "parquet", files=2)
    before = tree(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", table.path)
    for ask in (lambda: table.what_if("id = 3", mi.Values("id")), lambda: table.recommend("id = 3", copies=False)):
        with pytest.raises(mi.ArgumentError, match=r"temporary files are written \(TMPDIR says where\) outside"):
            ask()
    assert tree(tmp_path) == before
    with pytest.raises(mi.ArgumentError, match="outside of the table"):
        table.report(tmp_path / "report.html", queries="id = 3")


@pytest.mark.slow
def test_equal_questions_have_equal_answers(tmp_path: Path) -> None:
    table = skewed(tmp_path, 4, files=20)
    queries = asked_of(table, 4)[:8]
    first = table.what_if(queries, mi.Values("heavy", "some"), mi.Bloom("id"), sample=0.3)
    again = mi.open_table(table.path).what_if(queries, mi.Values("heavy", "some"), mi.Bloom("id"), sample=0.3)
    sizes = [cost.size_bytes for cost in first.candidates]
    assert [one is not None and not one.exact for one in sizes] == [True, True]
    for one in (first, again):  # names of runs are random, and compress a little better or worse
        assert told(one)["queries"] == told(first)["queries"]
    for mine, other in zip(sizes, [cost.size_bytes for cost in again.candidates], strict=True):
        assert mine.expected == pytest.approx(other.expected, rel=0.01)


@pytest.mark.slow
def test_statistics_that_footers_tell_are_exact_without_a_sample_of_the_files(tmp_path: Path) -> None:
    table = skewed(tmp_path, 1)
    found = table.what_if(["id between 3000 and 9010", "id < 9 and near < 30"], mi.ColumnStats(), sample=0.1)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    for one in found.queries:
        effect, then = one["column_stats(*)"], table.prune(one.query)
        assert effect.exact
        assert (effect.reads.files.expected, effect.reads.size_bytes.expected) == (then.kept_files, then.kept_bytes)
        assert then.kept_files < 60


@pytest.mark.slow
def test_of_many_files_the_sample_speaks_for_statistics_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a table of a million files would have each of its footers read."""
    table = skewed(tmp_path, 3)
    monkeypatch.setattr("metaindex.advisor.hypothetical.what_if._MOST_FOOTERS", 59)
    monkeypatch.setattr("metaindex.advisor.hypothetical.sampling.MOST_FILES", 20)
    found = table.what_if("id = 30", mi.ColumnStats("id"), sample=0.2)
    assert not any("footers" in note for note in found.notes)
    assert not found.queries[0].effects[0].exact


def test_statistics_that_data_has_to_be_read_for_are_estimated(tmp_path: Path) -> None:
    lake = FORMATS["csv"](tmp_path)
    for number in range(20):
        lake.append(rows(number))
    found = lake.open().what_if("id between 100 and 130", mi.ColumnStats("id"), sample=0.5)
    (effect,) = found.queries[0].effects
    assert not effect.exact
    assert 4 <= effect.sampled_files < 20
    assert effect.reads.files.low <= 2 <= effect.reads.files.high < 20


def test_what_stands_already_decides_first(tmp_path: Path) -> None:
    table = filled(tmp_path, "parquet")
    table.create_index("ids", mi.Values("id"), builder="local")
    with_it = table.what_if("id = 77", mi.Values("id"))["id = 77"]
    without = table.what_if("id = 77", mi.Values("id"), indexes=[])["id = 77"]
    assert (with_it.now.files.expected, without.now.files.expected) == (1, 8)
    assert {one.effects[0].reads.files.expected for one in (with_it, without)} == {1}


@pytest.mark.slow
def test_candidates_follow_from_the_queries_where_none_is_given(tmp_path: Path) -> None:
    table = filled(tmp_path, "delta")
    found = table.what_if(["id = 77", "cat > 3 and name in ('a', 'b')"])
    names = [cost.candidate for cost in found.candidates]
    keys = ["column_stats(id, cat, name)", "values(id, name)", "bloom_filters(id, name)"]
    assert names == [*keys, "covering_range(cat; id, name)", "covering_curve(cat, id, name)"]
    alone = [cost.candidate for cost in table.what_if("cat > 3").candidates]
    assert alone == ["column_stats(cat)", "covering_range(cat)"]


def test_a_query_that_is_wrong_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    table = filled(tmp_path, "parquet")
    found = table.what_if(["id = ", "nothing = 3", "id = 77", "soundex(name) = 'x'"], mi.Values("id"))
    assert found.refused == 2
    assert [bool(one.problem) for one in found.queries] == [True, True, False, False]
    assert "there is no nothing" in found["nothing = 3"].problem
    assert found["id = 77"]["values(id)"].reads.files.expected == 1
    assert found["soundex(name) = 'x'"]["values(id)"].reads.files.expected == 8
    assert "2 of 4 questions not answered" in str(found)


def test_a_candidate_that_cannot_be_built_has_its_reason(tmp_path: Path) -> None:
    table = filled(tmp_path, "parquet")
    found = table.what_if("id = 77", mi.Values("idd"), mi.Values("id"))
    assert "there is no 'idd'" in found.cost("values(idd)").problem
    assert found["id = 77"]["values(idd)"].reads == found["id = 77"].now
    assert found["id = 77"]["values(id)"].reads.files.expected == 1
    assert "not built: values(idd)" in str(found)


def test_an_empty_table(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"id": pa.array([], pa.int64())}))
    found = mi.open_table(tmp_path / "t").what_if("id = 3", mi.Values("id"), mi.ColumnStats())
    (query,) = found.queries
    assert query.now.files.expected == 0
    assert {one.reads.files.expected for one in query.effects} == {0}
    assert "0 files" in str(found)


def test_a_table_of_one_file(tmp_path: Path) -> None:
    table = filled(tmp_path, "delta", files=1)
    found = table.what_if(["id = 5", "id = 500"], mi.Bloom("id"))
    assert [one.effects[0].reads.files.expected for one in found.queries] == [1, 0]


def test_a_limit_of_nothing_reads_nothing(tmp_path: Path) -> None:
    table = filled(tmp_path, "delta")
    found = table.what_if("id = 77", mi.Values("id"), mi.ColumnStats(), sample=0)
    assert (found.sampled.files, found.sampled.limit_bytes) == (0, 0)
    (query,) = found.queries
    assert query.now.files.expected == 1  # the log tells
    why = "could not be judged: the limit is 0 bytes; allow more with sample="
    assert {one.note for one in query.effects} == {why}
    assert {cost.size_bytes for cost in found.candidates} == {None}
    with pytest.raises(mi.ArgumentError, match="from 0"):
        table.what_if("id = 77", sample=2)


def test_half_of_the_statistics_is_missing(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for number in range(8):
        told = {"delta.dataSkippingNumIndexedCols": "0"}
        write_deltalake(path, rows(number), mode="append", configuration=told if number == 0 else None)
    table = mi.open_table(path)
    found = table.what_if("id = 77", mi.ColumnStats(), mi.Values("id"))["id = 77"]
    table.create_index("stats", mi.ColumnStats(), builder="local")
    assert found["column_stats(*)"].reads.files.expected == table.prune("id = 77").kept_files
    assert found["values(id)"].reads.files.expected == 1


@pytest.mark.slow
def test_a_value_that_no_sampled_file_has_is_bounded_honestly(tmp_path: Path) -> None:
    table = skewed(tmp_path, 2)
    found = table.what_if("id = 60001", mi.Values("id"), sample=0.1)
    reads = found.queries[0].effects[0].reads
    assert reads.files.low <= 1 <= reads.files.high < 20


def test_upkeep_is_told_by_the_history_of_the_table(tmp_path: Path) -> None:
    table = filled(tmp_path, "delta")
    assert "shorter than an hour" in table.what_if("id = 3", mi.Values("id")).rate.reason
    log = sorted((tmp_path / "lake" / "_delta_log").glob("*.json"))
    for day, commit in enumerate(log):
        then = 1_700_000_000 + day * 86_400
        os.utime(commit, (then, then))
    found = mi.open_table(table.path).what_if("id = 3", mi.Values("id"))
    assert (found.rate.days, found.rate.commits) == (7, 7)
    (cost,) = found.candidates
    assert 0.8 * cost.size_bytes.expected / 8 < cost.upkeep.size_bytes < 1.2 * cost.size_bytes.expected / 8
    assert "1.0 commits" in str(found)


@pytest.mark.parametrize("wrong", [mi.Values, "id", []])
def test_what_is_no_candidate_is_refused(tmp_path: Path, wrong: object) -> None:
    table = filled(tmp_path, "parquet", files=1)
    with pytest.raises(mi.ArgumentError):
        table.what_if("id = 77", wrong)
    with pytest.raises(mi.ArgumentError, match="given twice"):
        table.what_if("id = 77", mi.Values("id"), mi.Values("id"))
    with pytest.raises(mi.ArgumentError, match="at least one query"):
        table.what_if([])


@pytest.mark.slow
def test_files_that_footers_prove_out_are_not_expected_to_be_kept(tmp_path: Path) -> None:
    """Of a column that lies together a sample of a tenth says next to nothing; the bounds of all files do."""
    rng = np.random.default_rng(8)
    days = (rng.integers(number * 3, number * 3 + 6, 800) for number in range(60))
    table = of_parquet(({"day": some, "user": rng.integers(0, 40_000, 800)} for some in days), tmp_path)
    queries = ["day = 100", "day between 30 and 44", "user = 77", "day = 100 and user = 77"]
    kinds = {"v": mi.Values("day"), "w": mi.Values("day", by="value"), "b": mi.Bloom("day", "user")}
    found = table.what_if(queries, *kinds.values(), sample=0.1)
    assert any("footers of 60 files were read, too" in note for note in found.notes)
    for (name, kind), cost in zip(kinds.items(), found.candidates, strict=True):
        table.create_index(name, kind, builder="local")
        for query in queries:
            then, reads = table.prune(query, indexes=[name]).kept_files, found[query][cost.candidate].reads.files
            assert reads.low <= then <= reads.high, (name, query, then, reads)
            if name != "b" and "day =" in query:
                assert reads.high <= 3, (name, query, reads)

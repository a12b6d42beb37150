"""`Table.recommend` over real tables: the choice of brute force, what it says comes, nothing is written."""

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import metaindex as mi
from metaindex.advisor.clustering import sample
from metaindex.advisor.hypothetical.estimates import Estimate
from metaindex.advisor.selection.answer import BreakEven, Recommendation, kind_python, name_of
from metaindex.advisor.workloads.taking import from_query_log
from metaindex.cli import main
from metaindex.index import KINDS, Kind
from metaindex.statements import CreateIndex, TableName, parsed
from tests.advisor.hypothetical.test_what_if import filled
from tests.advisor.tables import of_parquet, tree
from tests.tables import settled

QUERIES = [
    *(f"SELECT cat FROM lake WHERE id = {number}" for number in (77, 78, 90)),
    "SELECT id FROM lake WHERE name = 'n041'",
    "SELECT id FROM lake WHERE name = 'n051' AND cat = 3",
    "SELECT id FROM lake WHERE id BETWEEN 100 AND 130",
    "SELECT id FROM lake WHERE cat = 3",
    "SELECT name FROM lake WHERE id = 5 OR name = 'n033'",
]


def spared_by(table: mi.Table, kinds: Sequence[Kind]) -> float:
    """What-if of all of them as one index."""
    if not kinds:
        return 0.0
    (cost,) = (answer := table.what_if(QUERIES, list(kinds))).candidates
    return answer.saved(cost.candidate).expected


def told(answer: Recommendation) -> str:
    """What does not depend on the processor."""
    said = answer.to_json()
    for index in said["indexes"]:  # type: ignore[attr-defined]
        del index["build_cpu_seconds"], index["upkeep_a_day"]
    return json.dumps(said, allow_nan=False)


@pytest.mark.exhaustive
@pytest.mark.parametrize("share", [0.15, 0.4, 1.0])
def test_it_chooses_what_brute_force_over_all_sets_does(tmp_path: Path, share: float) -> None:
    table = filled(tmp_path, "parquet")
    candidates: list[Kind] = [
        mi.ColumnStats("id"),
        mi.Values("id"),
        mi.Bloom("id"),
        mi.Values("name"),
        mi.Bloom("name"),
        mi.ValueList("cat"),
    ]
    sizes = {kind: table.what_if(QUERIES, kind).candidates[0].size_bytes for kind in candidates}
    size_of = {kind: size.expected for kind, size in sizes.items() if size is not None}
    budget = share * sum(size_of.values())
    subsets = [some for count in range(7) for some in itertools.combinations(candidates, count)]
    best = max(spared_by(table, some) for some in subsets if sum(size_of[kind] for kind in some) <= budget)
    answer = table.recommend(QUERIES, candidates=candidates, budget_bytes=budget)
    assert answer.size_bytes.expected <= budget
    assert answer.saved_bytes >= 0.95 * best
    assert sum(index.adds_bytes.expected for index in answer.indexes) == pytest.approx(answer.saved_bytes)


@pytest.mark.slow
def test_what_was_refused_is_not_recommended_once_the_others_are_there(tmp_path: Path) -> None:
    """Beside the others it leaves out too little of what was read, and no less of what is read then."""
    draw = np.random.default_rng(3)
    for file in range(60):
        some, rare = draw.integers(0, 200_000, 3000), draw.integers(0, 60, 3000) + file * 3
        content = {"id": some, "rare": rare, "mid": draw.integers(0, 400, 3000)}
        pq.write_table(pa.table(content), tmp_path / f"{file}.parquet")
    table = mi.open_table(tmp_path)
    queries = [f"id = {value}" for value in range(1, 60, 2)]
    queries += ["rare between 70 and 72", "mid in (3, 4)", "id = 5 and mid = 3"]
    first = table.recommend(queries, copies=False)
    refused = {passed.candidate for passed in first.tables[0].passed}
    assert "bloom_filters((id, mid))" in refused
    assert all(not made.problem for made in first.create(builder="local"))
    assert mi.open_table(tmp_path).recommend(queries, copies=False).indexes == ()


@pytest.mark.parametrize("format_", ["delta", "parquet", "csv"])
@pytest.mark.slow
def test_what_it_says_comes_and_nothing_was_written_before(tmp_path: Path, format_: str) -> None:
    table = filled(tmp_path, format_)
    before = tree(tmp_path)
    answer = table.recommend(QUERIES, copies=False)
    assert answer.indexes
    assert tree(tmp_path) == before
    assert all(not created.problem for created in answer.create(builder="local"))
    assert sorted(index.name for index in table.indexes()) == sorted(index.name for index in answer.indexes)
    asked = table.what_if(QUERIES, mi.ColumnStats())
    assert asked.read_bytes == pytest.approx(answer.tables[0].then_bytes.expected)
    for index, info in ((index, table.indexes()[index.name]) for index in answer.indexes):
        assert info.size_bytes == pytest.approx(index.size_bytes.expected, rel=0.3)
    if format_ != "csv":
        again = mi.open_table(table.path, config=table.config).recommend(QUERIES, copies=False)
        assert (again.indexes, again.unused) == ((), ())


@pytest.mark.parametrize("budget", [{"budget_bytes": 0}, {"budget_cpu": 0}])
@pytest.mark.slow
def test_a_budget_of_nothing_recommends_nothing_and_says_so(tmp_path: Path, budget: dict[str, float]) -> None:
    answer = filled(tmp_path, "parquet").recommend(QUERIES, **budget)  # type: ignore[arg-type]
    assert answer.indexes == ()
    assert "the budget is 0" in str(answer)
    assert answer.create() == ()


@pytest.mark.slow
def test_what_cannot_be_asked_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    table = filled(tmp_path, "parquet")
    texts = ["SELECT FROM WHERE", "SELECT * FROM elsewhere WHERE a = 1", "SELECT * FROM lake WHERE nothing = 3"]
    answer = table.recommend([*texts, *QUERIES, "SELECT * FROM lake WHERE soundex(name) = 'x'"])
    assert answer.indexes
    shown = str(answer)
    assert "not read: 1 x" in shown
    assert "elsewhere (1)" in shown
    assert answer.tables[0].refused[0][0] == "nothing = 3"


def test_without_queries_nothing_is_read_or_recommended(tmp_path: Path) -> None:
    table = filled(tmp_path, "delta")
    for answer in (table.recommend([]), table.recommend()):
        assert (answer.indexes, answer.queries, answer.tables[0].sampled.files) == ((), 0, 0)
        assert "the workload is empty" in str(answer)
    unconditioned = table.recommend("SELECT id FROM lake")
    assert "no condition that an index could answer" in str(unconditioned)


def test_an_empty_table_and_one_of_one_file(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "lake"), pa.table({"id": pa.array([], pa.int64())}))
    empty = mi.open_table(tmp_path / "lake").recommend("id = 3")
    assert empty.indexes == ()
    assert "has no files" in str(empty)
    table = filled(tmp_path / "more", "delta", files=1)
    answer = table.recommend(["id = 5"])
    assert all(index.helps for index in answer.indexes)


@pytest.mark.slow
def test_an_index_that_no_query_needs_is_told_and_others_are_not(tmp_path: Path) -> None:
    table = filled(tmp_path, "parquet")
    table.create_index("ids", mi.Values("id"), builder="local")
    table.create_index("cats", mi.Bloom("cat"), builder="local")
    table.create_index("ids_again", mi.Bloom("id"), builder="local")
    answer = table.recommend(["id = 77", "id = 3"], copies=False)
    assert [unused.index for _, unused in answer.unused] in (["ids_again", "cats"], ["ids", "cats"])
    assert answer.indexes == ()
    assert table.recommend("SELECT a FROM elsewhere").unused == ()


def test_conditions_of_or_are_helped_by_keys_together(tmp_path: Path) -> None:
    table = filled(tmp_path, "parquet")
    answer = table.recommend("id = 5 OR name = 'n033'", copies=False)
    assert len(answer.indexes) == 1
    assert answer.indexes[0].helps == 1
    assert answer.saved_bytes > 0


@pytest.mark.slow
def test_a_lake_shares_the_budget_among_the_tables_that_are_named(tmp_path: Path) -> None:
    for name in ("orders", "items", "others"):
        filled(tmp_path / "lake" / name, "delta")
    root = tmp_path / "lake"
    queries = ["SELECT id FROM orders WHERE name = 'n041'"]
    (alone,) = mi.recommend(["SELECT id FROM lake WHERE id = 3"], root / "items").tables
    assert alone.table == str(root / "items" / "lake")
    names = {"orders": root / "orders" / "lake", "items": root / "items" / "lake"}
    answer = mi.recommend(queries, root, tables=names)
    assert [table.table for table in answer.tables] == [str(names["orders"])]
    queries.append("SELECT id FROM items WHERE name = 'n041'")
    both = mi.recommend(queries, tables=names, copies=False)
    assert {index.table for index in both.indexes} == {str(path) for path in names.values()}
    least = min(index.size_bytes.expected for index in both.indexes)
    assert len(mi.recommend(queries, tables=names, budget_bytes=least, copies=False).indexes) == 1
    with pytest.raises(mi.ArgumentError, match="none was given"):
        mi.recommend(queries)


@pytest.mark.parametrize(
    "kind",
    [
        mi.Values("a", ("b", "c")),
        mi.Values("a", by="value"),
        mi.Bloom('`odd " name`', fpp=0.5),
        mi.ColumnStats("a", scan_floats=False),
        mi.ColumnStats(),
        mi.ValueList("a"),
        mi.Covering(["a"], ["b"], buckets=8),
        mi.CoveringRange(["a", "b"]),
    ],
)
def test_a_kind_as_python_is_the_kind(kind: Kind) -> None:
    assert eval(kind_python(kind), {"mi": mi}) == kind
    assert parsed(KINDS.create_text("n", "t", [kind])) == CreateIndex("n", TableName(("t",)), (kind,))


def test_names_are_valid_and_not_taken() -> None:
    assert name_of([mi.Values("a", "B.c")], ["VALUES_A_B_C"]) == "values_a_b_c_2"
    assert name_of([mi.Values("`\x1b/../ é`")], []) == "values"
    assert len(name_of([mi.Values("x" * 500)], [])) <= 48


WRONG: tuple[dict[str, object], ...] = ({"budget_bytes": -1}, {"budget_cpu": "1"}, {"days": 0}, {"sample": 2})
NO_NUMBERS: tuple[object, ...] = (math.inf, math.nan, 1e19, 10**5000)
NAMES = ("budget_bytes", "budget_cpu", "days")


@pytest.mark.parametrize("number", range(len(WRONG) + len(NO_NUMBERS) * len(NAMES)))
def test_what_is_no_budget_is_refused(tmp_path: Path, number: int) -> None:
    wrong = [*WRONG, *({name: value} for name in NAMES for value in NO_NUMBERS)][number]
    with pytest.raises(mi.ArgumentError):
        filled(tmp_path, "parquet", files=1).recommend(QUERIES, **wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_command_prints_and_creates_only_where_it_is_told_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = filled(tmp_path, "delta")
    (tmp_path / "log.sql").write_text(";\n".join(QUERIES))
    words = ["recommend", table.path, "--queries", str(tmp_path / "log.sql"), "--budget", "40KB", "--no-copies"]
    before = tree(tmp_path)
    assert main(words) == 0
    assert ".create_index(" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["budget_bytes"] == 40_000
    assert tree(tmp_path) == before
    assert main([*words, "--create", "--builder", "local", "--json"]) == 0
    created = json.loads(capsys.readouterr().out)["created"]
    assert [index["name"] for index in created] == [index["name"] for index in said["indexes"]] != []
    assert {index.name for index in table.indexes()} == {index["name"] for index in created}
    assert main([*words, "--builder", "local"]) == 1
    assert main([*words, "--budget", "much"]) == 2
    assert main(["recommend", table.path, "--where", "id = 77", "--json"]) == 0  # a condition is not Spark's alone
    (advice,) = json.loads(capsys.readouterr().out)["tables"]
    assert not [one for one in advice["not_recommended"] if "covering" in one["candidate"]]


@pytest.mark.slow
def test_lines_that_create_run_as_they_stand(tmp_path: Path) -> None:
    table = filled(tmp_path, "delta")
    answer = table.recommend(QUERIES, copies=False)
    lines = [line.strip() for line in str(answer).splitlines() if ".create_index(" in line]
    assert len(lines) == len(answer.indexes) > 0
    assert not any(".create_index(" in str(part) for part in answer.advised)
    for line in lines:
        exec(f'{line[:-1]}, builder="local")', {"mi": mi})
    assert {index.name for index in table.indexes()} == {index.name for index in answer.indexes}


def test_indexes_that_take_much_of_what_the_table_does_are_told_to(tmp_path: Path) -> None:
    table = filled(tmp_path, "delta")
    small = table.recommend(QUERIES, candidates=[mi.ValueList("cat")])
    assert 0 < small.size_bytes.expected < 0.5 * small.tables[0].size_bytes
    assert "with a budget" not in str(small)
    large = replace(small, tables=(replace(small.tables[0], size_bytes=int(small.size_bytes.expected)),))
    assert "together they take 100% of what the tables take; with a budget" in str(large)
    assert "with a budget" not in str(replace(large, budget_bytes=1e9))


def test_runs_until_it_pays_are_whole_ones() -> None:
    assert [str(BreakEven(runs)) for runs in (0.2, 1.0, 1.01, 2.5, 1000.1, None)] == [
        *("1 run", "1 run", "2 runs", "3 runs", "1,001 runs", "never")
    ]
    assert str(BreakEven(2.5, None, 1.5, 3.5, estimate=True)) == "3 runs [2 runs to 4 runs]"
    assert str(BreakEven(2.5, 5.0, 1.5, None, estimate=True)) == "5.0 days [3.0 days to never]"


@pytest.mark.slow
def test_the_query_log_is_a_workload_with_its_time(tmp_path: Path) -> None:
    filled(tmp_path, "parquet")
    table = mi.open_table(str(tmp_path / "lake"), config=mi.Config(query_log=True))
    for number in range(5):
        table.prune(f"id = {number}")
    answer = table.recommend(copies=False)
    assert (answer.queries, answer.days) == (5, None)
    assert [index.helps for index in answer.indexes] == [5]
    (index,) = table.recommend("id = 3", days=2.0, copies=False).indexes
    assert index.break_even.runs == pytest.approx(index.break_even.days / 2)


@pytest.mark.parametrize("literals", ["hashed", "left out"])
def test_values_that_a_query_log_hides_are_not_asked(tmp_path: Path, literals: str) -> None:
    """A hash is compared with no row: it would be in no file."""
    filled(tmp_path, "parquet")
    setting = mi.QueryLog(literals=literals, salt=b"s" * 16 if literals == "hashed" else None)  # type: ignore[arg-type]
    table = mi.open_table(str(tmp_path / "lake"), config=mi.Config(query_log=setting))
    for number in range(3):
        table.prune(f"name = 'n{number}' OR name LIKE 'x{number}%' OR id IN ({number}, 7)")
    table.prune("id IS NOT NULL")
    answer = table.recommend(copies=False)
    assert (answer.queries, answer.indexes) == (1, ())
    assert "values; those of one are hashed or left out; let the log keep them" in str(answer)


@pytest.mark.slow
def test_another_layout_is_not_for_what_an_index_answers_already(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    place = str(tmp_path / "sales")
    for _ in range(30):
        write_deltalake(place, pa.table({"sku": rng.integers(0, 6_000, 500)}), mode="append")
    table, asked = mi.open_table(place), ["sku = 41", "sku = 5000"]
    before = table.recommend(asked, candidates=[mi.ColumnStats("sku")])  # which leave out nothing
    assert "ZORDER BY (`sku`)" in str(before)
    table.create_index("skus", mi.Values("sku"), builder="local")
    assert table.prune(asked[0]).kept_files < 8
    assert "ZORDER" not in str(table.recommend(asked, candidates=[mi.ColumnStats("sku")]))
    assert "ZORDER" not in str(table.recommend(asked))


def test_why_a_candidate_is_not_recommended_is_true_of_it(tmp_path: Path) -> None:
    table, text = filled(tmp_path / "grouped", "delta"), "SELECT cat, sum(id) FROM lake GROUP BY cat"
    grouped = table.recommend(text)
    assert table.what_if(text, mi.Values("cat")).queries[0].query == "TRUE, grouped by cat"
    why = {passed.candidate: passed.reason for passed in grouped.tables[0].passed}
    spares = "it leaves out no bytes; what it spares of a shuffle or a sort by cat is not counted"
    assert why["covering(cat; id)"] == spares
    folder = settled(tmp_path / "unread", {"0.csv": 'id,note\n1,"a ""b"" c, d"\n'})
    unread = mi.open_table(folder, format="csv").recommend("SELECT id FROM unread WHERE note = 'x'")
    for passed in unread.tables[0].passed:
        assert "a quote inside" in passed.reason, passed


def test_no_copy_of_rows_is_for_engines_that_read_none(tmp_path: Path) -> None:
    filled(tmp_path, "parquet")
    table = mi.open_table(str(tmp_path / "lake"), config=mi.Config(query_log=True))
    table.scan("id = 4", columns=["name"]).to_arrow()
    table.prune("id = 3")
    advice = table.recommend().tables[0]
    assert not [passed for passed in advice.passed if "covering" in passed.candidate]
    # Who asks for files alone may read any column: an index with less is of no use to that query.
    queries = from_query_log(table.query_log())
    assert sorted(template.tables[0].every_column for template in queries.templates) == [False, True]


@pytest.mark.slow
def test_what_is_expected_of_queries_that_stand_for_others_is_as_wide_as_they_differ(tmp_path: Path) -> None:
    table = filled(tmp_path, "parquet")
    alone = table.recommend(["name = 'n041'"], candidates=[mi.Values("name")]).indexes[0].left_out
    assert alone.exact
    many = [f"SELECT id FROM lake WHERE id >= {number} AND name = 'n041'" for number in range(0, 200, 5)]
    (index,) = table.recommend(many, candidates=[mi.ColumnStats("id")]).indexes
    assert index.left_out.low < index.left_out.expected < index.left_out.high


def in_files(folder: Path, seed: int) -> mi.Table:
    """Customers of whom some are in most files and most in a few."""
    rng = np.random.default_rng(seed)
    for number in range(20):
        customers = np.minimum(rng.zipf(1.3, 150), 3_000)
        rows = {"n": np.arange(number * 150, number * 150 + 150), "customer": [f"c{one:05d}" for one in customers]}
        write_deltalake(str(folder / "sales"), pa.table(rows), mode="append")
    return mi.open_table(folder / "sales")


def literals(seed: int, many: int, most: int) -> list[str]:
    rng = np.random.default_rng(100 + seed)
    return [f"SELECT n FROM sales WHERE customer = 'c{one:05d}'" for one in rng.integers(0, most, many)]


def held(estimate: Estimate, truth: float) -> bool:
    return estimate.low * (1 - 1e-9) <= truth <= estimate.high * (1 + 1e-9)


def truth_of(table: mi.Table, queries: Sequence[str]) -> tuple[float, float, int]:
    """By asking each: what is read without indexes, what they leave out, and how many they help."""
    conditions = Counter(query.split("WHERE ")[1] for query in queries)
    before = {query: table.prune(query, indexes=[]).kept_bytes for query in conditions}
    left = {query: before[query] - table.prune(query).kept_bytes for query in conditions}
    return (
        sum(before[query] * times for query, times in conditions.items()),
        sum(left[query] * times for query, times in conditions.items()),
        sum(times for query, times in conditions.items() if left[query] > 0),
    )


@pytest.mark.slow
def test_of_few_literals_all_are_asked_and_what_is_told_comes(tmp_path: Path) -> None:
    table = in_files(tmp_path, 0)
    queries = [f"SELECT n FROM sales WHERE customer = 'c{number * 11:05d}'" for number in range(21)]
    queries += [queries[3]] * 5
    answer = table.recommend(queries, candidates=[mi.Values("customer")])
    (index,) = answer.indexes
    answer.create(builder="local")
    read, left, helped = truth_of(mi.open_table(table.path), queries)
    assert index.reads_bytes == Estimate.exactly(read)
    assert (index.adds_bytes.low, index.adds_bytes.high) == (left, left)
    assert (index.helps, index.queries, index.helps_queries.exact) == (helped, 26, True)
    assert index.saved == Estimate.exactly(left / read)
    assert answer.tables[0].then_bytes == Estimate.exactly(read - left)
    assert index.left_out.low <= index.left_out.expected <= index.left_out.high


@pytest.mark.exhaustive
def test_of_many_literals_some_are_drawn_and_the_bounds_hold_what_comes(tmp_path: Path) -> None:
    kept: list[bool] = []
    for seed in range(5):
        table = in_files(tmp_path / str(seed), seed)
        queries = literals(seed, 200, (60, 300, 900, 2_900, 4_000)[seed])
        answer = table.recommend(queries, candidates=[mi.Values("customer")])
        (index,) = answer.indexes
        answer.create(builder="local")
        read, left, helped = truth_of(mi.open_table(table.path), queries)
        estimates = (index.reads_bytes, index.adds_bytes, index.helps_queries, index.saved, answer.tables[0].then_bytes)
        assert all(estimate.low < estimate.high for estimate in estimates)
        truths = (read, left, helped, left / read, read - left)
        kept += [held(estimate, truth) for estimate, truth in zip(estimates, truths, strict=True)]
        assert 0 <= index.helps_queries.low <= index.helps_queries.high <= index.queries == 200
        assert " of it, then " in str(answer)
        pays = index.break_even
        assert pays.soonest < pays.runs
        assert pays.latest is None or pays.runs < pays.latest
        said = answer.to_json()["indexes"][0]  # type: ignore[index]
        assert said["helps_queries"]["low"] < said["helps_queries"]["high"]
        weighed = table.what_if(queries, mi.Values("customer"), indexes=[])
        kept += [held(weighed.saved("values(customer)"), left), held(weighed.reads_bytes, read)]
    assert sum(kept) >= 0.85 * len(kept)


def shape(folder: Path, files: int, rows: int) -> tuple[mi.Table, list[str]]:
    """A table of so many files, in whose bytes everything is noise, and look-ups of a value that one of them has and
    of one that a few have."""
    draw = np.random.default_rng(files)

    def columns(file: int) -> dict[str, object]:
        customers = draw.integers(0, max(3 * files * rows // 4, 8), rows)
        return {"id": draw.integers(0, 2**62, rows) * 2, "customer": customers, "x": draw.random(rows)}

    table = of_parquet((columns(file) for file in range(files)), folder, row_group_size=max(rows // 3, 1))
    first = pq.read_table(folder / "lake" / "f000.parquet")
    return table, [f"id = {first['id'][1].as_py()}", f"customer = {first['customer'][0].as_py()}"]


@pytest.mark.parametrize(
    ("files", "rows"),
    [(2, 100), (3, 4_000), (7, 900), (12, 5_000), (40, 60), (100, 500), pytest.param(300, 100, marks=pytest.mark.slow)],
)
def test_where_what_if_saves_most_an_index_is_recommended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, rows: int
) -> None:
    """Of tables of every shape, even if a small table were not read whole: a few files are."""
    monkeypatch.setattr(sample, "SMALL_BYTES", 0)
    table, conditions = shape(tmp_path, files, rows)
    answer = table.what_if(conditions)
    assert min(files, 3) <= answer.sampled.files
    assert answer.sampled.size_bytes <= answer.sampled.limit_bytes
    saved = max(answer.saved(cost.candidate).expected for cost in answer.candidates)
    recommended = table.recommend(conditions, copies=False)
    assert recommended.indexes or saved <= 0.5 * answer.read_bytes
    assert files < 7 or saved > 0.5 * answer.read_bytes  # the shapes ask for an index
    assert all(passed.judged for passed in recommended.tables[0].passed)
    assert "could not be judged" not in str(recommended)


def test_what_was_not_tried_is_not_refused(tmp_path: Path) -> None:
    """In Python, as JSON, on the command line and in SQL: the answer says that, why, and what to do."""
    table, conditions = shape(tmp_path, 6, 400)
    path, why = str(tmp_path / "lake"), "could not be judged: of no file the needed columns fit into the limit of"
    answer = table.recommend(conditions, sample=0.0001, copies=False)
    assert (answer.indexes, str(answer).count("no index recommended")) == ((), 0)
    assert f"{why} " in str(answer).splitlines()[0]
    assert "allow more with sample=" in str(answer).splitlines()[0]
    passed = answer.to_json()["tables"][0]["not_recommended"]  # type: ignore[index]
    assert {(one["judged"], one["reason"].startswith(why)) for one in passed} == {(False, True)}
    assert all(effect.note.startswith(why) for effect in table.what_if(conditions[0], sample=0.0001).queries[0].effects)
    queries = tmp_path / "queries.sql"
    queries.write_text(f"SELECT * FROM lake WHERE {conditions[0]};")
    text = f"RECOMMEND INDEXES ON '{path}' FROM asked OPTIONS (sample = 0.0001, copies = false)"
    told = mi.sql(text, tables={"asked": str(queries)})
    assert {(row["recommended"], row["reason"].startswith(why)) for row in told.to_arrow().to_pylist()} == {
        (False, True)
    }
    assert "no index recommended" not in str(told)
    zero = table.recommend(conditions, sample=0, copies=False)
    assert "could not be judged: the limit is 0 bytes; allow more with sample=" in str(zero)
    share = re.search(r"sample=([0-9.]+)", str(answer))
    assert share is not None
    assert table.recommend(conditions, sample=float(share[1]), copies=False).indexes  # the cure helps


def test_of_what_was_not_tried_the_command_line_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, conditions = shape(tmp_path, 6, 400)
    how = ["recommend", str(tmp_path / "lake"), "--where", conditions[0], "--sample", "0.0001", "--no-copies"]
    assert main(how) == 0
    said = capsys.readouterr().out
    assert "could not be judged: " in said
    assert "allow more with --sample " in said
    assert "no index" not in said


@pytest.mark.parametrize("made_up", ["id = -5", "id IN (1, 3) AND id < 0", "customer > 1000000000"])
@pytest.mark.parametrize("candidates", [(), (mi.Values("id", "customer"),)])
def test_a_literal_beyond_all_bounds_is_said_to_be_one(
    tmp_path: Path, made_up: str, candidates: tuple[Kind, ...]
) -> None:
    table, conditions = shape(tmp_path, 6, 400)
    absent = f"id = {int(conditions[0].split()[-1]) + 1}"
    answer = table.what_if([made_up, *conditions, absent], *candidates)
    if candidates and ">" in made_up:
        assert not answer[made_up].note  # no candidate skips a file by it
        return
    assert "beyond the bounds of every file" in answer[made_up].note
    assert {query.note for query in answer.queries[1:]} == {""}
    if not candidates:
        assert f"{made_up}: it lies beyond the bounds of every file" in str(table.recommend([made_up], copies=False))

"""Covering indexes as candidates: their size, and what queries would read of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.advisor.hypothetical.candidates import suggested
from metaindex.advisor.hypothetical.what_if import asked_query
from metaindex.advisor.workloads.table_queries import TableNames, of_table
from metaindex.expressions import ColumnRef, conjuncts, to_predicate
from metaindex.formats import At
from metaindex.index.kinds.covering.parts import stored_parts
from metaindex.index.kinds.covering.spec import CoveredRows
from metaindex.table import handle_of
from tests.advisor.hypothetical.test_what_if import filled
from tests.advisor.tables import of_parquet, tree
from tests.index.kinds.covering.arrow_builder import ArrowBuilder
from tests.index.kinds.covering.served import Held
from tests.tables import FORMATS


def wide(folder: Path, files: int = 20, count: int = 20_000) -> mi.Table:
    """Rows whose `at` lies anywhere, with a column of texts that no query of these tests needs."""
    rng = np.random.default_rng(3)

    def columns() -> dict[str, object]:
        return {
            "at": pa.array(rng.integers(0, 100_000, count), mask=rng.random(count) < 0.1),
            "user": rng.integers(0, 5_000, count),
            "text": [f"a text that is long, of row {one}" for one in rng.integers(0, 10**9, count)],
        }

    return of_parquet((columns() for _ in range(files)), folder)


@pytest.mark.slow
def test_the_share_of_the_rows_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a page more, of the twenty that the rows take."""
    monkeypatch.setattr("metaindex.advisor.hypothetical.copy._BUFFER", 0)
    monkeypatch.setattr("metaindex.advisor.hypothetical.copy._OPENED", 0)
    table = wide(tmp_path)
    kind = mi.CoveringRange("at", ["user"])
    before = tree(tmp_path)
    found = table.what_if(["at between 10000 and 39999", "at < 100", "at is null"], kind, sample=0.3)
    assert tree(tmp_path) == before
    assert 3 <= found.sampled.files < 20
    cost = found.cost("covering_range(at; user)")
    assert cost.problem == ""
    assert cost.size_bytes is not None
    read = {query.query: query.effects[0].reads.size_bytes for query in found.queries}
    assert read["at between 10000 and 39999"].expected / read["at is null"].expected == pytest.approx(32 / 15, rel=0.15)
    for query, share in (("at between 10000 and 39999", 0.27), ("at is null", 0.1)):
        (effect,) = found[query].effects
        assert read[query].expected < share * cost.size_bytes.expected  # lineage is not read
        assert read[query].low < read[query].expected < read[query].high
        assert 0 < effect.instead_of_bytes < 0.5 * found.size_bytes  # without the texts
    assert found["at < 100"].effects[0].reads.size_bytes.expected < 0.1 * cost.size_bytes.expected


@pytest.mark.slow
def test_a_query_reads_its_own_columns_of_a_copy(tmp_path: Path) -> None:
    table = wide(tmp_path)
    kind = mi.CoveringRange("at", ["user", "text"])
    queries = [f"SELECT {column} FROM lake WHERE at < 20000" for column in ("at", "user", "text")]
    found = table.what_if(queries, kind, sample=0.3)
    at, user, text = (query.effects[0] for query in found.queries)
    assert at.reads.size_bytes.expected < user.reads.size_bytes.expected < text.reads.size_bytes.expected / 2
    assert at.instead_of_bytes < user.instead_of_bytes < text.instead_of_bytes / 2


@pytest.mark.slow
def test_each_value_that_is_looked_up_takes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.advisor.hypothetical.copy._BUFFER", 0)
    table = wide(tmp_path)
    found = table.what_if(["at = 1", "at in (1, 50000, 99999)"], mi.CoveringRange("at", ["user"]), sample=0.3)
    one, three = (query.effects[0].reads.size_bytes.expected - (8 << 10) for query in found.queries)
    assert three / one == pytest.approx(3, rel=0.2)


@pytest.mark.parametrize("format_", sorted(FORMATS))
def test_every_format_has_rows_to_copy(tmp_path: Path, format_: str) -> None:
    table = filled(tmp_path, format_)
    found = table.what_if("id between 100 and 300", mi.Covering("id", ["name"], buckets=8), mi.CoveringRange("id"))
    assert [cost.problem for cost in found.candidates] == ["", ""]
    assert all(cost.size_bytes is not None and cost.size_bytes.expected > 500 for cost in found.candidates)


def test_why_it_would_not_be_read(tmp_path: Path) -> None:
    table = filled(tmp_path, "delta")
    queries = ["cat = 3", "name = 'n041'", "id = 77"]
    found = table.what_if(queries, mi.Covering("name", ["id"]))
    notes = [query.effects[0].note for query in found.queries]
    assert notes[0] == "it does not have the column cat"
    assert notes[2] == "the query asks nothing of its first column, name"
    for query in (found["cat = 3"], found["id = 77"]):
        assert query.effects[0].reads == query.now


def test_a_copy_is_a_candidate_of_its_own(tmp_path: Path) -> None:
    table = filled(tmp_path, "parquet")
    found = table.what_if("id = 77", [mi.Covering("id"), mi.Values("id")], mi.Covering("idd"))
    problems = [cost.problem for cost in found.candidates]
    assert "a candidate of its own" in problems[0]
    assert "there is no 'idd'" in problems[1]


def test_a_copy_in_ranges_follows_from_a_range(tmp_path: Path) -> None:
    table = filled(tmp_path, "parquet")
    names = [cost.candidate for cost in table.what_if("id between 100 and 130 and cat = 3").candidates]
    assert names[-2:] == ["covering_range(id; cat)", "covering_curve(id, cat)"]


@pytest.mark.slow
def test_rows_along_a_curve_are_asked_by_each_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By as many parts as the index would have: as it has when it is built, where the sample is the table."""
    monkeypatch.setattr("metaindex.index.kinds.covering.parts.LEAST_STRETCH_BYTES", 1 << 16)
    table = wide(tmp_path)
    kind = mi.CoveringCurve(["at", "user"])
    queries = ["at between 10000 and 10999", "user = 77", "at < 30000 and user < 1500"]
    found = table.what_if(queries, kind, mi.CoveringRange("at", ["user"]), sample=1.0)
    assert [cost.problem for cost in found.candidates] == ["", ""]
    table.create_index("c", kind, builder=ArrowBuilder(ranges=1))
    held = Held.of(table, "c")
    parts = stored_parts(held.index.reader(held.runs[0]), held.key())
    names = {ColumnRef(("at",)): "at", ColumnRef(("user",)): "user"}
    assert len(parts) >= 20
    for query in queries:
        along, by_first = found[query].effects
        most = found.cost("covering_curve(at, user)").size_bytes.expected / (1 << 16)  # type: ignore[union-attr]
        left = CoveredRows.parts_left(held.key(), parts, conjuncts(to_predicate(query)), names)
        assert along.reads.files.expected == pytest.approx(len(left) * most / len(parts), rel=0.35, abs=2), query
        assert along.reads.size_bytes.expected < 0.4 * found.candidates[0].size_bytes.expected  # type: ignore[union-attr]
        assert (by_first.note == "") == ("at" in query)
    assert found.cost("covering_curve(at, user)").size_bytes is not None
    (asked,) = table.what_if("text = 'a'", mi.CoveringCurve(["at", "user"], ["text"]), sample=0.3).queries
    assert asked.effects[0].note == "the query asks nothing of its indexed columns"


def test_rows_that_are_too_many_to_be_held_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of dictionaries holds far more than its size."""
    table = filled(tmp_path, "parquet")
    monkeypatch.setattr("metaindex.index.actions.trial.MOST_BYTES", 1000)
    (cost,) = table.what_if("id = 77", mi.Covering("id")).candidates
    assert "give a smaller sample" in cost.problem


def nested(folder: Path, files: int = 6, count: int = 2_000) -> mi.Table:
    """Rows with a struct, one inside a struct, a list and a map."""
    rng = np.random.default_rng(4)
    text = pa.string()
    inner = pa.struct([("zip", pa.int64()), ("city", text)])
    types = {
        "payload": pa.struct([("user", text), ("n", pa.int32()), ("tags", pa.list_(text)), ("home", inner)]),
        "tags": pa.list_(pa.int64()),
        "props": pa.map_(text, pa.int64()),
        "items": pa.list_(pa.struct([("x", pa.int64()), ("y", text)])),
    }

    def columns(number: int) -> dict[str, object]:
        keys = rng.integers(0, 5_000, count).tolist()
        payload = [
            {"user": f"p{key}", "n": key % 7, "tags": [f"t{key}"], "home": {"zip": key, "city": f"c{key}"}}
            for key in keys
        ]
        return {
            "email": pa.array([f"u{key}@x.example" for key in keys]),
            "id": pa.array(range(number * count, (number + 1) * count)),
            "payload": pa.array(payload, types["payload"]),
            "tags": pa.array([[key % 3, key % 5] for key in keys], types["tags"]),
            "props": pa.array([[("a", key)] for key in keys], types["props"]),
            "items": pa.array([[{"x": key, "y": f"y{key}"}] for key in keys], types["items"]),
            "text": pa.array([f"a text that is long, of row {one}" for one in rng.integers(0, 10**9, count)]),
        }

    return of_parquet(map(columns, range(files)), folder)


NEEDED: dict[str, list[str] | None] = {
    "SELECT * FROM lake WHERE email = 'u7@x.example'": ["id", "items", "payload", "props", "tags", "text"],
    "SELECT payload FROM lake WHERE email = 'u7@x.example' AND payload.n = 3": ["payload"],
    "SELECT id, payload.user FROM lake WHERE email = 'u7@x.example' AND payload.n = 3": [
        "id",
        "payload.n",
        "payload.user",
    ],
    "SELECT payload.home FROM lake WHERE email = 'u7@x.example'": None,
    "SELECT payload.home, payload.user FROM lake WHERE email = 'u7@x.example'": None,
    "SELECT items.x FROM lake WHERE email = 'u7@x.example'": None,
    "SELECT items.x, items FROM lake WHERE email = 'u7@x.example'": ["items"],
    "SELECT payload.home.zip, payload.tags FROM lake WHERE email = 'u7@x.example'": [
        "payload.home.zip",
        "payload.tags",
    ],
    "SELECT payload.home.zip, payload FROM lake WHERE email = 'u7@x.example'": ["payload"],
    "SELECT tags[0], props['a'] FROM lake WHERE email = 'u7@x.example'": ["props", "tags"],
    "SELECT PAYLOAD.User FROM lake WHERE EMAIL = 'u7@x.example'": ["payload.user"],
}
"""What a covering index by `email` has to include for a query; None where Spark reads a part of a column."""


@pytest.mark.parametrize("query", NEEDED)
@pytest.mark.slow
def test_a_copy_has_the_columns_that_the_rule_asks_for(tmp_path: Path, query: str) -> None:
    """A struct as such where it is read whole, lists and maps too; fields where only they are."""
    table = nested(tmp_path)
    snapshot = handle_of(table).snapshot(At())
    schema = snapshot.schema
    chosen = of_table(mi.workload([query]), TableNames(table.path, {}), [field.name for field in schema])
    (asked,) = (asked_query(found, schema, "UTC") for found in chosen.queries)
    assert not asked.problem
    kinds = suggested([replace(asked, weight=1.0)], schema, copies=True).kinds
    needed = NEEDED[query]
    included = [sorted(kind.included) for kind in kinds if isinstance(kind, mi.Covering)]
    assert included == ([] if needed is None else [needed])
    fitting = mi.Covering("email", needed or ["payload", "items"])
    leaves = ["id", "payload.home.city", "payload.home.zip", "payload.n", "payload.tags", "payload.user", "text"]
    found = table.what_if([query], [fitting], mi.Covering("email", leaves), sample=1.0)
    (first, second) = found.queries[0].effects
    assert "does not have" not in first.note
    if needed is None:
        assert "reads a part of the column" in first.note
        assert "reads a part of the column" in second.note
    else:
        assert ("does not have the column" in second.note) is any(name not in leaves for name in needed)


@pytest.mark.spark
def test_what_is_suggested_is_what_spark_uses(spark: SparkSession, tmp_path: Path) -> None:
    table, whole = nested(tmp_path), ["payload", "items"]
    mi.enable(spark)
    try:
        for number, (query, names) in enumerate(NEEDED.items()):
            name = f"i{number}"
            mi.open_table(table.path, spark=spark).create_index(name, mi.Covering("email", names or whole, buckets=2))
            frame = spark.sql(query.replace("lake", f"parquet.`{table.path}`"))
            (scan,) = mi.explain(frame).scans
            (verdict,) = [verdict for verdict in scan.indexes if verdict.index == name]
            assert (scan.cover is None) is (names is None), (query, verdict)
            used = sorted(map(str, frame.collect()))
            mi.disable(spark)
            assert used == sorted(map(str, spark.sql(query.replace("lake", f"parquet.`{table.path}`")).collect()))
            mi.enable(spark)
            mi.open_table(table.path).drop_index(name)
    finally:
        mi.disable(spark)


@pytest.mark.spark
@pytest.mark.parametrize("kind", [mi.CoveringRange("at", ["user"]), mi.Covering("user", ["at"], buckets=8)])
def test_the_size_is_that_of_what_spark_builds(spark: SparkSession, tmp_path: Path, kind: mi.CoveringRange) -> None:
    table = wide(tmp_path)
    (weighed,) = table.what_if("at < 100", kind, sample=0.3).candidates
    outcome = mi.open_table(table.path, spark=spark).create_index("i", kind, builder="spark")
    (run,) = outcome.entry.content.runs
    assert weighed.size_bytes.expected == pytest.approx(run.size_bytes, rel=0.2)

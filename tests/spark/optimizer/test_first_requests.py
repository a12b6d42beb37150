"""What Spark asks of the first rows, of some rows and of aggregates, answered without Spark: what proves it, and what
proves nothing."""

import json
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import Config
from metaindex.spark.optimizer.reasons import Reason
from metaindex.spark.optimizer.request import read_request
from metaindex.spark.optimizer.request_handler import RequestHandler
from metaindex.spark.optimizer.settings import RuleConfig
from tests.spark.optimizer.test_requests import asked_of, equal, node

FILES, ROWS = 6, 10
LATEST = {"column": "k", "descending": True, "nulls_first": False, "rows": 3}
COUNTS = {"keys": [], "measures": [{"how": "count"}, {"how": "min", "column": "k"}, {"how": "max", "column": "k"}]}
TYPES = {"k": "long", "s": "string", "p": "integer"}


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    root = tmp_path / "t"
    for number in range(FILES):
        keys = range(number * ROWS, (number + 1) * ROWS)
        columns = {"k": pa.array(keys, pa.int64()), "s": [f"v{key}" for key in keys]}
        data = pa.table({**columns, "p": pa.array([number // 2] * ROWS, pa.int32())})
        deltalake.write_deltalake(str(root), data, mode="append", partition_by=["p"])
    mi.open_table(str(root)).create_index("stats", mi.ColumnStats(), builder="local")
    return root


def above(key: int) -> list[dict[str, object]]:
    attribute = node("AttributeReference", name="k", dataType="long", metadata={})
    return [node("GreaterThanOrEqual", 2), attribute, node("Literal", dataType="long", value=str(key))]


def request(root: Path, **asked: Any) -> str:
    return asked_of(root, TYPES, **asked)


def taken(text: str, **settings: Any) -> Any:
    handler = RequestHandler(Config(), {}, RuleConfig(**settings))
    (planned,) = handler.planner.plan(read_request(text).scans, handler.rule)
    assert handler.counts.failed == 0, handler.counts.last_error
    return planned.taken


def test_files_behind_the_first_rows_are_told_with_what_proves_it(lake: Path) -> None:
    found = taken(request(lake, first=LATEST))
    assert (len(found.out), len(found.proof), found.result.kept_files) == (5, 1, 1)
    assert (str(found), found.indexes) == ("the first 3 by k DESC", ("stats",))
    reply = json.loads(RequestHandler(Config(), {}, RuleConfig())(request(lake, first=LATEST)))
    assert reply["0"]["first"].keys() == {"label", "dropped", "proof"}
    assert "dropped" not in reply["0"]
    wider = taken(request(lake, first=LATEST | {"rows": 25}))
    assert (len(wider.out), len(wider.proof)) == (3, 3)
    assert taken(request(lake, first=LATEST | {"rows": 61})) is Reason.NO_THRESHOLD
    assert taken(request(lake, first=LATEST | {"rows": 60})) is Reason.NOTHING_BEHIND
    assert taken(request(lake, first=LATEST | {"rows": 0})) is Reason.NO_THRESHOLD
    assert taken(request(lake, first=LATEST), top_k=False) is None
    assert taken(request(lake, first=LATEST), disabled_indexes=("stats",)) is Reason.NOT_ALLOWED


def test_every_filter_has_to_be_understood(lake: Path) -> None:
    assert len(taken(request(lake, first=LATEST, filters=[above(15)])).out) == 4
    unknown = [node("Contains", 2), *equal("s", "string", "v")[1:]]
    for filters in ([unknown], [above(15), unknown], [[node("Or", 2), *above(15), *unknown]]):
        assert taken(request(lake, first=LATEST, filters=filters)) is Reason.PART_UNKNOWN
    other = [node("GreaterThan", 2), *equal("none", "long", 3)[1:]]
    assert taken(request(lake, first=LATEST, filters=[other])) is Reason.PART_UNKNOWN
    some = equal("k", "long", 57)  # of no file every row
    assert taken(request(lake, first=LATEST, filters=[some])) is Reason.NO_THRESHOLD


@pytest.mark.parametrize(
    "needs",
    [
        [{"name": "k", "type": "integer"}],
        [{"name": "k", "type": "long", "altered": True}],
        [{"name": "s", "type": "string"}],
    ],
)
def test_a_column_that_spark_shows_otherwise_proves_nothing(lake: Path, needs: list[Any]) -> None:
    assert taken(request(lake, first=LATEST, needs=needs)) is Reason.OTHER_TYPES
    assert taken(request(lake, aggregate=COUNTS, needs=needs)) is Reason.OTHER_TYPES


def test_a_reader_that_leaves_out_what_is_gone_is_given_every_file(lake: Path) -> None:
    for value, found in (("true", Reason.READER_OPTIONS), ("false", 5)):
        answer = taken(request(lake, first=LATEST, options={"ignoreMissingFiles": value}))
        assert (answer if isinstance(answer, Reason) else len(answer.out)) == found


def test_texts_have_no_threshold(lake: Path) -> None:
    found = taken(request(lake, first=LATEST | {"column": "s", "rows": 1}))
    assert found is Reason.NO_THRESHOLD or len(found.out) > 0


def test_what_whole_files_bring_in_is_told_group_by_group(lake: Path) -> None:
    found = taken(request(lake, aggregate=COUNTS, filters=[above(15)]))
    assert (len(found.files), found.rows, found.result.kept_files) == (4, [["40", "20", "59"]], 1)
    grouped = taken(request(lake, aggregate={**COUNTS, "keys": ["p"]}))
    assert grouped.rows == [["0", "20", "0", "19"], ["1", "20", "20", "39"], ["2", "20", "40", "59"]]
    assert taken(request(lake, aggregate={"keys": ["p"], "measures": []})).rows == [["0"], ["1"], ["2"]]
    assert taken(request(lake, aggregate={**COUNTS, "keys": ["k"]})) is Reason.NOTHING_ANSWERED
    assert taken(request(lake, aggregate=COUNTS), aggregates=False) is None
    cap = pytest.MonkeyPatch()
    cap.setattr("metaindex.query.aggregates.whole_files.MOST_GROUPS", 2)
    assert taken(request(lake, aggregate={**COUNTS, "keys": ["p"]})) is Reason.TOO_MANY_GROUPS
    cap.undo()


def test_certain_files_come_first(lake: Path) -> None:
    found = taken(request(lake, any=True, filters=[above(15)]))
    assert (len(found.certain), found.result.kept_files) == (4, 5)
    assert taken(request(lake, any=True, filters=[above(20)])) is Reason.NOTHING_CERTAIN
    assert taken(request(lake, any=True, filters=[equal("k", "long", 7)])) is Reason.NOTHING_CERTAIN
    assert taken(request(lake, any=True, filters=[above(15)]), limit=False) is None


@pytest.mark.parametrize(
    "index",
    [mi.Values("s"), mi.ColumnStats("s"), mi.ColumnStats(trust_log=True)],
    ids=["values", "stats", "stats of the log"],
)
def test_the_log_alone_proves_nothing(lake: Path, index: Any) -> None:
    table = mi.open_table(str(lake))
    table.drop_index("stats")
    table.create_index("other", index, builder="local")
    assert taken(request(lake, first=LATEST)) is Reason.NO_THRESHOLD
    assert taken(request(lake, aggregate=COUNTS)) is Reason.NOTHING_ANSWERED


def test_a_number_that_differs_is_believed_of_nobody(lake: Path) -> None:
    for commit in (lake / "_delta_log").glob("*.json"):
        commit.write_text(commit.read_text().replace('\\"numRecords\\":10', '\\"numRecords\\":11'))
    assert taken(request(lake, first=LATEST)) is Reason.NO_THRESHOLD
    assert taken(request(lake, aggregate=COUNTS)) is Reason.NOTHING_ANSWERED


@pytest.mark.parametrize("index", [mi.ColumnStats("p", "s"), mi.ColumnStats()], ids=["of others", "of all"])
def test_a_bound_of_the_log_makes_no_file_certain(tmp_path: Path, index: Any) -> None:
    """Of a file of which the log says that every row passes, half of the rows do."""
    root = tmp_path / "t"
    for number in range(FILES):
        keys = pa.array(range(number * ROWS, (number + 1) * ROWS), pa.int64())
        data = pa.table({"k": keys, "s": ["v"] * ROWS, "p": pa.array([number // 2] * ROWS, pa.int32())})
        deltalake.write_deltalake(str(root), data, mode="append")
    for commit in (root / "_delta_log").glob("*.json"):
        commit.write_text(commit.read_text().replace('\\"k\\":10,', '\\"k\\":15,'))
    mi.open_table(str(root)).create_index("stats", index, builder="local")
    counts = {"keys": [], "measures": [{"how": "count"}]}
    first = {"column": "p", "descending": False, "nulls_first": True, "rows": 6}
    answer = taken(request(root, aggregate=counts, filters=[above(15)]))
    assert isinstance(answer, Reason) or (len(answer.files), answer.rows) == (4, [["40"]])
    found = taken(request(root, first=first, filters=[above(15)]))
    assert isinstance(found, Reason) or 1 not in found.proof


def test_files_that_no_index_has_read_are_read(lake: Path) -> None:
    more = pa.table({"k": pa.array([5, 99], pa.int64()), "s": ["a", "b"], "p": pa.array([9, 9], pa.int32())})
    deltalake.write_deltalake(str(lake), more, mode="append")
    assert len(taken(request(lake, first=LATEST)).out) == 5
    assert taken(request(lake, aggregate=COUNTS)).rows == [["60", "0", "59"]]

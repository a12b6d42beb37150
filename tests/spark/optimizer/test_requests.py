"""What Spark asks, answered without Spark: long filters, asked again, and nobody waiting any more."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import ArgumentError, Config
from metaindex.spark.optimizer.reasons import Reason
from metaindex.spark.optimizer.request import Requests, read_request
from metaindex.spark.optimizer.request_handler import RequestHandler
from metaindex.spark.optimizer.settings import RuleConfig

_CATALYST = "org.apache.spark.sql.catalyst.expressions."
FILES = 6


def node(of: str, children: int = 0, **fields: object) -> dict[str, object]:
    return {"class": _CATALYST + of, "num-children": children, **fields}


def equal(column: str, kind: str, value: object) -> list[dict[str, object]]:
    named = node("AttributeReference", name=column, dataType=kind, metadata={})
    return [node("EqualTo", 2), named, node("Literal", dataType=kind, value=str(value))]


def terms(keys: Sequence[int]) -> list[dict[str, object]]:
    """`(k = 1 AND s = 'v1') OR (k = 2 AND ...) OR ...` as Spark nests it, in pre-order."""
    out = [node("Or", 2) for _ in keys[1:]]
    for key in keys:
        out += [node("And", 2), *equal("k", "long", key), *equal("s", "string", f"v{key}")]
    return out


def asked_of(root: Path, types: Mapping[str, str], **asked: Any) -> str:
    """What Spark asks of a scan of a Delta table, as text. `types`: of the columns that the plan needs."""
    version = mi.open_table(str(root)).snapshot().version
    scan: dict[str, Any] = {
        "kind": "delta",
        "root": f"file:{root}",
        "version": version.id,
        "table": version.table_uuid,
        "options": {},
        "filters": [],
        "needs": [{"name": name, "type": type_} for name, type_ in types.items()],
        "wants": [],
        "session": {"zone": "UTC", "set": {}},
        "gathered": False,
        "harmless": True,
        "pruned": False,
        "bytes": 1_000_000,
    }
    return json.dumps({"settings": {}, "scans": [scan | asked]})


def request(root: Path, keys: Sequence[int]) -> str:
    return asked_of(root, {"k": "long"}, filters=[terms(keys)])


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    root = tmp_path / "t"
    for number in range(FILES):
        keys = range(number * 10, number * 10 + 10)
        data = pa.table({"k": pa.array(keys, pa.int64()), "s": [f"v{key}" for key in keys]})
        deltalake.write_deltalake(str(root), data, mode="append")
    table = mi.open_table(str(root))
    table.create_index("all", mi.ColumnStats(), mi.Values("k"), mi.Bloom("s"), builder="local")
    return root


def asking(**settings: Any) -> RequestHandler:
    return RequestHandler(Config(), {}, RuleConfig(**settings))


def told(reply: str) -> str:
    """The dropped files of the only scan."""
    return str(json.loads(reply)["0"]["dropped"])


def test_a_filter_of_many_terms_is_answered_and_remembered(lake: Path) -> None:
    handler = asking()
    many = request(lake, [*range(0, 10), *range(30, 40), 1_000])
    first = handler(many)
    assert told(first) == told(handler(many)) == told(asking()(many))
    assert told(handler(request(lake, [5]))) != told(first)
    assert handler.counts.failed == 0

    deltalake.write_deltalake(str(lake), pa.table({"k": pa.array([5], pa.int64()), "s": ["v5"]}), mode="append")
    mi.open_table(str(lake)).refresh_index("all", builder="local")
    assert told(handler(request(lake, [35]))) != told(asking()(many))


@pytest.mark.slow
def test_an_answer_that_nobody_waits_for_is_not_computed_to_its_end(lake: Path) -> None:
    handler = asking(timeout_seconds=0.001)
    assert handler(request(lake, range(2_000))) == ""
    handler._pool.shutdown(wait=True)  # the threads have come to an end
    assert handler.counts.timed_out == 1
    assert handler.counts.failed == 0
    assert handler.counts.stopped == 1


def test_requests_are_kept_up_to_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.spark.optimizer.request._HELD_LENGTH", 200)

    def asked(setting: str) -> str:
        return json.dumps({"settings": {"spark.metaindex.hint": setting}, "scans": []})

    requests = Requests()
    first = requests.read(asked("a"))
    assert requests.read(asked("a")) is first
    for number in range(20):
        requests.read(asked(str(number)))
    assert requests.read(asked("a")) == first
    assert requests.read(asked("a")) is not first
    long = asked("x" * 200)
    assert requests.read(long) is not requests.read(long)
    with pytest.raises(ArgumentError, match="Expecting"):
        requests.read("{")


def test_what_is_not_supported_is_a_reason_and_told_once(lake: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked = json.loads(request(lake, [5]))
    feature = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["future"], "writerFeatures": ["future"]}
    (lake / "_delta_log" / f"{FILES:020d}.json").write_text(json.dumps({"protocol": feature}))
    asked["scans"][0]["version"] = str(FILES)
    handler, text = asking(), json.dumps(asked)
    for _ in range(3):
        assert handler(text) == ""
        assert handler.planner.pruned(read_request(text).scans[0], handler.rule) is Reason.UNSUPPORTED
    assert handler.counts.failed == 0
    assert handler.counts.last_error == ""
    said = [one.message for one in caplog.records if "future" in one.message]
    assert len(said) == 1
    assert "without indexes" in said[0]

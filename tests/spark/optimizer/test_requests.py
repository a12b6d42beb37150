"""What Spark asks, answered without Spark: long filters, asked again, and nobody waiting any more."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import deltalake
import pyarrow as pa
import pytest

import metaindex
import metaindex as mi
from metaindex.core import ArgumentError, Config
from metaindex.spark.optimizer.reasons import Reason
from metaindex.spark.optimizer.request import Requests, read_request
from metaindex.spark.optimizer.request_handler import RequestHandler
from metaindex.spark.optimizer.settings import RuleConfig
from metaindex.table import handle_of

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
    mi.open_table(str(root)).create_index("all", mi.ColumnStats(), mi.Values("k"), mi.Bloom("s"), builder="local")
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


def test_a_query_looks_at_indexes_and_the_version_once(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters, row groups, and keys of joins of two scans: with a store each look is requests."""
    looks: list[str] = []

    def counted(of: type, name: str) -> None:
        real = getattr(of, name)

        def look(*asked: Any) -> Any:
            looks.append(name)
            return real(*asked)

        monkeypatch.setattr(of, name, look)

    handler, asked = asking(), json.loads(request(lake, [5, 35]))
    asked["scans"] = [asked["scans"][0] | {"joins": ["k"]} for _ in range(2)]
    handle = handle_of(mi.open_table(str(lake)))
    counted(type(handle.indexes()), "readable")
    counted(type(handle.table_format), "resolved")
    reply = json.loads(handler(json.dumps(asked)))
    assert handler.counts.failed == 0
    assert [sorted(reply[number]) for number in "01"] == [["dropped", "joins", "label"]] * 2
    assert sorted(looks) == ["readable", "resolved"]


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


# The process ----------------------------------------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.slow
def test_mistakes_in_java_leave_the_plan_as_it_was(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.spark.optimizer.faulty", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.spark
@pytest.mark.slow
def test_a_session_is_stopped_and_another_one_started(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.spark.optimizer.restarted", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


# Deadlines ------------------------------------------------------------------------------------------------------------


PACKAGE: Final = Path(metaindex.__file__).parent
ROOM: Final = PACKAGE / "spark" / "optimizer" / "java"
SHARED: Final = [file for file in (PACKAGE / "core" / "jvm" / "java").glob("*.java") if file.stem != "Delegates"]
"""What rooms share, but for what is done once, as a session is enabled."""
_PARTS: Final = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | \b(?:for|while|do)\b | [()]""",
    re.VERBOSE | re.DOTALL,
)
_LOOK: Final = re.compile(r"\s*\{\s*Deadline\.look\(\);")


def blind_loops(source: str) -> Iterator[int]:
    """Lines of loops whose turn does not begin with a look."""
    depth = 0
    heads: list[int] = []  # how deep those are that are open
    for part in _PARTS.finditer(source):
        match part[0]:
            case "do":
                yield source.count("\n", 0, part.start()) + 1
            case "for" | "while":
                heads.append(depth)
            case "(":
                depth += 1
            case ")":
                depth -= 1
                if heads and heads[-1] == depth:
                    heads.pop()
                    if not _LOOK.match(source, part.end()):
                        yield source.count("\n", 0, part.start()) + 1


def test_every_turn_of_every_loop_looks() -> None:
    sources = [*ROOM.rglob("*.java"), *SHARED]
    assert sum(file.read_text().count("Deadline.look();") for file in sources) > 250
    assert [f"{file.name}:{line}" for file in sources for line in blind_loops(file.read_text())] == []


def test_no_loop_is_hidden_in_a_method_of_a_library() -> None:
    """What turns by itself turns without a look."""
    hidden = re.compile(r"forEach|removeIf|removeAll|retainAll")
    assert [file.name for file in [*ROOM.rglob("*.java"), *SHARED] if hidden.search(file.read_text())] == []


def test_loops_are_told_from_texts_and_notes() -> None:
    source = """
    for (int i = 0; i < f(i, ")"); i++) {
      Deadline.look(); // for (a
      while (each.hasNext() && !(c == '(')) {
        Deadline.look();
        "for (x) y".length();
      }
    }
    for (; inside.hasNext(); count++) {
    }
    /* while (true) one(); */
    """
    assert list(blind_loops(source)) == [9]


@pytest.mark.parametrize(
    "loop", ["for (;;) one();", "while (true) one();", "do { one(); } while (true);", "for (;;) { one(); }"]
)
def test_a_turn_without_a_look_is_seen(loop: str) -> None:
    assert 2 in list(blind_loops(f"void f() {{\n{loop}\n}}"))

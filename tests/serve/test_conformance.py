"""Answers have the fields, of the types, that the REST catalog's OpenAPI text states (Apache Iceberg,
`open-api/rest-catalog-open-api.yaml`, as of August 2026), and no others."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import metaindex as mi
from metaindex.serve import Catalog
from metaindex.serve.protocol import Request, Service
from tests.formats.iceberg.written import WrittenHistory
from tests.serve.lake import HEADERS

FILE = {
    "spec-id": int,
    "partition": list,
    "content": str,
    "file-path": str,
    "file-format": {"avro", "orc", "parquet", "puffin"},
    "file-size-in-bytes": int,
    "record-count": int,
    "key-metadata?": str,
    "split-offsets?": [int],
    "sort-order-id?": int,
}
COUNTS = {"keys": [int], "values": [int]}
BOUNDS = {"keys": [int], "values": list}
MAPS = {
    **dict.fromkeys(("column-sizes?", "value-counts?", "null-value-counts?", "nan-value-counts?"), COUNTS),
    **dict.fromkeys(("lower-bounds?", "upper-bounds?"), BOUNDS),
}
DATA = {**FILE, **MAPS, "content": {"data"}, "first-row-id?": int}
DELETES = {
    **FILE,
    "content": {"position-deletes", "equality-deletes"},
    "content-offset?": int,
    "content-size-in-bytes?": int,
    "equality-ids?": [int],
    "referenced-data-file?": str,  # Java writes and reads it, the text has it not
}
SCAN = {
    "plan-tasks?": [str],
    "delete-files?": [DELETES],
    "file-scan-tasks?": [{"data-file": DATA, "delete-file-references?": [int], "residual-filter?": object}],
}
ANSWERS: dict[str, Any] = {
    "config": {"defaults": {str: str}, "overrides": {str: str}, "endpoints?": [str]},
    "namespaces": {"namespaces?": [[str]], "next-page-token?": str},
    "namespace": {"namespace": [str], "properties?": {str: str}},
    "tables": {"identifiers?": [{"namespace": [str], "name": str}], "next-page-token?": str},
    "table": {"metadata": {str: object}, "metadata-location?": str, "config?": {str: str}},
    "metadata": {"format-version": int, "table-uuid": str, "location?": str, "schemas?": list, str: object},
    "plan": {**SCAN, "status": {"completed"}, "plan-id": str},
    "tasks": SCAN,
    "error": {"error": {"message": str, "type": str, "code": int, "stack?": [str]}},
}


def wrong(said: Any, shape: Any, where: str = "") -> list[str]:
    """Return what of an answer is not of a shape: a type, a set of words, a list of one shape, or fields."""
    match shape:
        case type():
            fits = isinstance(said, shape) and not (shape is int and isinstance(said, bool))
            return [] if fits else [f"{where}: {said!r:.40} is no {shape.__name__}"]
        case set():
            return [] if said in shape else [f"{where}: {said!r:.40} is none of {shape}"]
        case [of]:
            each = enumerate(said) if isinstance(said, list) else ()
            found = [] if isinstance(said, list) else [f"{where}: {said!r:.40} is no list"]
            return found + [fault for number, item in each for fault in wrong(item, of, f"{where}[{number}]")]
    if not isinstance(said, dict):
        return [f"{where}: {said!r:.40} is no object"]
    known = {name.rstrip("?"): of for name, of in shape.items() if name is not str}
    missing = [name for name in shape if name is not str and name[-1] != "?" and name not in said]
    faults = [f"{where}: there is no {name}" for name in missing]
    for name, value in said.items():
        of = known.get(name, shape.get(str))
        faults += [f"{where}: {name} is unknown"] if of is None else wrong(value, of, f"{where}.{name}")
    return faults


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """Tables of Iceberg with deletes of all kinds, of Delta with vectors' neighbours, and of Parquet files alone."""
    lake = tmp_path / "lake"
    rows = pa.table({"id": pa.array(range(20), pa.int64()), "k": pa.array([n % 3 for n in range(20)], pa.int32())})
    WrittenHistory(lake / "iceberg2", 2, Random(4)).run(14)
    WrittenHistory(lake / "iceberg3", 3, Random(7)).run(14)
    write_deltalake(str(lake / "delta"), rows, partition_by=["k"])
    (lake / "files").mkdir()
    pq.write_table(rows, lake / "files" / "a.parquet")
    mi.open_table(lake / "files").create_index("i", mi.ColumnStats(), builder="local")
    return Service(Catalog([lake]))


def ask(service: Service, client: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    raw = b"" if body is None else json.dumps(body).encode()
    answer = service.answer(Request(method, f"/v1/{path}", HEADERS[client], raw))
    return answer.status, json.loads(answer.body)


@pytest.mark.parametrize("client", ["java", "pyiceberg"])
def test_answers_are_of_the_specification(service: Service, client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.serve.plans.MOST_TASKS", 2)
    asked = [("config", "config"), ("namespaces", "namespaces"), ("namespaces/lake", "namespace")]
    for path, shape in (*asked, ("namespaces/lake/tables", "tables")):
        status, said = ask(service, client, "GET", path)
        assert (status, wrong(said, ANSWERS[shape])) == (200, [])
    seen, deletes = 0, 0
    for table in [item["name"] for item in said["identifiers"]]:
        place = f"namespaces/lake/tables/{table}"
        status, loaded = ask(service, client, "GET", place)
        assert (status, wrong(loaded, ANSWERS["table"])) == (200, []), table
        assert wrong(loaded["metadata"], ANSWERS["metadata"]) == []
        for body in ({}, {"select": ["id"]}, {"filter": {"type": "gt", "term": "id", "value": 3}}):
            status, plan = ask(service, client, "POST", f"{place}/plan", body)
            shape = "plan" if status == 200 else "error"  # equality deletes are refused to pyiceberg
            assert wrong(plan, ANSWERS[shape]) == [], (table, body)
            for token in plan.get("plan-tasks", ()):
                status, page = ask(
                    service, client, "POST", f"namespaces/lake/tables/{table}/tasks", {"plan-task": token}
                )
                assert wrong(page, ANSWERS["tasks" if status == 200 else "error"]) == [], (table, body)
                seen += status == 200
            deletes += bool(plan.get("delete-files"))
    assert seen > 2
    assert deletes or client == "pyiceberg"


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "namespaces/none", None, 404),
        ("GET", "namespaces/lake/tables/none", None, 404),
        ("POST", "namespaces/lake/tables/delta/plan", {"filter": 5}, 400),
        ("POST", "namespaces/lake/tables/delta/plan", {"snapshot-id": 99}, 400),
        ("POST", "namespaces/lake/tables/delta/tasks", {"plan-task": "x"}, 404),
        ("GET", "namespaces/lake/tables/delta/plan/x", None, 404),
        ("POST", "namespaces/lake/tables", {"name": "t"}, 406),
        ("DELETE", "namespaces/lake", None, 406),
    ],
)
def test_errors_are_of_the_specification(service: Service, method: str, path: str, body: Any, expected: int) -> None:
    status, said = ask(service, "java", method, path, body)
    assert wrong(said, ANSWERS["error"]) == []
    assert (status, said["error"]["code"]) == (expected, expected)


def test_what_is_not_of_a_shape_is_found() -> None:
    plan = {"status": "completed", "plan-id": "x", "file-scan-tasks": [{"data-file": {"spec-id": True}}]}
    faults = wrong(plan, ANSWERS["plan"])
    assert any("spec-id: True is no int" in fault for fault in faults)
    assert any("there is no record-count" in fault for fault in faults)
    assert wrong({"status": "done", "more": 1}, ANSWERS["plan"]) == [
        ": there is no plan-id",
        ".status: 'done' is none of {'completed'}",
        ": more is unknown",
    ]

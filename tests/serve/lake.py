"""Tables of a lake that is served, and plans of them without HTTP."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.serve import Catalog
from metaindex.serve.clients import JAVA, PYICEBERG, Client
from metaindex.serve.plans import Plans, Scan
from tests.formats.iceberg.handmade import HandManifest, HandTable, entry, optional

JAVA_1_12 = replace(JAVA, version=(1, 12, 0))
PYICEBERG_0_12 = replace(PYICEBERG, version=(0, 12, 0))
HEADERS = {
    "java": {"x-client-version": "Apache Iceberg 1.12.0 (commit x)"},
    "pyiceberg": {"x-client-version": "PyIceberg 0.12.0"},
}
AVRO = {pa.int32(): "int", pa.int64(): "long", pa.string(): "string", pa.bool_(): "boolean"}


def parted(
    root: Path,
    kind: str,
    transform: str,
    files: Sequence[tuple[Any, Sequence[Any]]],
    *,
    arrow: pa.DataType,
    made: Any,
    others: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """A table of `id` and `v`, partitioned by a transform of `v`. `files`: the partition value of each, as Avro has it
    (type `made`), and the values of its rows."""
    schema = {
        "type": "struct",
        "schema-id": 0,
        "fields": [
            {"id": 1, "name": "id", "required": False, "type": "long"},
            {"id": 2, "name": "v", "required": False, "type": kind},
        ],
    }
    spec = {"spec-id": 0, "fields": [{"name": "v_part", "field-id": 1000, "source-id": 2, "transform": transform}]}
    table = HandTable(root, 2, schemas=[schema], specs=[spec, *others])
    (root / "data").mkdir(parents=True)
    entries, total = [], 0
    fields = [("id", pa.int64(), 1), ("v", arrow, 2)]
    shape = pa.schema([pa.field(name, of, metadata={"PARQUET:field_id": str(i)}) for name, of, i in fields])
    for number, (value, rows) in enumerate(files):
        path = table.path(f"data/f{number}.parquet")
        held = pa.array(rows, arrow)
        pq.write_table(pa.table([pa.array(range(total, total + len(rows)), pa.int64()), held], schema=shape), path)
        total += len(rows)
        size = Path(path).stat().st_size
        entries.append(
            entry(
                path,
                sequence=1,
                snapshot=1,
                record_count=len(rows),
                file_size_in_bytes=size,
                partition={"v_part": value},
            )
        )
    record = [{"name": "v_part", "type": optional(made), "field-id": 1000}]
    table.commit([HandManifest(entries, partition=record)])
    return table.write()


def served(table: Path) -> Plans:
    """The plans of one table by its path."""
    return Catalog([table]).table((table.parent.name,), table.name)


def planned(plans: Plans, filter: Any = None, client: Client = JAVA_1_12, **more: Any) -> dict[str, Any]:  # noqa: A002
    """A plan with all of its pages."""
    answer = json.loads(plans.plan(Scan.read(asked(filter, **more)), client))
    pages = [json.loads(plans.page(token, client)) for token in answer.get("plan-tasks", ())]
    return {**answer, "pages": pages, "tasks": [task for page in (answer, *pages) for task in page["file-scan-tasks"]]}


def asked(filter: Any = None, **more: Any) -> dict[str, Any]:  # noqa: A002
    return {**({} if filter is None else {"filter": filter}), **{k.replace("_", "-"): v for k, v in more.items()}}


def leaf(op: str, value: Any = None, term: Any = "v") -> dict[str, Any]:
    """An expression as clients write it."""
    if op in ("in", "not-in"):
        return {"type": op, "term": term, "values": value}
    return {"type": op, "term": term, **({} if value is None else {"value": value})}


def names(plan: Mapping[str, Any]) -> list[str]:
    """The files of a plan."""
    return [Path(task["data-file"]["file-path"]).stem for task in plan["tasks"]]


def counted(plan: Mapping[str, Any]) -> int:
    """The rows that a client counts that believes the tasks."""
    return sum(task["data-file"]["record-count"] for task in plan["tasks"])

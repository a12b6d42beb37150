"""One index of the kit: its live files, and what was asked of it."""

import datetime as dt
import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import metaindex as mi
from metaindex.expressions import And, Predicate
from metaindex.table import handle_of

from . import tables
from .tables import Kept, row_matches

INDEX = "kit"
Columns = dict[str, dict[str, str]]
Question = tuple[str, list[str], list[Any]]


@dataclass
class Case:
    """An index, the live files of some versions, and what was asked."""

    index: Path
    versions: dict[str, dict[str, Any]] = field(default_factory=dict)
    questions: list[dict[str, Any]] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def ask(
        self,
        table: mi.Table,
        version: str,
        live: list[dict[str, Any]],
        columns: Columns,
        files: dict[str, Kept],
        asked: Iterable[list[Question]],
        table_uuid: str = "",
        uncovered: Sequence[str] = (),
    ) -> None:
        """`must`: the row groups that hold a match, by the files' own values; `may`: the files that the program keeps
        by this index; and those that no kind covers, of which the table's folders say more."""
        self.versions[version] = {"table_uuid": table_uuid, "columns": columns, "live": live}
        at = int(version) if version.isdigit() else None
        for leaves in asked:
            found = table.prune(_predicate(leaves), indexes=[INDEX], version=at)
            must = {f["path"]: _matching(files[f["path"]], leaves, columns) for f in live}
            self.questions.append(
                {
                    "version": version,
                    "and": [[op, names, [told(one, names) for one in literals]] for op, names, literals in leaves],
                    "must": {path: groups for path, groups in must.items() if groups},
                    "may": sorted({*found.files.paths.to_pylist(), *uncovered}),
                }
            )

    def ask_rows(
        self, table: mi.Table, version: str, names: list[str], files: dict[str, Kept], asked: Iterable[list[Question]]
    ) -> None:
        """The live rows, file by file, by the files' own values less what is deleted; and the files that the index
        lacks. The program's reader gives the same rows."""
        said = self.versions[version]
        columns = said["columns"]
        index = handle_of(table).open_index(INDEX)
        snapshot = table.snapshot(int(version))
        identities = index.identities(snapshot)
        held = np.zeros(len(identities), np.bool_)
        for run in index.entry.content.runs:
            held |= index.locate(run, identities) >= 0
        known = set(snapshot.files.paths.filter(pa.array(held)).to_pylist())
        for leaves in asked:
            rows = {
                live["path"]: _live_rows(files[live["path"]], live["deleted"], names, leaves, columns)
                for live in said["live"]
            }
            predicate = _predicate(leaves) if leaves else None
            found = table.scan(predicate, names, int(version), indexes=[]).to_arrow().to_pylist()
            mine = [dict(zip(names, row, strict=True)) for some in rows.values() for row in some]
            assert sorted(map(repr, found)) == sorted(map(repr, mine)), "the program reads other rows of the table"
            self.rows.append(
                {
                    "version": version,
                    "columns": names,
                    "and": [[op, of, [told(one, of) for one in literals]] for op, of, literals in leaves],
                    "rows": {path: [[told(one, ["x"]) for one in row] for row in some] for path, some in rows.items()},
                    "lacks": sorted(path for path in rows if path not in known),
                }
            )

    def write(self, target: Path) -> None:
        shutil.copytree(self.index, target / "index")
        (target / "live.json").write_text(lines(self.versions))
        (target / "questions.jsonl").write_text(
            "".join(json.dumps(q, ensure_ascii=False) + "\n" for q in self.questions)
        )
        if self.rows:
            (target / "rows.jsonl").write_text("".join(json.dumps(q, ensure_ascii=False) + "\n" for q in self.rows))


def lines(value: dict[str, Any]) -> str:
    """JSON with a line for each thing: what changed can be seen."""
    said = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items())
    return f"{{\n{said}\n}}\n"


def _matching(kept: Kept, leaves: list[Question], columns: Columns) -> list[int]:
    count = len(next(iter(kept.rows.values())))
    here = {name: kept.rows.get(said["stable"], [None] * count) for name, said in columns.items()}

    def value(names: list[str], row: int) -> Any:
        found = tuple(here[name][row] for name in names)
        return found if len(names) > 1 else found[0]

    rows = [row for row in range(count) if all(row_matches(op, value(names, row), said) for op, names, said in leaves)]
    return sorted({row // tables.GROUP_ROWS for row in rows})


def _live_rows(
    kept: Kept, deleted: Sequence[int], names: list[str], leaves: list[Question], columns: Columns
) -> list[list[Any]]:
    """Values of these columns, of rows that match and are not deleted, in the file's order."""
    count = len(next(iter(kept.rows.values())))
    here = {name: kept.rows.get(said["stable"], [None] * count) for name, said in columns.items()}
    return [
        [here[name][row] for name in names]
        for row in range(count)
        if row not in deleted and all(row_matches(op, here[of[0]][row], said) for op, of, said in leaves)
    ]


def _predicate(leaves: list[Question]) -> Predicate:
    parts: list[Predicate] = []
    for op, names, literals in leaves:
        for at, name in enumerate(names):
            one = mi.col(name)
            values = [literal[at] if len(names) > 1 else literal for literal in literals]
            made: dict[str, Callable[[], Predicate]] = {
                "=": lambda one=one, values=values: one == values[0],
                "<>": lambda one=one, values=values: one != values[0],
                "<": lambda one=one, values=values: one < values[0],
                "<=": lambda one=one, values=values: one <= values[0],
                ">": lambda one=one, values=values: one > values[0],
                ">=": lambda one=one, values=values: one >= values[0],
                "in": lambda one=one, values=values: one.isin(values),
                "is null": one.is_null,
                "is not null": one.is_not_null,
                "prefix": lambda one=one, values=values: one.startswith(values[0]),
            }
            parts.append(made[op]())
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def told(value: Any, names: Sequence[str]) -> Any:
    """A literal as the kit has it."""
    if len(names) > 1:
        return [told(one, names[:1]) for one in value]
    match value:
        case None:
            return ["null", ""]
        case bool():
            return ["bool", str(value).lower()]
        case int() | float() | Decimal():
            return [type(value).__name__.lower(), str(value)]
        case bytes():
            return ["bytes", value.hex()]
        case dt.datetime():
            return ["timestamp", value.isoformat()]
        case dt.date():
            return ["date", value.isoformat()]
        case dt.time():
            return ["time", value.isoformat()]
        case _:
            return ["text", value]

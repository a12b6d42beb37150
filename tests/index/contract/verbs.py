"""Every verb over a table whose index is of some kind: what a kind has to live through, whoever made it.

It asks only what the kind says it can answer. Rows are right whatever is asked; where it answers, it leaves out as many
files as `left_out` expects, and an explanation names it. A kind whose rows are read in the table's place answers
nothing of files: the rows that it serves are those of the table. One that keeps a row of every file answers for what
the files' values come to.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Literal

import duckdb
import pyarrow.compute as pc

from metaindex.index import Kind
from metaindex.index.kinds.of_files import OfFilesKind
from tests.answers import one_answer
from tests.hostile.changes import turn
from tests.index.contract.verbs_lake import Lake, rows
from tests.index.kinds.covering.served import Held, shown

NAME = "sets"
USERS = ["user-1", "user-33", "user-77", "user-121", "user-163", "user-204", "nobody", "user-5", "USER-1", "it's"]


def predicates(users: Sequence[str] = USERS) -> list[str]:
    found = []
    for user in users:
        text = user.replace("'", "''")
        found += [f"user = '{text}'", f"user = '{text}' AND n = 33", f"user IN ('{text}', 'user-42')"]
    return [
        *found,
        *("user IS NULL", "user IS NOT NULL", "user > 'user-3'", "n >= 30", "user != 'user-1'", "user LIKE 'user-7%'"),
        *("NOT (user = 'user-1' OR n < 100)", "user NOT IN ('user-1', 'user-2')", "n = 33 OR user = 'user-77'"),
    ]


ONE_ANSWER = {*predicates(USERS[1:2])}


def asked(lake: Lake, partition: str, least_left_out: int) -> list[str]:
    """Scans give the rows that DuckDB finds among those that the format's own reader shows. Gives the predicates that
    rows of this partition proved files out by."""
    table, there = lake.open(), lake.there()
    left_out, answered = 0, []
    for where in predicates():
        expected = duckdb.sql(f"SELECT user, n FROM there WHERE {where} ORDER BY n").fetchall()
        found = one_answer(table, where) if where in ONE_ANSWER else table.scan(where).to_arrow()
        got = found.select(["user", "n"]).sort_by("n")
        assert [tuple(row.values()) for row in got.to_pylist()] == expected, where
        dropped = sum(leaf.dropped_files for leaf in table.prune(where).leaves if leaf.kind == partition)
        left_out += dropped
        answered += [where] if dropped else []
    assert there.num_rows
    assert left_out >= least_left_out, left_out
    return answered


def sound(lake: Lake, kind: Kind) -> None:
    report = lake.open().verify_index(NAME, files=None)
    assert report.sound, report
    if kind.keeps_rows:
        assert (report.rows_compared > 0) != lake.of_text, report
    else:
        assert report.keys + report.statistics > 0, report


def served(lake: Lake) -> None:
    """The rows of a fresh index are those of the table."""
    held, missing = Held.of(lake.open(), NAME).served()
    assert (held, missing) == (shown(lake.there().to_pylist()), 0)


def story(lake: Lake, kind: Kind, partition: str, builder: Literal["local", "spark"], left_out: int) -> None:
    """From create to clean. `left_out`: how many files at least, over all that is asked of a fresh index."""
    other: Literal["local", "spark"] = "spark" if kind.needs_spark else "local"
    lake.root.mkdir(parents=True, exist_ok=True)
    lake.add([rows(first) for first in range(0, 160, 40)])
    assert lake.open().create_index(NAME, kind, builder=builder).changed
    right(lake, kind, partition, left_out)
    sound(lake, kind)
    lake.add([rows(160), rows(200)])
    asked(lake, partition, left_out)
    assert lake.open().refresh_index(NAME, builder=builder).changed
    right(lake, kind, partition, left_out)
    lake.delete(20)
    lake.widen()
    lake.add([rows(240)])
    assert lake.open().refresh_index(NAME, builder=other).changed
    right(lake, kind, partition, left_out)
    assert lake.open().optimize_index(NAME, mode="full", builder=builder).changed
    (info,) = lake.open().indexes()
    assert (info.runs, info.kinds, info.problem) == (1, (kind.name,), ""), info
    right(lake, kind, partition, left_out)
    sound(lake, kind)
    lake.open().erase_index(NAME, builder=other)
    right(lake, kind, partition, left_out)
    sound(lake, kind)
    damaged(lake, kind, partition, other)
    right(lake, kind, partition, left_out)
    lake.open().clean_index(NAME, retention=0)
    right(lake, kind, partition, left_out)


def right(lake: Lake, kind: Kind, partition: str, left_out: int) -> None:
    """Of a fresh index all that its kind says."""
    answered = asked(lake, partition, left_out)
    if kind.keeps_rows:
        assert not answered
        served(lake)
    elif isinstance(kind, OfFilesKind) and not kind.finds_values:
        assert not answered
        come_to(lake)
    else:
        said = str(lake.open().explain(answered[0]))
        assert partition in said, said


def come_to(lake: Lake) -> None:
    """What the files' values come to is what the rows do, and of most files nobody reads it."""
    told = lake.there()
    for asked_, column, truth in (
        ("sum", "n", pc.sum(told.column("n")).as_py()),
        ("approx_distinct", "user", len(pc.unique(told.column("user")).drop_null())),
    ):
        answer = lake.open().aggregate(**{asked_: [column]}).table.column(0).to_pylist()
        assert answer == [truth], asked_
    kept = (lake.open().aggregate(sum=["n"]), lake.open().aggregate(approx_distinct=["user"]))
    assert any(found.answered > found.opened for found in kept)


def damaged(lake: Lake, kind: Kind, partition: str, builder: Literal["local", "spark"]) -> None:
    """A part with other bytes: queries stay right, verify finds it, repair mends it."""
    part = max(lake.root.rglob(f"{partition}*/**/*.mix"), key=lambda path: path.stat().st_size)
    turn(part, 1 / 2, 255)
    asked(lake, partition, 0)
    assert not lake.open().verify_index(NAME, files=None).sound
    lake.open().repair_index(NAME, builder=builder)
    sound(lake, kind)


def command(lake: Lake, *words: str) -> str:
    line = [sys.executable, "-m", "metaindex", words[0], lake.place(), *words[1:]]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(lake: Lake, option: str, keys: tuple[str, ...], said: str) -> None:
    """The command line weighs it, builds it, proves it, tells of it and asks it."""
    assert option in command(lake, "create", "--help")
    asked_for = [word for key in keys for word in (option, key)]
    query = ("--where", "user = 'user-33'", "--no-indexes", "--json")
    weighed = json.loads(command(lake, "whatif", *query, *asked_for))["queries"][0]["with"][0]
    command(lake, "create", "again", *asked_for, "--builder", "local")
    kept = json.loads(command(lake, "prune", "user = 'user-33'", "--index", "again", "--json"))["kept_files"]
    assert (weighed["exact"], weighed["files"]["expected"]) == (True, kept)
    assert json.loads(command(lake, "verify", "again", "--json"))["sound"]
    assert said in command(lake, "indexes", "again")
    found = json.loads(command(lake, "scan", "user = 'user-33'", "--json"))
    assert [row["n"] for row in found["rows"]] == [33]
    for verb in ("delete", "vacuum"):
        command(lake, verb, "again")

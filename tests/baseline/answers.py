"""Facts of what programs are told: the keys of each command's `--json`, and the columns of each statement's result, of
one small table that lives through all of them."""

import contextlib
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from metaindex.cli import main
from tests.tables import settle

Script = list[tuple[str, ...]]

COMMANDS: Script = [
    ("create", "{t}", "stats", "--stats"),
    ("create", "{t}", "keys", "--values", "id", "--sketches", "name"),
    ("indexes", "{t}"),
    ("indexes", "{t}", "stats"),
    ("prune", "{t}", "id = 3", "--query-log", "kept"),
    ("scan", "{t}", "id = 3", "--query-log", "kept"),
    ("scan", "{t}", "id = 3", "--count"),
    ("scan", "{t}", "id = 3", "--output", "{out}/rows.csv"),
    ("count", "{t}", "id > 3"),
    ("count", "{t}", "--min", "id", "--sum", "id", "--count-distinct", "name", "--by", "month"),
    ("locate", "{t}", "id=3", "--exact"),
    ("search", "{t}", "3"),
    ("explain", "{t}", "id = 3"),
    ("clustering", "{t}"),
    ("whatif", "{t}", "--where", "id = 3", "--bloom", "id"),
    ("recommend", "{t}", "--where", "id = 3"),
    ("queries", "{t}"),
    ("savings", "{t}"),
    ("report", "{t}", "-o", "{out}/report.html"),
    ("lake", "{lake}"),
    ("diff", "{t}", "--since", "{version}"),
    ("history", "{t}", "stats"),
    ("verify", "{t}", "stats"),
    ("repair", "{t}", "stats"),
    ("sql", "SHOW INDEXES ON '{t}'"),
    ("doctor", "{t}"),
    ("completion", "bash"),
    ("watch", "{t}", "--once"),
    ("refresh", "{t}", "stats"),
    ("optimize", "{t}", "stats"),
    ("disable", "{t}", "stats"),
    ("enable", "{t}", "stats"),
    ("cancel", "{t}", "stats"),
    ("clean", "{t}", "stats"),
    ("clean", "{t}", "stats", "--erase"),
    ("drop", "{t}", "stats"),
    ("restore", "{t}", "stats"),
    ("drop", "{t}", "stats"),
    ("vacuum", "{t}", "stats"),
    ("queries", "{t}", "--clean"),
    ("indexes", "{t}", "stats"),
    ("prune", "{t}"),
]
DAMAGED = ("verify", "{t}", "keys")
"""Of an index one of whose files is gone: exit code 3."""

STATEMENTS = (
    "CREATE INDEX stats ON '{t}' (id)",
    "REFRESH INDEX stats ON '{t}'",
    "OPTIMIZE INDEX stats ON '{t}'",
    "SHOW INDEXES ON '{t}'",
    "DESCRIBE INDEX stats ON '{t}'",
    "DESCRIBE INDEX HISTORY stats ON '{t}'",
    "VERIFY INDEX stats ON '{t}'",
    "REPAIR INDEX stats ON '{t}'",
    "EXPLAIN INDEXES SELECT * FROM '{t}' WHERE id = 3",
    "EXPLAIN WHATIF SELECT * FROM '{t}' WHERE id = 3 WITH INDEX USING bloom (id)",
    "RECOMMEND INDEXES ON '{t}' FROM '{out}/queries.sql'",
    "DISABLE INDEX stats ON '{t}'",
    "ENABLE INDEX stats ON '{t}'",
    "CLEAN INDEX stats ON '{t}'",
    "ERASE INDEX stats ON '{t}'",
    "DROP INDEX stats ON '{t}'",
    "RESTORE INDEX stats ON '{t}'",
    "DROP INDEX stats ON '{t}'",
    "VACUUM INDEX stats ON '{t}'",
    "CANCEL INDEX IF EXISTS stats ON '{t}'",
)


def answer_lines(folder: Path) -> Iterator[str]:
    """`folder`: an empty one, in which the table is made."""
    table = folder / "lake" / "t"
    for month in (1, 2):
        (table / f"month={month}").mkdir(parents=True)
        for part in range(2):
            rows = {"id": list(range(part * 5, part * 5 + 5)), "name": ["a", "b", None, "c", "d"]}
            pq.write_table(pa.table(rows), table / f"month={month}" / f"part-{part}.parquet")
    settle(table)
    (folder / "out").mkdir()
    (folder / "out" / "queries.sql").write_text(f"SELECT * FROM parquet.`{table}` WHERE id = 3;\n")
    places = {"t": str(table), "lake": str(table.parent), "out": str(folder / "out")}
    with _alone(folder):
        for words in COMMANDS:
            version = mi.open_table(str(table)).snapshot().version.id
            places["version"] = str(version)
            yield from _told(words[0], [word.format_map(places) for word in words])
        asked = {f"{folder}/out/queries.sql": folder / "out" / "queries.sql"}
        for text in STATEMENTS:
            verb = re.match(r"\w+ \w+( HISTORY)?", text)[0]
            result = mi.sql(text.format_map(places), tables=asked, builder="local")
            yield from (f"sql {verb} gives {field.name} as {field.type}" for field in result.to_arrow().schema)
        next(Path(mi.open_table(str(table)).indexes("keys")[0].location).rglob("part-*")).unlink()
        yield from _told(DAMAGED[0], [word.format_map(places) for word in DAMAGED])


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nothing that this user has set for metaindex counts."""
    names = [name for name in os.environ if name.startswith("METAINDEX_") or name == "XDG_CONFIG_HOME"]
    before = {name: os.environ.pop(name) for name in names}
    os.environ["XDG_CONFIG_HOME"] = str(folder)
    try:
        yield
    finally:
        del os.environ["XDG_CONFIG_HOME"]
        os.environ.update(before)


def _told(name: str, words: list[str]) -> Iterator[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main([*words, "--json"])
    yield f"json metaindex {name}: exit code {code}"
    what = "json of an error" if code in (1, 2) else f"json metaindex {name}"
    for text in out.getvalue().splitlines() if name == "watch" else [out.getvalue()]:
        yield from (f"{what}: {key}" for key in _keys(json.loads(text)))


def _keys(value: object, before: str = "") -> Iterator[str]:
    """`indexes[].name` and the like; a list is what its members are."""
    match value:
        case dict():
            for key, inner in value.items():
                name = "*" if " " in key else key  # what is named by a sentence has no name to hold on to
                yield f"{before}.{name}".lstrip(".")
                yield from _keys(inner, f"{before}.{name}")
        case list():
            for inner in value:
                yield from _keys(inner, f"{before}[]")

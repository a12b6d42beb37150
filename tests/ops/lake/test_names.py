"""Names of tables in a lake: each is another one, whatever dots, quotes and capital letters are in them."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog

import metaindex as mi
from metaindex.expressions import parse_path
from metaindex.formats.iceberg.configured import said_name
from metaindex.ops.lake.opening import LakeAsked
from metaindex.ops.lake.page import file_names
from metaindex.ops.lake.upkeep import Event
from metaindex.ops.lake.watching import Watcher
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.ops.lake.test_catalogs import ROWS, Half, sql
from tests.processes import serving

Names = tuple[str, ...]
ALIKE: list[Names] = [("a", "b", "t1"), ("a.b", "t1"), ("a", "b.t1"), ("a", "B.t1"), ("a", "b`.t1"), ("a", "*")]
SAID = ["a.b.t1", "`a.b`.t1", "a.`b.t1`", "a.`B.t1`", "a.`b``.t1`", "a.`*`"]


class Rest(Half):
    """A REST catalog of tables by any names, each with the file of its metadata. Namespace `slow` is never listed."""

    tables: Mapping[Names, SqlCatalog]

    def do_GET(self) -> None:  # noqa: N802 - the name that the server calls
        url = urlsplit(self.path)
        path = [unquote(part) for part in url.path.removeprefix("/v1/").split("/")]
        spaces = {name[:at] for name in self.tables for at in range(1, len(name))}
        match path:
            case ["config"]:
                self.answer({"defaults": {}, "overrides": {}})
            case ["namespaces"]:
                parent = tuple(part for said in parse_qs(url.query).get("parent", []) for part in said.split("\x1f"))
                below = {name for name in spaces if len(name) == len(parent) + 1 and name[: len(parent)] == parent}
                inside = sorted(map(list, below))
                self.answer({"namespaces": [*inside, *inside[:1]]})  # one is told twice
            case ["namespaces", "slow", "tables"]:
                self.over.wait()
            case ["namespaces", space, "tables"]:
                inside = [name for name in self.tables if name[:-1] == tuple(space.split("\x1f"))]
                told = [{"namespace": list(name[:-1]), "name": name[-1]} for name in inside]
                self.answer({"identifiers": [*told, *told[:1]]})  # one is told twice
            case ["namespaces", space, "tables", table]:
                name = (*space.split("\x1f"), table)
                number = list(self.tables).index(name)
                location = self.tables[name].load_table(("db", f"t{number}")).metadata_location
                metadata = json.loads(Path(location.removeprefix("file://")).read_text())
                self.answer({"metadata-location": location, "metadata": metadata, "config": {}})


@contextmanager
def rest(folder: Path, names: list[Names], *, behind: bool = False) -> Iterator[str]:
    """Served: table number n of these names has n rows' files; with an index that is behind."""
    made = SqlCatalog("lake", **sql(folder))
    made.create_namespace("db")
    for number in range(len(names)):
        table = made.create_table(("db", f"t{number}"), ROWS.schema)
        for _ in range(number + 1):
            table.append(ROWS)
        if behind:
            mi.open_table(f"db.t{number}", catalog=made).create_index("ids", mi.ColumnStats(), builder="local")
            table.append(ROWS)
    over = threading.Event()
    with serving(Rest, tables=dict.fromkeys(names, made), over=over) as uri:
        try:
            yield uri
        finally:
            over.set()


@pytest.mark.slow
def test_tables_whose_names_join_alike_are_told_apart(tmp_path: Path) -> None:
    with rest(tmp_path, ALIKE) as uri:
        told = mi.open_lake({"type": "rest", "uri": uri})
        assert sorted(table.name for table in told) == sorted(SAID)
        for number, name in enumerate(SAID):
            assert told[name].files == number + 1
            assert told.open(name).prune("id = 3").total_files == number + 1
        (tmp_path / "pages").mkdir()
        told.report(tmp_path / "lake.html", reports=tmp_path / "pages")
        named = [mi.open_table(name, catalog=_catalog(uri)).snapshot().files for name in SAID]
        assert [len(files) for files in named] == [1, 2, 3, 4, 5, 6], "a name that is told opens its table"
    pages = sorted(page.name for page in (tmp_path / "pages").iterdir())
    assert len(pages) == len({page.lower() for page in pages}) == len(ALIKE)
    html = (tmp_path / "lake.html").read_text()
    assert [page for page in pages if f'href="./pages/{page}"' not in html] == []


def _catalog(uri: str) -> Any:
    from pyiceberg.catalog.rest import RestCatalog

    return RestCatalog("rest", uri=uri)


@pytest.mark.slow
def test_tables_whose_names_join_alike_are_all_followed(tmp_path: Path) -> None:
    events: list[Event] = []
    with rest(tmp_path, ALIKE, behind=True) as uri:
        assert Watcher(LakeAsked({"type": "rest", "uri": uri}), events.append).once()
        told = mi.open_lake({"type": "rest", "uri": uri})
    assert next(event for event in events if event.kind == "looked").message == "6 tables, 6 new, 0 gone"
    assert sorted(event.table for event in events if event.kind == "refreshed") == sorted(SAID)
    assert [told[name].fresh for name in SAID] == [True] * 6


@pytest.mark.slow
def test_namespaces_that_are_not_looked_at_are_told(tmp_path: Path) -> None:
    with rest(tmp_path, [("a", "t"), ("a", "b", "t"), ("a", "c", "t"), tuple("abcdefghij")]) as uri:
        told = mi.open_lake({"name": "r", "type": "rest", "uri": uri})
        cut = mi.open_lake({"name": "r", "type": "rest", "uri": uri}, most_folders=2)
    assert [table.name for table in told] == ["a.b.t", "a.c.t", "a.t"]
    assert "namespaces more than 8 levels down are not looked at: 1 namespace, such as a.b.c.d.e.f.g.h.i" in told.notes
    assert [table.name for table in cut] == ["a.b.t", "a.t"]
    assert "tables are looked for in at most 2 namespaces; there are more in r: allow more" in cut.notes


@pytest.mark.slow
def test_a_watch_waits_as_long_for_a_namespace_as_it_is_told_to(tmp_path: Path, call: Call) -> None:
    with rest(tmp_path, [("a", "t"), ("slow", "t")], behind=True) as uri:
        options = ["--catalog-option", "type=rest", "--catalog-option", f"uri={uri}"]
        told = call("watch", "--lake", "catalog:x", *options, "--once", "--timeout", "2")
    assert told.code == 1
    assert "namespace slow cannot be listed: no answer within 2 seconds" in told.out
    assert "a.t  ids: refreshed" in told.out
    refused = call("watch", str(tmp_path), "--timeout", "2")
    assert refused.code == 1
    assert "--timeout" in refused.err
    assert "are for a lake" in refused.err


@given(st.lists(st.text(min_size=1, max_size=6) | st.sampled_from([".", "`", "a.b", "*", "``", "a"]), min_size=1))
def test_a_name_can_be_taken_apart_again(parts: list[str]) -> None:
    assert parse_path(said_name(tuple(parts))) == tuple(parts)


@pytest.mark.parametrize(
    ("parts", "said"), [(("db", "t 1"), "db.t 1"), (("A", "b"), "A.b"), (("ä", "b-c"), "ä.b-c"), ((), "")]
)
def test_a_plain_name_is_said_as_it_is(parts: Names, said: str) -> None:
    assert said_name(parts) == said


def test_pages_have_other_names_where_only_capitals_differ() -> None:
    names = ["a/T", "a/t", "a-t", "ä", "ö", "x" * 200, "x" * 201]
    files = file_names(names)
    assert list(files) == names
    assert len({file.lower() for file in files.values()}) == len(names)


def test_pages_have_other_names_where_short_digests_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaindex.ops.lake.page._SHORT", 0)
    names = ["a/t", "a-t", "a.t"]
    assert len(set(file_names(names).values())) == len(names)


def test_folders_whose_names_differ_in_capitals_are_tables_of_their_own(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    for name in ("T", "t", "a.b", "a"):
        (tmp_path / "lake" / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(ROWS, tmp_path / "lake" / name / "1.parquet")
    told = mi.open_lake(tmp_path / "lake")
    assert [table.name for table in told] == ["T", "a", "a.b", "t"]
    (tmp_path / "pages").mkdir()
    told.report(tmp_path / "lake.html", reports=tmp_path / "pages")
    assert len(list((tmp_path / "pages").iterdir())) == 4

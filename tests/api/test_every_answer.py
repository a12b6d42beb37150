"""Whatever `mi` and a table give has a line for lists and logs, a text for people, and HTML for notebooks: found by
what each says that it returns, so that a new one cannot be forgotten."""

import datetime as dt
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import metaindex as mi
from metaindex.core import Shown
from metaindex.core.shown import BRIEF
from tests.core.test_shown import ASKED, Read, prompted, table  # noqa: F401 - a fixture
from tests.pages import ELEMENTS

PLAIN = {
    *("None", "bool", "int", "str", "list[str]"),
    *("pa.Table", "pa.Schema"),  # Arrow's own
    *("Table", "Config", "ColumnBuilder"),  # what is asked, and how
    *("Iterator[None]", "Server"),  # of a `with` block
}
"""What is no answer."""


def given() -> Iterator[tuple[str, str]]:
    """Each public function, and method or property of a table, and what it says that it gives."""
    for name in mi.__all__:
        if inspect.isfunction(thing := getattr(mi, name)):
            yield name, str(inspect.signature(thing).return_annotation)
    for name in dir(mi.Table):
        if not name.startswith("_"):
            thing = inspect.getattr_static(mi.Table, name)
            made = thing.fget if isinstance(thing, property) else thing
            yield f"table.{name}", str(inspect.signature(made).return_annotation)


def kinds(of: type) -> Iterator[type]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


ASKING: dict[str, Callable[[mi.Table, Path], Shown]] = {
    "Aggregated": lambda t, _: t.aggregate(count=True, where=ASKED),
    "Clustering": lambda t, _: t.clustering(),
    "Diff": lambda t, _: t.diff(t.versions()[0].id),
    "Explanation": lambda t, _: t.explain(ASKED),
    "History": lambda t, _: t.history("find"),
    "IndexList": lambda t, _: t.indexes(),
    "Lake": lambda t, _: mi.open_lake(Path(t.path).parent),
    "Located": lambda t, _: t.locate(ASKED),
    "Narrowed": lambda t, _: mi.narrowed(pa.table({"t": ["<b>1</b>", "x"]}), on=["t"]),
    "Outcome": lambda t, _: t.refresh_index("find"),
    "PruneResult": lambda t, _: t.prune(ASKED),
    "QueriesCleaned": lambda t, _: t.reopened(mi.Config(query_log=True)).clean_query_log(),
    "Recommendation": lambda t, _: t.recommend([ASKED], candidates=[mi.Bloom("t")]),
    "Reported": lambda t, tmp: t.report(tmp / "page.html"),
    "Savings": lambda t, _: t.savings(since=dt.timedelta(days=1)),
    "Scan": lambda t, _: t.scan(ASKED),
    "Searched": lambda t, _: t.search("<b>1</b>"),
    "Snapshot": lambda t, _: t.snapshot(),
    "StatementResult": lambda t, _: mi.sql(f"SHOW INDEXES ON '{t.path}'"),
    "Touched": lambda t, _: t.touched(pa.table({"t": ["x"]}), ["t"]),
    "Verification": lambda t, _: t.verify_index("find"),
    "VersionList": lambda t, _: t.versions(),
    "WhatIf": lambda t, _: t.what_if(ASKED, mi.Bloom("t")),
    "Workload": lambda t, _: mi.workload([f"SELECT * FROM t WHERE {ASKED}"]),
}
OF_SPARK = {"QueryExplanation"}  # shown in tests/spark/optimizer/test_explain.py


def test_whatever_is_given_is_an_answer_that_shows_itself() -> None:
    from metaindex.spark import QueryExplanation  # noqa: F401 - an answer, too

    known = {kind.__name__ for kind in kinds(Shown)} | ASKING.keys()
    given_ = dict(given())
    assert len(given_) > 50
    assert {name: kind for name, kind in given_.items() if kind not in PLAIN | known} == {}
    assert {kind for kind in given_.values() if kind not in PLAIN} == ASKING.keys() | OF_SPARK


@pytest.mark.parametrize("kind", sorted(ASKING))
def test_an_answer_is_a_line_a_text_and_html(table: mi.Table, tmp_path: Path, kind: str) -> None:  # noqa: F811
    answer = ASKING[kind](table, tmp_path)
    assert type(answer).__name__ == kind
    line, text, html = repr(answer), str(answer), answer._repr_html_()
    assert line.startswith(f"<{kind}: ")
    assert len(line) <= BRIEF + len(kind) + 4
    assert "\n" not in line
    assert prompted(answer) == text
    assert len(text) < 5000
    assert not text.startswith("<" + kind)
    assert "object at 0x" not in text
    assert "\x1b" not in line + text + html
    assert Read(html).tags <= ELEMENTS
    assert Read(html).text.strip()


def test_a_list_of_versions_is_a_list_and_names_the_newest(table: mi.Table, tmp_path: Path) -> None:  # noqa: F811

    assert list(table.versions()) == table.versions()
    for _ in range(25):
        write_deltalake(tmp_path / "t", pa.table({"a": [1]}), mode="append")
    many = mi.open_table(tmp_path / "t").versions()
    assert DeltaTable(tmp_path / "t").version() == 24
    assert (len(many), many[-1].id) == (25, "24")
    assert repr(many) == "<VersionList: 25 versions, 0 to 24>"
    assert str(many).splitlines() == ["25 versions, 0 to 24", "  5 older ones", *(f"  {n}" for n in range(5, 25))]

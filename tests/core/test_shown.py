"""What a notebook shows of an answer: what is printed, not too much of it, and nothing in it is markup."""

import io
import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import metaindex as mi
from metaindex.core import Column, MissingDependencyError, Shown, one_line
from metaindex.core.rows import json_value
from metaindex.core.shown import BRIEF
from metaindex.core.text_table import plain_table, rich_table
from metaindex.core.texts import LINES, bounded, html_table
from metaindex.query import Scan
from tests.processes import python
from tests.tables import settle

HOSTILE = "<script>alert('x')</script> & \x1b[31m"
ASKED = f"`{HOSTILE}` = 1"


class Read(HTMLParser):
    """A notebook's HTML: its tags, and the texts between them."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(shown)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def table(tmp_path: Path) -> mi.Table:
    root = tmp_path / "<script>lake"
    root.mkdir()
    for at in range(3):
        pq.write_table(pa.table({HOSTILE: [at], "t": [f"<b>{at}</b>"]}), root / f"<i>{at}.parquet")
    settle(root)
    found = mi.open_table(str(root))
    found.create_index("find", mi.ColumnStats(), mi.Values(f"`{HOSTILE}`"), mi.Values("t"), builder="local")
    return found


def prompted(answer: Shown) -> str:
    """What IPython's prompt shows."""

    class Printer:
        said = ""

        def text(self, text: str) -> None:
            self.said += text

    printer = Printer()
    answer._repr_pretty_(printer, False)
    return printer.said


@pytest.mark.parametrize("name", ["indexes", "prune", "explain", "clustering", "savings"])
def test_what_has_bars_shows_them_in_a_notebook_and_prints_the_same_numbers(table: mi.Table, name: str) -> None:
    noted = table.reopened(mi.Config(query_log=True))
    noted.prune(ASKED)
    answer: Shown = {
        "indexes": table.indexes,
        "prune": lambda: table.prune(ASKED),
        "explain": lambda: table.explain(ASKED),
        "clustering": lambda: table.clustering(sample=0),
        "savings": noted.savings,
    }[name]()
    assert {"svg", "rect"} <= Read(answer._repr_html_()).tags
    assert "svg" not in str(answer)


@pytest.mark.parametrize("name", ["indexes", "locate", "search", "history"])
def test_what_is_a_table_is_one_in_html(table: mi.Table, name: str) -> None:
    asked = {"locate": ASKED, "search": "<b>1</b>", "history": "find"}
    answer = getattr(table, name)(*([asked[name]] if name in asked else []))
    assert "td" in Read(answer._repr_html_()).tags


def test_an_index_of_the_list_is_had_by_its_name(table: mi.Table) -> None:
    every = table.indexes()
    assert every["find"] == every[0] == every[:1][0]
    with pytest.raises(mi.IndexNotFoundError, match="no 'nope'; there are: 'find'"):
        every["nope"]


def test_a_table_is_its_path(table: mi.Table) -> None:
    assert repr(table) in Read(table._repr_html_()).text
    assert Read(table._repr_html_()).tags == {"pre"}


def test_a_names_own_markup_is_read_as_text(table: mi.Table) -> None:
    assert "<script>alert('x')</script> & \\x1b[31m" in Read(table.indexes()[0]._repr_html_()).text
    assert "<i>1.parquet" in Read(table.locate(ASKED)._repr_html_()).text


def test_a_scan_tells_what_it_would_read_and_reads_nothing(table: mi.Table, tmp_path: Path) -> None:
    scan = table.scan(ASKED, columns=["t"])
    for file in (tmp_path / "<script>lake").glob("*.parquet"):
        file.unlink()
    assert "1 of 3 files" in str(scan)
    assert "t: string" in str(scan)
    assert "to_arrow()" in str(scan)
    assert repr(scan).endswith("1 of 3 files>")
    assert one_line(ASKED) in str(scan)


def test_a_scan_of_no_such_column_is_shown_with_what_is_wrong(table: mi.Table) -> None:
    scan = table.scan(ASKED)
    assert "there is no 'nope'" in str(Scan(scan.snapshot, scan.storage, scan.ref, columns=("nope",)))


def test_a_scan_as_pandas_has_the_rows_of_the_table(table: mi.Table) -> None:
    pytest.importorskip("pandas")
    scan = table.scan("t = '<b>2</b>'")
    assert scan.to_pandas().to_dict("records") == scan.to_arrow().to_pylist() == [{HOSTILE: 2, "t": "<b>2</b>"}]


def test_without_pandas_the_error_says_what_to_install(table: mi.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="install pandas"):
        table.scan().to_pandas()


@pytest.mark.slow
def test_showing_loads_no_pandas(table: mi.Table) -> None:
    asked = f"import metaindex as mi, sys; t = mi.open_table({table.path!r}); " + "".join(
        f"repr({one}); {one}._repr_html_(); " for one in ("t.prune('t is null')", "t.scan('t is null')")
    )
    python("-c", asked + "assert 'pandas' not in sys.modules")


class Long(Shown):
    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


@given(st.text())
def test_any_text_stays_text(text: str) -> None:
    # A parser takes one line break at the beginning of <pre> away, as a browser does.
    assert Read(Long("x" + text)._repr_html_()).text == bounded("x" + text)
    assert Read(html_table([("a", False)], [[text]])).text == "a" + bounded(text)
    line = repr(Long(text))
    assert line.isprintable()
    assert len(line) <= BRIEF + len("<Long: >")


def test_a_long_answer_is_cut_and_says_so() -> None:
    many = Long("\n".join(map(str, range(LINES + 7))))
    assert prompted(many).splitlines()[LINES:] == ["... and 7 more lines; print() shows all"]
    assert len(prompted(Long("x" * 100_000))) < 5000
    assert "and 7 more" in html_table([("a", False)], [[str(n)] for n in range(LINES + 7)])


def test_a_snapshot_and_its_files_are_shown_shortly(tmp_path: Path) -> None:
    columns = {f"c{n}": [n] for n in range(50)}
    for n in range(60):
        pq.write_table(pa.table(columns), tmp_path / f"{n:02}.parquet")
    snapshot = mi.open_table(tmp_path).snapshot()
    told = str(snapshot)
    assert f"{tmp_path} (files) at version {snapshot.version}: 60 files, " in told
    assert "c0 (int64), c1 (int64)" in told
    assert told.endswith("and 30 more (.schema)")
    assert len(told) < 1000
    assert repr(snapshot.files).startswith("<FileTable: 60 files, ")
    files = str(snapshot.files).splitlines()
    assert files[0].startswith("60 files, ")
    assert files[1] == "  00.parquet"
    assert (len(files), files[-1]) == (22, "  ... and 40 more (.paths)")


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=6))
def test_a_row_is_a_line_and_nothing_is_cut_off(rows: list[tuple[str, str]]) -> None:
    lines = plain_table([Column("name"), Column("size", right=True)], rows).split("\n")
    assert len(lines) == 2 + len(rows)
    for line, row in zip(lines[2:], rows, strict=True):
        assert all(one_line(cell).rstrip() in line for cell in row)


@given(st.text(max_size=30))
def test_one_line_leaves_nothing_that_steers_a_terminal(text: str) -> None:
    assert one_line(text).isprintable()


def test_no_cell_of_a_drawn_table_steers_a_terminal() -> None:
    steers = "\x1b]0;title\x07\x1b[31mRED\x9b31m\u202ebidi\u2066"
    drawn = io.StringIO()
    Console(file=drawn, force_terminal=True, no_color=True).print(rich_table([Column(steers)], [(steers,)]))
    assert "\x07" not in drawn.getvalue()
    assert "\u202e" not in drawn.getvalue()
    assert "\x9b" not in drawn.getvalue()


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.binary()
        | st.datetimes()
        | st.decimals(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    )
)
def test_every_value_becomes_json(value: object) -> None:
    json.loads(json.dumps(json_value(value), allow_nan=False))

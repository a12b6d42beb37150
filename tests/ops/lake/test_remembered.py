"""Text files that nobody said how to read: what is told of their table reads them as its indexes do."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import metaindex as mi
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.tables import settle, settled


def semicolons(root: Path, part: int) -> None:
    (root / f"{part}.csv").write_text("number;note\n" + "".join(f"{part * 100 + n};n{n}\n" for n in range(9)))


def headless(root: Path, part: int) -> None:
    (root / f"{part}.csv").write_text("".join(f"{part * 100 + n},n{n}\n" for n in range(9)))


def doubled(root: Path, part: int) -> None:
    (root / f"{part}.csv").write_text("number,note\n" + "".join(f'{part * 100 + n},"a ""b"" {n}"\n' for n in range(9)))


def arrays(root: Path, part: int) -> None:
    rows = [{"number": part * 100 + n, "note": f"n{n}"} for n in range(9)]
    (root / f"{part}.json").write_text(json.dumps(rows, indent=1))


WRITTEN: dict[str, tuple[Callable[[Path, int], None], dict[str, object], str, str]] = {
    "semicolons": (semicolons, {"sep": ";"}, "sep=;", "number"),
    "headless": (headless, {"header": False}, "header=false", "_c0"),
    "doubled": (doubled, {"escape": '"'}, 'escape="', "number"),
    "arrays": (arrays, {"multiLine": True}, "multiLine=true", "number"),
}


def made(lake: Path, name: str, files: int = 4) -> Path:
    write, options, _, _ = WRITTEN[name]
    root = lake / name
    root.mkdir(parents=True)
    for part in range(files):
        write(root, part)
    settle(root)
    mi.open_table(root, **options).create_index("stats", mi.ColumnStats(), builder="local")
    return root


def test_pages_of_the_tables_of_a_lake_have_their_columns(tmp_path: Path, call: Call) -> None:
    lake = tmp_path / "lake"
    for name in WRITTEN:
        made(lake, name)
    pages = tmp_path / "pages"
    done = call("lake", str(lake), "--html", str(tmp_path / "lake.html"), "--reports", str(pages))
    assert "no page of" not in (tmp_path / "lake.html").read_text() + done.out
    for name, (*_, column) in WRITTEN.items():
        (page,) = pages.glob(f"{name}-*.html")
        text = page.read_text()
        assert f">{column}<" in text, name
        assert "is left out" not in text, "the page is told by the index"


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_told_of_a_table_is_told_as_its_indexes_read_it(tmp_path: Path, call: Call, name: str) -> None:
    root = made(tmp_path / "lake", name)
    _, _, _, column = WRITTEN[name]
    measured = mi.open_table(root).clustering()
    assert column in [each.column for each in measured.columns]
    assert call("report", str(root), "-o", str(tmp_path / "page.html")).code == 0
    assert f">{column}<" in (tmp_path / "page.html").read_text()
    assert mi.recommend(f"SELECT * FROM {name} WHERE {column} = 105", mi.open_table(root)).queries == 1
    assert mi.open_table(root).what_if(f"{column} = 105", mi.Values(column)).refused == 0


def test_a_command_of_a_lakes_advice_that_reads_rows_says_how(tmp_path: Path) -> None:
    root = settled(tmp_path / "lake" / "t", {f"{part}.csv": "number;note\n1;a\n9;b\n" for part in range(9)})
    mi.open_table(root, sep=";").create_index("stats", mi.ColumnStats(), builder="local")
    assert f"metaindex clustering {root} --format csv --option 'sep=;'" in mi.open_lake(root.parent)["t"].commands


def test_options_that_are_said_are_not_passed_over(tmp_path: Path) -> None:
    measured = mi.open_table(made(tmp_path / "lake", "semicolons"), sep="|").clustering()
    assert [column.column for column in measured.columns] == []

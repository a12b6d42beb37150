"""`Table.report` over real tables of every format, whole and broken ones: a page that says what is there, and what is
not. Nothing is written but the page."""

import json
import os
import re
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import metaindex as mi
from metaindex.cli import main
from metaindex.core import Column, Element, one_line
from tests.advisor.tables import filled_with, tree
from tests.pages import Parsed, parsed, readable
from tests.tables import FIVE, settle, settled

SECTIONS = ["files-title", "indexes-title", "layout-title"]


def rows(first: int, count: int = 50) -> pa.Table:
    ids = np.arange(first, first + count)
    return pa.table({"id": ids, "mod": ids % 7, "name": [f"name-{number * 37 % 1000:04d}" for number in ids]})


def filled(folder: Path, kind: str = "delta", files: int = 6) -> mi.Table:
    return filled_with((rows(number * 50) for number in range(files)), folder, kind)


def made(table: mi.Table, folder: Path, **more: object) -> Parsed:
    """The page, which a screen reader and a browser take."""
    target = folder / "report.html"
    done = table.report(target, **more)  # type: ignore[arg-type]
    page = target.read_text()
    assert done.size_bytes == len(page.encode()) < 1_000_000
    assert sorted(os.listdir(folder)) == sorted({*os.listdir(folder), "report.html"})
    found = parsed(page)
    readable(found)
    return found


def titles(page: Parsed) -> list[str]:
    return page.texts["h2"]


@pytest.mark.parametrize("kind", sorted(FIVE))
@pytest.mark.slow
def test_every_format_has_its_page_and_nothing_else_is_written(tmp_path: Path, kind: str) -> None:
    (tmp_path / "out").mkdir()
    table = filled(tmp_path, kind)
    table.create_index("stats", mi.ColumnStats(), mi.Values("id"), builder="local")
    before = tree(tmp_path)
    page = made(
        table, tmp_path / "out", where=["id = 7", "mod = 3 AND id > 200"], queries="SELECT id FROM lake WHERE id = 9"
    )
    after = tree(tmp_path)
    assert set(after) - set(before) == {str(tmp_path / "out" / "report.html")}
    assert {name: after[name] for name in before} == before
    about, lies = ["Files and versions", "Indexes", "How the files lie"], ["Savings", "Another layout"]
    asked = ["Ranges of the files", "What conditions keep", "The workload"]
    assert titles(page) == [*about, *asked, *lies]
    assert page.texts["h3"][:3] == ["id int64", "mod int64", "name string"] or page.texts["h3"][0].startswith("id ")
    assert "Reads 1 of 6 files (17%)" in page.text
    assert "No query is noted" in page.text
    assert any("values" in cell for cell in page.texts["td"])
    assert "What is missing" not in titles(page)


def test_a_table_without_an_index_says_how_to_make_one(tmp_path: Path) -> None:
    page = made(filled(tmp_path), tmp_path)
    assert f"metaindex create {tmp_path}/lake stats" in page.text
    parts = ["Files and versions", "Indexes", "How the files lie", "Ranges of the files", "Savings", "Another layout"]
    assert titles(page) == parts


def test_an_empty_table_and_one_of_one_file(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "none"), pa.table({"id": pa.array([], pa.int64())}))
    table = mi.open_table(tmp_path / "none")
    page = made(table, tmp_path, where="id = 1", queries="id = 1")
    assert "Reads 0 of 0 files" in page.text or "Reads 0 of 1 file" in page.text
    DeltaTable(str(tmp_path / "none")).delete()
    page = made(mi.open_table(tmp_path / "none"), tmp_path, where="id = 1")
    assert "The table has no files at this version." in page.text
    write_deltalake(str(tmp_path / "alone"), rows(0))
    page = made(mi.open_table(tmp_path / "alone"), tmp_path, where="id = 1")
    assert "Reads 1 of 1 file (100%)" in page.text
    assert "a table of one file has nothing to leave out" in page.text


def test_a_damaged_index_is_told_and_the_page_is_made(tmp_path: Path) -> None:
    table = filled(tmp_path)
    table.create_index("fine", mi.ColumnStats(), builder="local")
    table.create_index("hurt", mi.Values("id"), builder="local")
    for part in (tmp_path / "lake" / "_metaindex" / "hurt" / "_log").rglob("*"):
        if part.is_file():
            part.write_bytes(b"</table><script>")
    page = made(mi.open_table(tmp_path / "lake"), tmp_path, where="id = 7")
    assert any("DAMAGED" in cell for cell in page.texts["td"])
    assert "fine" in page.texts["th"]


def test_files_without_statistics(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    for number in range(3):
        pq.write_table(rows(number * 50), tmp_path / "lake" / f"{number}.parquet", write_statistics=False)
    settle(tmp_path / "lake")
    page = made(mi.open_table(tmp_path / "lake"), tmp_path, where="id = 7")
    assert "no column has bounds in any file" in page.text
    assert "Ranges of the files" not in titles(page)
    assert "Reads 3 of 3 files (100%)" in page.text


def test_savings_are_drawn_from_the_query_log(tmp_path: Path) -> None:
    filled(tmp_path)
    table = mi.open_table(tmp_path / "lake", config=mi.Config(query_log=True))
    table.create_index("ids", mi.Values("id"), builder="local")
    for number in range(5):
        table.prune(f"id = {number * 51}")
    page = made(table, tmp_path)
    assert "queries were helped" in page.text
    assert any("Bytes of helped queries" in words for words in page.texts["figcaption"])
    assert table.query_log().num_rows == 5, "a report is no query"


NASTY = '</script><img src=x onerror="a">\'&amp;\u202e\x07'


def test_names_of_strangers_stay_names(tmp_path: Path) -> None:
    """Of tables, columns and files, values and conditions."""
    lake = tmp_path / NASTY.replace("/", "_")
    datas = [pa.table({NASTY: [f"{NASTY}{number}", NASTY], "v": [1, number]}) for number in range(3)]
    settled(lake, {f"{number}{lake.name}.parquet": data for number, data in enumerate(datas)})
    table = mi.open_table(lake)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    quoted = NASTY.replace("'", "\\'")
    page = made(table, tmp_path, where=[f"`{NASTY}` = '{quoted}'", "v = 1"], queries=f"`{NASTY}` = '{quoted}1'")
    assert page.texts["h1"] == [one_line(lake.name)]
    assert any(words.startswith("</script><img") for words in page.texts["th"])
    assert "\u202e" not in page.text
    assert "\x07" not in page.text


@pytest.mark.slow
def test_a_wide_table_has_a_page_of_bounded_size(tmp_path: Path) -> None:
    wide = pa.table({f"c{number:04d}": [number, number + 1] for number in range(700)})
    for _ in range(2):
        write_deltalake(str(tmp_path / "lake"), wide, mode="append")
    page = made(
        mi.open_table(tmp_path / "lake"), tmp_path, where=f"{' AND '.join(f'c{n:04d} > 0' for n in range(200))}"
    )
    assert "640 columns more were not measured" in page.text
    assert len([words for words in page.texts["h3"] if words.startswith("c")]) >= 8


# -- where it may be written -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", ["lake/report.html", "lake/_metaindex/report.html", "lake/_x/report.html"])
def test_it_is_not_written_into_the_table_or_its_indexes(tmp_path: Path, inside: str) -> None:
    table = filled(tmp_path, files=1)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    (tmp_path / inside).parent.mkdir(exist_ok=True)
    (tmp_path / "link").symlink_to(tmp_path / "lake")
    for target in (tmp_path / inside, tmp_path / inside.replace("lake", "link", 1)):
        with pytest.raises(mi.ArgumentError, match="outside of the table and its indexes"):
            table.report(target)
    assert not list(tmp_path.rglob("*.html"))


def test_it_is_not_written_among_indexes_elsewhere(tmp_path: Path) -> None:
    filled(tmp_path, files=1)
    table = mi.open_table(tmp_path / "lake", config=mi.Config(index_location=str(tmp_path / "indexes")))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    folder = next(place for place in (tmp_path / "indexes").rglob("*") if place.is_dir())
    with pytest.raises(mi.ArgumentError, match="outside of the table and its indexes"):
        table.report(folder / "report.html")


def test_only_reports_are_replaced_and_no_link(tmp_path: Path) -> None:
    table = filled(tmp_path, files=1)
    target = tmp_path / "report.html"
    table.report(target)
    first = target.stat().st_ino
    table.report(target)
    assert target.stat().st_ino != first, "a new file in the place of the old one"
    target.write_text("<html>somebody else's</html>")
    with pytest.raises(mi.ArgumentError, match="a report replaces reports alone"):
        table.report(target)
    table.report(target, overwrite=True)
    (tmp_path / "link.html").symlink_to(target)
    with pytest.raises(mi.ArgumentError, match="replaces no link"):
        table.report(tmp_path / "link.html", overwrite=True)
    with pytest.raises(mi.ArgumentError, match="replaces no link"):
        table.report(tmp_path, overwrite=True)
    with pytest.raises(mi.ArgumentError, match="create it first"):
        table.report(tmp_path / "nowhere" / "report.html")
    for wrong in ("s3://lake/report.html", "", None, 7):
        with pytest.raises(mi.ArgumentError, match="local file"):
            table.report(wrong)  # type: ignore[arg-type]


def test_what_is_asked_wrongly_is_an_error_and_leaves_the_page_as_it_was(tmp_path: Path) -> None:
    table = filled(tmp_path, files=1)
    target = tmp_path / "report.html"
    table.report(target)
    before = target.read_bytes()
    for wrong in (
        {"where": "nothing = 1"},
        {"version": 99},
        {"indexes": ["none"]},
        {"where": ["id = 1"] * 51},
        {"sample": 7},
    ):
        with pytest.raises(mi.MetaIndexError):
            table.report(target, **wrong)  # type: ignore[arg-type]
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["report.html"]


def test_progress_goes_from_step_to_step(tmp_path: Path) -> None:
    said: list[tuple[str, int, int]] = []
    filled(tmp_path, files=1).report(tmp_path / "r.html", progress=lambda *told: said.append(told))
    assert [done for _, done, _ in said] == sorted(done for _, done, _ in said)
    assert said[-1] == ("writing the page", said[-1][2], said[-1][2])


def test_an_older_version(tmp_path: Path) -> None:
    table = filled(tmp_path)
    page = made(table, tmp_path, version=2, where="id >= 0")
    assert "3 files" in page.texts["p"][0]
    assert "Reads 3 of 3 files (100%)" in page.text


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(tmp_path)
    target = tmp_path / "report.html"
    (tmp_path / "q.sql").write_text("SELECT * FROM lake WHERE id = 4;\nSELECT 1 FROM other;")
    words = ["report", str(tmp_path / "lake"), "-o", str(target), "--where", "id = 7"]
    words += ["--queries", str(tmp_path / "q.sql")]
    assert main(words) == 0
    assert f"{target} written, " in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == str(target)
    target.write_text("mine")
    assert main(words) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main([*words, "--overwrite"]) == 0


def test_a_long_name_breaks_behind_its_signs() -> None:
    names = ["bloom_filters_device_and_another_site", "x" * 70, "a (b, c) of something_that is & long", "_" * 40]
    page = Element.grid("names", [Column("index"), Column("of")], [[name, "y"] for name in names]).html()
    cells = re.findall(r"<th scope=\"row\"[^>]*>(.*?)</th>", page)
    assert [unescape(cell.replace("<wbr>", "")) for cell in cells] == names
    assert cells[0] == "bloom_<wbr>filters_<wbr>device_<wbr>and_<wbr>another_<wbr>site"
    assert max(map(len, cells[1].split("<wbr>"))) <= 28

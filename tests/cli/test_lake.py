"""`metaindex lake` as a person and a program call it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.tables import delta_lake, indexed, rows

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / "lake" / name).mkdir(parents=True)
        indexed(delta_lake(tmp_path / "lake" / name)) if name == "a" else delta_lake(tmp_path / "lake" / name).append(
            rows(1)
        )
    return tmp_path / "lake"


def test_a_table_for_people_and_json_for_programs(lake: Path, call: Call) -> None:
    told = call("lake", lake)
    assert told.code == 0
    assert "2 tables, 2 files" in told.out
    assert "a/lake  delta" in told.out
    plain = call("lake", lake, "--json", "--no-layout").json
    assert [table["name"] for table in plain["tables"]] == ["a/lake", "b/lake"]
    assert plain["tables"][0]["indexes"][0]["verified_ms"] is None
    assert plain["tables"][0]["layout"] is None


def test_what_is_cut_off_says_where_it_stands_whole(lake: Path, call: Call) -> None:
    whole = "what is cut off (...) stands whole in"
    assert whole not in call("lake", lake, "--no-layout").out
    (log,) = (lake / "b" / "lake" / "_delta_log").glob("*0.json")
    log.write_text("no log")
    assert whole in call("lake", lake, "--no-layout").out
    problem = call("lake", lake, "--no-layout", "--json").json["tables"][1]["problem"]
    assert len(problem) > 60
    assert not problem.endswith("...")


def test_the_page_and_those_of_its_tables(lake: Path, tmp_path: Path, call: Call) -> None:
    page = tmp_path / "lake.html"
    told = call("lake", lake, "--html", page, "--reports", tmp_path / "pages")
    assert (told.code, page.exists()) == (0, True)
    assert "lake.html written" in told.err
    pages = sorted((tmp_path / "pages").iterdir())
    assert [each.name.rsplit("-", 1)[0] for each in pages] == ["a-lake", "b-lake"]
    assert f'href="./pages/{pages[0].name}"' in page.read_text()
    assert call("lake", lake, "--html", page).code == 0, "a page of ours is replaced"
    page.write_text("mine")
    told = call("lake", lake, "--html", page)
    assert (told.code, page.read_text()) == (1, "mine")
    assert "replaces reports alone" in told.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--reports", "x"], "name it by --html FILE"),
        (["--html", "lake.html", "--reports", "/elsewhere"], "lie below the folder of the lake's page"),
        (["--html", "s3://x/lake.html"], "a report is written to a local file"),
        (["--queries", "none.sql"], "none.sql"),
        (["--catalog-option", "uri=x"], "leave --catalog-option out"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    lake: Path, call: Call, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(lake.parent)
    told = call("lake", lake, *words)
    assert told.code == 1
    assert said in told.err
    assert told.err.count("error:") == 1


def test_a_page_is_not_written_among_the_files_of_a_table(lake: Path, call: Call) -> None:
    told = call("lake", lake, "--html", lake / "a" / "lake" / "x.html")
    assert told.code == 1
    assert "outside of the table" in told.err
    assert call("lake", lake, "--html", lake / "x.html").code == 0, "beside them it may lie"


@pytest.mark.slow
def test_watching_looks_again_until_it_is_stopped(lake: Path) -> None:
    words = [sys.executable, "-m", "metaindex", "lake", str(lake), "--watch", "--every", "0.1", "--json"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as watching:
        seen = ""
        while seen.count('"lake":') < 2:
            seen += watching.stdout.readline()
        watching.send_signal(signal.SIGTERM)
        watching.stdout.read()
    assert watching.returncode == 0
    first, _ = json.JSONDecoder().raw_decode(seen)
    assert len(first["tables"]) == 2

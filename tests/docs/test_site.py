"""The documentation as a site, where the tools that build it are installed: no warning, and pages that are opened as
files can be searched, ask no other host, and cut nothing off at the widths of a laptop and of a phone."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.browser import browser, needs_browser
from tests.processes import python

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(find_spec("mkdocs") is None, reason="make docs installs the tools of the site"),
]
WIDER = """[...document.querySelectorAll(".md-content pre code, .md-content table")]
    .filter(element => element.scrollWidth > element.clientWidth + 1).map(element => element.innerText.slice(0, 60))"""
HITS = """new Promise(done => {
    const look = () => {
        const hits = document.querySelectorAll(".md-search-result__item, [data-md-component=search-result] li")
        hits.length ? done(hits.length) : setTimeout(look, 50)
    }
    look()
})"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    words = ["-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    python(*words, cwd=ROOT)
    return folder


def test_the_site_has_the_reference(site: Path) -> None:
    assert "metaindex.open_table" in (site / "reference" / "python.html").read_text()
    assert "metaindex.Table.prune" in (site / "reference" / "table.html").read_text()
    assert "metaindex create" in (site / "reference" / "command-line.html").read_text()
    assert "REPAIR INDEX [IF EXISTS] name ON table" in (site / "reference" / "statements.html").read_text()
    assert not (site / "decisions").exists()


@needs_browser
def test_a_page_that_is_a_file_is_searched(site: Path, tmp_path: Path) -> None:
    with browser(tmp_path) as shown:
        shown.open(f"file://{site}/guides/needle.html?q=false+positive")
        assert shown.run(HITS) > 5
        assert [asked for asked in shown.requests if not asked.startswith(("file:", "data:"))] == []


@needs_browser
def test_nothing_is_cut_off(site: Path, tmp_path: Path) -> None:
    with browser(tmp_path) as shown:
        for page in sorted(site.rglob("*.html")):
            for width in (1280, 390):
                shown.open(f"file://{page}", width=width)
                assert shown.run("document.documentElement.scrollWidth - innerWidth") <= 0, f"{page.name} at {width}"
                assert shown.run(WIDER) == [], f"{page.name} at {width}"

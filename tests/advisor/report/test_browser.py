"""A report as a browser shows it: at two widths, in both schemes, on paper, by keys, and to who hears it. With
`METAINDEX_PICTURES=folder` it leaves pictures for whoever changed the page."""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake

import metaindex as mi
from tests.browser import Browser, browser, needs_browser

pytestmark = [needs_browser, pytest.mark.slow]

LOOKS = [(width, dark) for width in (390, 1280) for dark in (False, True)]
NASTY = "</code></main><script>document.title = 'evil'</script><img src='http://127.0.0.1:9/x' onerror='evil=1'>"

CONTRAST = """
(() => {
  const channels = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = rgb => {
    const linear = c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = rgb.slice(0, 3).map(c => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = node => {
    for (; node; node = node.parentElement) {
      const colour = channels(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return channels(getComputedStyle(document.documentElement).getPropertyValue('background-color'));
  };
  const seen = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement, style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    if (!walk.currentNode.textContent.trim() || !box.width || style.visibility === 'hidden') continue;
    const colour = channels(element.closest('svg') ? style.fill : style.color);
    const [a, b] = [light(colour), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    seen.push([ratio, parseFloat(style.fontSize), walk.currentNode.textContent.trim().slice(0, 40)]);
  }
  return seen;
})()
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a report that has all of its parts, and names of strangers in it."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(7)
    for day in range(60):
        at = np.sort(rng.integers(day * 86_400, (day + 1) * 86_400, 500)) * 1_000_000
        columns = {"at": pa.array(at, pa.timestamp("us")), "device": rng.integers(0, 9_000, 500), NASTY: [NASTY] * 500}
        write_deltalake(str(folder / "readings"), pa.table(columns), mode="append")
    table = mi.open_table(folder / "readings", config=mi.Config(query_log=True))
    table.create_index("devices", mi.Values("device"), builder="local")
    table.create_index("stats", mi.ColumnStats("at"), builder="local")
    for device in range(20):
        table.prune(f"device = {device}")
    write_deltalake(str(folder / "readings"), pa.table(columns), mode="append")
    where = ["device = 4711 AND at >= '1970-02-01'", f'`{NASTY}` = "{NASTY}"']
    table.report(folder / "report.html", where, queries=["SELECT at FROM readings WHERE device = 5"])
    return (folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser") / "user") as opened:
        yield opened


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_nothing_is_complained_of_or_asked_for_and_all_can_be_read(
    shown: Browser, page: str, width: int, dark: bool
) -> None:
    shown.open(page, width=width, dark=dark)
    assert shown.run("document.documentElement.scrollWidth") <= width
    assert shown.run("getComputedStyle(document.body).backgroundColor") == (
        "rgb(21, 24, 28)" if dark else "rgb(255, 255, 255)"
    )
    shown.run("document.querySelectorAll('details').forEach(each => { each.open = true })")
    texts = shown.run(CONTRAST)
    assert len(texts) > 200
    assert [text for text in texts if text[0] < 4.5] == []
    assert [text for text in texts if text[1] < 12] == []
    assert shown.run("document.documentElement.scrollWidth") <= width, "with all numbers open"
    if folder := os.environ.get("METAINDEX_PICTURES"):
        shown.open(page, width=width, dark=dark)
        shown.picture(Path(folder) / f"report-{width}-{'dark' if dark else 'light'}.png")
    assert shown.requests == [page]
    assert shown.complaints == []


def test_what_strangers_wrote_is_read_and_not_run(shown: Browser, page: str) -> None:
    shown.open(page)
    assert shown.run("document.title") == "readings"
    assert shown.run("typeof evil") == "undefined"
    assert shown.run("document.querySelectorAll('script, img, iframe, object, link, form, input').length") == 0
    assert NASTY in shown.run("document.body.innerText")


def test_the_policy_refuses_what_is_put_into_the_page_later(shown: Browser, page: str) -> None:
    """As an extension, or a proxy on the way, might do: even then it loads and runs nothing."""
    shown.open(page)
    put = "const s = document.createElement('script'); s.textContent = 'window.evil = 1'; document.body.append(s);"
    shown.run(f"{put} const i = new Image(); i.src = 'http://127.0.0.1:9/x'; document.body.append(i); 0")
    assert shown.run("typeof evil") == "undefined"
    shown.until(lambda: len(shown.refused) == 1 and len(shown.complaints) >= 2)
    assert shown.refused == ["http://127.0.0.1:9/x"]
    assert all("Content Security Policy" in words for words in shown.complaints)


@pytest.mark.parametrize("width", [390, 1280])
def test_who_hears_the_page_is_told_what_is_what(shown: Browser, page: str, width: int) -> None:
    shown.open(page, width=width)
    nodes = [node for node in shown.call("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
    named = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes]
    roles = [role for role, _ in named]
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert roles.count(landmark) == 1
    assert roles.count("region") == shown.run("document.querySelectorAll('section').length")
    tables = [name for role, name in named if role == "table"]
    assert len(tables) >= 8
    assert all(tables), "each has its caption as its name"
    assert {"columnheader", "rowheader", "cell"} <= set(roles)
    pictures = [name for role, name in named if role in ("image", "img")]
    assert len(pictures) >= 5
    assert all("the numbers are in the table below" in name.lower() for name in pictures)
    levels = shown.run("[...document.querySelectorAll('h1,h2,h3')].map(each => +each.tagName[1])")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_keys_go_through_the_page_in_its_order(shown: Browser, page: str) -> None:
    shown.open(page)
    order = "[...document.querySelectorAll('a, summary, [tabindex]')]"
    expected = shown.run(f"{order}.length")
    visited = []
    for _ in range(expected):
        for kind in ("rawKeyDown", "keyUp"):
            shown.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        visited.append(shown.run(f"{order}.indexOf(document.activeElement)"))
        assert shown.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert visited == list(range(expected))


def test_on_paper_it_is_light_and_its_numbers_are_open(shown: Browser, page: str) -> None:
    shown.open(page, dark=True)
    printed = shown.printed()
    assert printed.startswith(b"%PDF")
    assert shown.complaints == []
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    shown.call("Emulation.setEmulatedMedia", media="print", features=dark)
    assert shown.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert shown.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert shown.run("document.querySelector('details table').getBoundingClientRect().height") > 20
    if folder := os.environ.get("METAINDEX_PICTURES"):
        (Path(folder) / "report.pdf").write_bytes(printed)

"""The page of a lake as a browser shows it: at two widths, in both schemes, on paper, by keys, to who hears it, and
with names that strangers chose. With `METAINDEX_PICTURES=folder` it leaves pictures for whoever changed the page."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import metaindex as mi
from tests.advisor.report.test_browser import CONTRAST, LOOKS
from tests.browser import Browser, browser, needs_browser
from tests.tables import delta_lake, indexed, parquet_lake, rows

pytestmark = [needs_browser, pytest.mark.slow]

NASTY = (
    "<img src=x onerror=window.evil=1>",
    '"><script>window.evil=2<\u2215script>',
    "javascript:window.evil=3",
    "x' onmouseover='window.evil=4",
    "a\u202egpj.exe",
    "-->]]>&lt;b&gt;%3Cb%3E",
)
NAMES = "[...document.querySelectorAll('tbody tr')].filter(row => !row.hidden).map(row => row.cells[0].textContent)"
STATUS = "document.querySelector('[role=status]').textContent"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of tables whose names are hostile, tables of many sizes, some behind, one damaged; and their pages."""
    folder = tmp_path_factory.mktemp("page")
    lake = folder / "lake"
    for name in NASTY:
        parquet_lake(lake / name).append(rows(1))
    for number in range(6):
        table = delta_lake(lake / f"t{number}")
        if number < 3:
            indexed(table)
        for commit in range(number + 1):
            table.append(rows(10 * commit))
    (lake / "t5" / "lake" / "_delta_log" / f"{0:020}.json").write_text("{")
    noted = mi.open_table(lake / "t0" / "lake", config=mi.Config(query_log=True))
    noted.refresh_index("stats", builder="local")
    noted.prune("id = 3")
    mi.open_lake(lake).report(folder / "lake.html", reports=folder / "pages")
    return folder / "lake.html"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser") / "user") as opened:
        yield opened


def press(shown: Browser, key: str, code: int, text: str = "") -> None:
    for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
        shown.call(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text or None
        ) if text else shown.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)


def typed(shown: Browser, text: str) -> None:
    shown.call("Input.insertText", text=text)


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_nothing_is_complained_of_or_asked_for_and_all_can_be_read(
    shown: Browser, page: Path, width: int, dark: bool
) -> None:
    shown.open(page.as_uri(), width=width, dark=dark)
    assert shown.run("document.documentElement.scrollWidth") <= width
    texts = shown.run(CONTRAST)
    assert len(texts) > 100
    assert [text for text in texts if text[0] < 4.5] == []
    assert [text for text in texts if text[1] < 12] == []
    if folder := os.environ.get("METAINDEX_PICTURES"):
        shown.picture(Path(folder) / f"lake-{width}-{'dark' if dark else 'light'}.png")
    assert shown.requests == [page.as_uri()]
    assert shown.complaints == []


def test_names_of_strangers_are_read_and_not_run(shown: Browser, page: Path) -> None:
    shown.open(page.as_uri())
    names = shown.run(NAMES)
    assert len(names) == 12
    assert {f"{name}/lake" for name in NASTY if name.isprintable()} <= set(names)
    assert "a\\u202egpj.exe/lake" in names, "what turns letters round is written as an escape"
    shown.run("document.querySelectorAll('tbody tr, tbody a').forEach(e => e.dispatchEvent(new Event('mouseover')))")
    assert shown.run("typeof evil") == "undefined"
    assert shown.run("document.querySelectorAll('img, iframe, object, link, form').length") == 0
    assert shown.run("document.querySelectorAll('script').length") == 1
    links = shown.run("[...document.querySelectorAll('tbody a')].map(link => [link.protocol, link.pathname])")
    assert len(links) == 11, "of every table that can be read"
    assert {protocol for protocol, _ in links} == {"file:"}
    assert all(Path(path).is_file() and Path(path).parent == page.parent / "pages" for _, path in links)
    for name in NASTY[:3]:  # they lead where they say, and nothing runs there either
        at = names.index(f"{name}/lake")
        shown.open(shown.run(f"document.querySelectorAll('tbody tr')[{at}].querySelector('a').href"))
        assert f"{name}/lake" in shown.run("document.querySelector('header').textContent")
        assert shown.run("typeof evil") == "undefined"
        shown.open(page.as_uri())


def test_its_policy_runs_its_own_script_alone(shown: Browser, page: Path) -> None:
    shown.open(page.as_uri())
    put = "const s = document.createElement('script'); s.textContent = 'window.evil = 1'; document.body.append(s);"
    shown.run(f"{put} const i = new Image(); i.src = 'http://127.0.0.1:9/x'; document.body.append(i); 0")
    shown.until(lambda: len(shown.refused) == 1 and len(shown.complaints) >= 2)
    assert shown.run("typeof evil") == "undefined"
    assert shown.refused == ["http://127.0.0.1:9/x"]


def test_it_is_filtered_by_keys(shown: Browser, page: Path) -> None:
    shown.open(page.as_uri())
    assert shown.run(STATUS) == "12 tables"
    press(shown, "/", 191, "/")
    assert shown.run("document.activeElement.type") == "search"
    typed(shown, "delta T1")
    assert shown.run(NAMES) == ["t1/lake"]
    assert shown.run(STATUS) == "1 of 12 tables"
    press(shown, "Escape", 27)
    assert shown.run(STATUS) == "12 tables"
    typed(shown, "<img")
    assert shown.run(NAMES) == [f"{NASTY[0]}/lake"]
    press(shown, "Escape", 27)
    press(shown, "Tab", 9)
    assert shown.run("document.activeElement.textContent") == "with a problem (1)"
    press(shown, " ", 32, " ")
    assert shown.run(NAMES) == ["t5/lake"]
    assert shown.run("document.activeElement.getAttribute('aria-pressed')") == "true"
    press(shown, " ", 32, " ")
    assert shown.run(STATUS) == "12 tables"


def test_it_is_sorted_by_keys_and_says_so(shown: Browser, page: Path) -> None:
    shown.open(page.as_uri())
    heads = shown.run("[...document.querySelectorAll('thead th')].map(head => head.textContent)")
    shown.run(f"document.querySelectorAll('thead button')[{heads.index('files')}].focus()")
    press(shown, "Enter", 13, "\r")
    files = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[2].textContent)"
    down = shown.run(files)
    assert down[:4] == ["5", "4", "4", "3"]
    assert down[-1] == "", "what is not known comes last"
    assert shown.run("document.activeElement.parentElement.ariaSort") == "descending"
    press(shown, "Enter", 13, "\r")
    up = shown.run(files)
    assert (up[0], up[-2:]) == ("1", ["5", ""])
    assert shown.run("document.activeElement.parentElement.ariaSort") == "ascending"
    assert shown.run("document.querySelectorAll('[aria-sort]').length") == 1
    shown.run("document.querySelectorAll('thead button')[0].click()")
    assert shown.run(NAMES) == sorted(shown.run(NAMES), key=str.lower)


def test_on_a_phone_rows_are_cards_and_the_order_is_chosen_from_a_list(shown: Browser, page: Path) -> None:
    shown.open(page.as_uri(), width=390)
    assert shown.run("getComputedStyle(document.querySelector('select').parentElement).display") != "none"
    shown.run("const s = document.querySelector('select'); s.value = '2'; s.dispatchEvent(new Event('change')); 0")
    assert shown.run(NAMES)[0] in ("t4/lake",)
    small = shown.run("[...document.querySelectorAll('.picking button')].map(b => b.getBoundingClientRect().height)")
    assert min(small) >= 44, "for a finger"
    assert shown.run("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("width", [390, 1280])
def test_who_hears_the_page_is_told_what_is_what(shown: Browser, page: Path, width: int) -> None:
    shown.open(page.as_uri(), width=width)
    nodes = [node for node in shown.call("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
    named = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes]
    roles = [role for role, _ in named]
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert roles.count(landmark) == 1
    assert [name for role, name in named if role == "table"] == ["Tables of the lake"]
    assert {"rowheader", "cell", "columnheader"} <= set(roles)
    assert ("searchbox", "Filter") in named
    assert roles.count("status") == 1
    buttons = [name for role, name in named if role == "button"]
    assert "with a problem (1)" in buttons
    assert all(buttons)


def test_keys_reach_all_that_can_be_pressed(shown: Browser, page: Path) -> None:
    shown.open(page.as_uri())
    order = "[...document.querySelectorAll('a, button, input, select, [tabindex]')].filter(e => e.offsetParent)"
    expected = shown.run(f"{order}.length")
    visited = []
    for _ in range(expected):
        press(shown, "Tab", 9)
        visited.append(shown.run(f"{order}.indexOf(document.activeElement)"))
        assert shown.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert visited == list(range(expected))


def test_on_paper_it_is_light_and_whole(shown: Browser, page: Path) -> None:
    shown.open(page.as_uri(), dark=True)
    printed = shown.printed()
    assert printed.startswith(b"%PDF")
    shown.call(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert shown.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    for hidden in ("nav", ".picking"):
        assert shown.run(f"getComputedStyle(document.querySelector('{hidden}')).display") == "none"
    if folder := os.environ.get("METAINDEX_PICTURES"):
        (Path(folder) / "lake.pdf").write_bytes(printed)


def test_without_its_script_it_is_the_same_table(shown: Browser, page: Path) -> None:
    shown.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        shown.open(page.as_uri())
        nodes = [node for node in shown.call("Accessibility.getFullAXTree")["nodes"] if not node["ignored"]]
        roles = [node["role"]["value"] for node in nodes]
        assert roles.count("rowheader") == 12
        assert "searchbox" not in roles
    finally:
        shown.call("Emulation.setScriptExecutionDisabled", value=False)

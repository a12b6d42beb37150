"""The markup of a lake's page: whatever tables, columns and errors are called, it has our elements, one script of ours,
and the names as they are."""

import base64
import hashlib
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.advisor import Spared
from metaindex.advisor.figures import STYLE
from metaindex.core import Element
from metaindex.core.figures import said
from metaindex.ops.lake.answer import Lake, LakeIndex, LakeLayout, LakeTable
from metaindex.ops.lake.page import SCRIPT, page_of
from metaindex.table import IndexInfo
from tests.pages import ATTRIBUTES, ELEMENTS, Parsed, readable

words = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["</script><script>evil()</script>", "<!--", "]]>", "' onload='x", "javascript:x", "\u202e", "\ud800"]
    ),
)
counts = st.none() | st.integers(0, 10**15)


@st.composite
def tables(draw: st.DrawFn) -> LakeTable:
    index = LakeIndex(
        IndexInfo(
            draw(words), "ACTIVE", fresh=draw(st.none() | st.booleans()), new_files=draw(counts), problem=draw(words)
        ),
        behind_commits=draw(counts),
    )
    return LakeTable(
        name=draw(words),
        path=draw(words),
        format=draw(st.sampled_from(["", "delta", "csv"])),
        committed_ms=draw(counts),
        files=draw(counts),
        size_bytes=draw(counts),
        indexes=draw(st.sampled_from([(), (index,), (index,) * 5])),
        savings=draw(st.none() | st.just(Spared(3, 1, 1, 2, 100, 900))),
        unused=tuple(draw(st.lists(words, max_size=2))),
        layout=draw(st.none() | st.builds(LakeLayout, words, st.floats(0, 1), st.floats(0, 9), st.just(1))),
        advice=tuple(draw(st.lists(words, max_size=2))),
        problem=draw(words),
        report=draw(st.sampled_from(["", Element.link_to("pages", "a b.html")])),
    )


@given(place=words, rows=st.lists(tables(), max_size=4), notes=st.lists(words, max_size=2))
def test_whatever_it_is_told_the_page_is_ours(place: str, rows: list[LakeTable], notes: list[str]) -> None:
    html = page_of(Lake(place, tuple(rows), 1, notes=tuple(notes))).html()
    page = Parsed()
    page.feed(html)
    page.close()
    readable(page)
    assert set(page.elements) <= ELEMENTS | {"script"}
    assert page.texts["script"] == [SCRIPT]
    names = {name for each in page.elements.values() for attributes in each for name in attributes}
    assert names <= ATTRIBUTES | {"data-value", "data-marks", "data-noun", "data-mark", "data-rows", "hidden"}
    assert all(link["href"].startswith(("#", "./pages/")) for link in page.elements["a"])
    shown = [
        text.strip()
        for text, cell in zip(page.texts.get("th", []), page.elements.get("th", []), strict=True)
        if cell["scope"] == "row"
    ]
    assert shown == [said(row.name).strip() for row in rows]


@given(parts=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), min_size=1, max_size=4))
def test_a_link_leads_to_the_file_and_nowhere_else(parts: list[str]) -> None:
    address = Element.link_to("/".join(parts[:-1]), parts[-1])
    assert address.startswith("./")
    assert not set(address) & set("\"'<>&?#: \\")
    expected = [part for part in "/".join([*parts[:-1]]).split("/") if part not in ("", ".")]
    if parts[-1] not in (".",):
        assert unquote(address[2:]).split("/") == "/".join([*expected, parts[-1]]).split("/")


def test_its_policy_names_its_script_and_its_style() -> None:
    html = page_of(Lake("/lake", (), 1)).html()
    for text, kind in ((SCRIPT, "script"), (STYLE, "style")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in html
    assert "default-src 'none'" in html
    assert "unsafe" not in html


@pytest.mark.slow
def test_a_large_lake_makes_a_page_of_bounded_size() -> None:
    rows = tuple(LakeTable(f"t{number}", f"/lake/t{number}", "delta", "1", 1, 10, 1000) for number in range(12_000))
    html = page_of(Lake("/lake", rows, 1)).html()
    assert "... and 2,000 more, which are not shown" in html
    assert len(html) < 20_000_000

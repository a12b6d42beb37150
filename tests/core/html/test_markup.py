"""No text becomes markup, whatever it is, wherever it stands."""

import base64
import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.advisor import Page, Section
from metaindex.advisor.figures import ColumnChart, Strip, Tick, columns_figure, strip_figure
from metaindex.core import Column, Element
from metaindex.core.figures import LONGEST, MOST_ROWS, said
from metaindex.core.texts import one_line
from tests.pages import Parsed, parsed, readable

HOSTILE = st.sampled_from(
    [
        "</script><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "' onload='alert(1)",
        "<!-- ",
        "]]>",
        "</style><style>*{}",
        "&lt;b&gt;",
        "&#60;",
        "<svg/onload=1>",
        "javascript:alert(1)",
        "\u202eevil\u202c",
        "\u2066",
        "\x00\x01\x1b[31m",
        "\ud800",
        "\uffff",
        "a\nb\r\nc",
        "\u2028",
        "%s {x} \\",
        "",
    ]
)
TEXT = st.one_of(st.text(max_size=30), HOSTILE, st.tuples(HOSTILE, st.text(max_size=5), HOSTILE).map("".join))


def page(text: str) -> Page:
    """A page that has the text wherever one may stand."""
    headings = [Column(text), Column(text, right=True)]
    table = Element.grid(text, headings, [[text, Element.cell(text, share=0.5)], [Element("code", text), text]])
    columns = ColumnChart(
        text, [text, f"{text}2"], [1.0, 2.0], [0.5, 0.0], lambda value: text, (text, text, text), text
    )
    strip = Strip(text, text, [(0.1, 0.9)], [1.0], 1, [Tick(0.0, text, 1, drawn=True)])
    parts = (
        table,
        Element.facts([(text, text or "x")]),
        Element.listed([text]),
        columns_figure(columns),
        strip_figure(strip),
        Element.pre(text),
    )
    return Page(text, (Element("p", text),), [Section("all", text, parts)], (Element("p", text),))


@given(text=TEXT)
def test_a_page_has_the_elements_of_ours_alone_and_the_text_as_it_is(text: str) -> None:
    found, empty = parsed(page(text).html()), parsed(page("x").html())
    counts = {name: len(each) for name, each in found.elements.items() if name != "wbr"}  # where a long name may break
    assert counts == {name: len(each) for name, each in empty.elements.items()}
    # What is no text of strangers is the same: classes, roles, the policy, the style.
    assert found.texts["style"] == empty.texts["style"]
    assert _ours(found) == _ours(empty)
    assert found.texts["caption"][0] == said(text)
    assert found.texts["pre"][0].split("\n") == [one_line(line) for line in text.split("\n")]
    assert found.text.replace("\n", "").isprintable()


def _ours(page: Parsed) -> list[list[list[str]]]:
    """The attributes of each element; a class is all that depends on how long a text is."""
    return [
        [sorted(set(each) - {"class"}) for each in elements]
        for name, elements in page.elements.items()
        if name != "wbr"
    ]


def test_a_page_can_be_heard() -> None:
    readable(parsed(page("words").html()))


def test_the_policy_forbids_all_but_the_style_that_is_there() -> None:
    found = parsed(page("x").html())
    policy = next(meta["content"] for meta in found.elements["meta"] if meta.get("http-equiv"))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    digest = base64.b64encode(hashlib.sha256(found.texts["style"][0].encode()).digest()).decode()
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert not re.search(r"url\(|@import|expression", found.texts["style"][0])


def test_long_texts_and_tables_are_cut_and_counted() -> None:
    assert len(said("x" * 100_000)) < LONGEST + 40
    assert said("x" * 100_000).endswith("(100,000 characters)")
    found = parsed(Element.grid("many", [Column("a")], [[f"{n}"] for n in range(MOST_ROWS + 7)], more=3).html())
    assert len(found.elements["td"] if "td" in found.elements else found.elements["th"]) == MOST_ROWS + 1
    assert found.texts["p"] == ["... and 10 more, which are not shown"]


@given(text=TEXT, share=st.floats(-1, 2))
def test_a_picture_of_a_notebook_says_its_sides_and_nothing_else(text: str, share: float) -> None:
    element = Element.grid(text, [Column(text), Column("n", right=True)], [[text, Element.cell(text, share=share)]])
    shown = element._repr_html_()
    styles = {each["style"] for elements in _cells(shown) for each in elements}
    assert styles == {"text-align: right", "text-align: left"}
    assert (
        " style=" not in Element.grid("x", [Column("x", right=True)], [["x"]]).html()
    )  # a page's policy would refuse it
    for svg in re.findall(r'width="([0-9.]+)" height="12"', shown):
        assert 0 <= float(svg) <= 100


def _cells(shown: str) -> list[list[dict[str, str]]]:
    found = Parsed()
    found.feed(shown)
    return [found.elements[name] for name in ("th", "td", "caption")]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 60])
def test_columns_of_any_number_are_drawn(count: int) -> None:
    names = [f"d{n}" for n in range(count)]
    columns = ColumnChart("t", names, [float(n) for n in range(count)], [], "{:.0f}".format, ("day", "n"), "s")
    found = parsed(columns_figure(columns).html())
    assert len(found.elements.get("rect", [])) == max(count - 1, 0)  # nothing is drawn of nothing
    assert len(found.elements["tr"]) == count + 1

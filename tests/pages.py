"""Pages as they are parsed: every element and attribute that a browser would see, and the text between."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "header", "nav", "main", "footer", "section"),
    *("h1", "h2", "h3", "p", "ul", "li", "a", "code", "pre", "small", "strong", "span", "div"),
    *("dl", "dt", "dd", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"),
    *("details", "summary", "svg", "rect", "path", "line", "text", "wbr"),
}
"""All that a page of ours is made of: nothing that runs, and nothing that fetches."""

ATTRIBUTES = {
    *("lang", "charset", "name", "content", "http-equiv", "class", "id", "href", "role", "scope", "tabindex"),
    *(
        "aria-label",
        "aria-labelledby",
        "aria-hidden",
        "data-label",
        "width",
        "height",
        "x",
        "y",
        "x1",
        "x2",
        "y1",
        "y2",
    ),
    *("fill", "fill-opacity", "stroke", "d", "viewbox", "preserveaspectratio", "text-anchor", "font-size"),
}

VOID = {"meta", "wbr"}


@dataclass
class Parsed(HTMLParser):
    """`texts`: of each element by its name, in order; `sections`: the anchors of sections."""

    elements: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.setdefault(tag, []).append({name: value or "" for name, value in attrs})
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in self.open:
            self.texts[tag][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a page of ours has no comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"a page of ours has no such instruction: {data}")

    @property
    def text(self) -> str:
        return self.texts["html"][0]


def parsed(page: str) -> Parsed:
    """The page; AssertionError where it has what no page of ours has."""
    found = Parsed()
    found.feed(page)
    found.close()
    assert found.open == []
    assert set(found.elements) <= ELEMENTS
    for element, each in found.elements.items():
        for attributes in each:
            assert set(attributes) <= ATTRIBUTES, (element, attributes)
            assert attributes.get("href", "#").startswith("#")
    ids = [attributes["id"] for each in found.elements.values() for attributes in each if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert {a["href"][1:] for a in found.elements.get("a", [])} <= set(ids)
    return found


def readable(page: Parsed) -> None:
    """What a screen reader goes by: landmarks, headings in their order, named tables, pictures with words."""
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(page.elements[landmark]) == 1
    assert len(page.elements["section"]) == len(page.elements["h2"])
    assert len(page.elements.get("caption", [])) == len(page.elements.get("table", []))
    assert all(page.texts.get("caption", []))
    assert all(cell["scope"] in ("row", "col") for cell in page.elements.get("th", []))
    pictures = [svg for svg in page.elements.get("svg", []) if "class" in svg]
    assert all(svg.get("aria-hidden") == "true" or svg["aria-label"] for svg in pictures)
    assert page.elements["html"] == [{"lang": "en"}]

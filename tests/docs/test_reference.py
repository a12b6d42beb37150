"""The reference has each method of Table with its parameters and an example, and its examples run."""

import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import metaindex as mi
from metaindex.index import KINDS
from metaindex.query import TableReader
from tests.processes import python

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
STORAGE = REFERENCE.parent / "storage"
METHODS = {
    name: method
    for half in (TableReader, mi.Table)
    for name, method in vars(half).items()
    if inspect.isfunction(method) and name[0] != "_" and method.__name__ == name  # no second name
}


def sections() -> dict[str, str]:
    """What follows each method's directive."""
    found = re.split(r"^::: metaindex\.Table\.(\w+)\n", (REFERENCE / "table.md").read_text(), flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def described(text: str) -> set[str]:
    """The parameters in the first column of tables."""
    rows = re.findall(r"^\| (`[^|]*`) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_each_method_has_a_section_with_an_example() -> None:
    found = sections()
    assert found.keys() == METHODS.keys()
    assert [name for name, text in found.items() if "```python\n" not in text or f".{name}(" not in text] == []


@pytest.mark.parametrize("name", METHODS)
def test_each_parameter_is_described(name: str) -> None:
    shared = described((REFERENCE / "table.md").read_text().partition("## The table")[0])
    asked = set(inspect.signature(METHODS[name]).parameters) - {"self"}
    assert asked <= shared | described(sections()[name])
    assert described(sections()[name]) <= asked


@pytest.mark.parametrize("page", ["table", "python"])
def test_each_name_is_there(page: str) -> None:
    for name in re.findall(r"^::: ([\w.]+)$", (REFERENCE / f"{page}.md").read_text(), re.MULTILINE):
        assert pkgutil.resolve_name(name) is not None


@pytest.mark.parametrize("page", ["table", "python"])
@pytest.mark.slow
def test_the_examples_run(page: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (REFERENCE / f"{page}.md").read_text(), re.DOTALL | re.MULTILINE)
    python("-c", "\n".join(blocks), cwd=tmp_path)


def test_the_storage_pages_list_what_layouts_of_keys_have() -> None:
    """A reader leaves out a key whose layout has a name that they do not list."""
    pages = "".join(page.read_text() for page in sorted(STORAGE.glob("*.md")))
    told = set(re.findall(r"`(\w+)`", pages))
    stored = {each for kind in KINDS for each in kind.stored()}
    assert len(stored) > 5
    assert {name for each in stored for name in each.layout.names} <= told

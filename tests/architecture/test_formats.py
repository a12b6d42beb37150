"""Nobody outside the formats knows one by its name or class: a new format is one folder and one line."""

import ast
from collections.abc import Iterator

from metaindex.formats import Format
from metaindex.formats.names import FILES, FORMATS
from tests.architecture.sources import nodes, package

CLASSES = {of.rpartition(".")[2] for of in FORMATS.values()}
CLASSES |= {name.replace("Format", "Details") for name in CLASSES} | {"Delta", "Iceberg", "Files"}
FREE = ("metaindex/formats/", "metaindex/spark/optimizer/", "metaindex/spark/readers/", "metaindex/cli/flights/")
"""The formats themselves, the scans of Spark, which are classes of their own, and the demo."""
NAMED = {
    "metaindex/ops/hooks/after_commit.py": 2,  # hooks of the formats' own libraries
    "metaindex/spark/frames.py": 2,  # opens the table that a DataFrame reads
    "metaindex/spark/jars.py": 2,
    "metaindex/spark/pins.py": 2,  # jars of a format's own library, whatever Sparks there are
}
"""How often a module may name a format: may only fall."""
SAID = {"format", "format_", "table_format", "found"}
"""Names of what holds the name of a format. `files` is a word of every day: it counts only beside one of these."""


def named(text: str) -> Iterator[int]:
    """Yield the lines that name a format: its own words, its class in a test, or `files` compared with a format."""
    for node in nodes(text):
        match node:
            case ast.Constant(value=str(word)) if word in FORMATS and word != FILES:
                yield node.lineno
            case ast.Compare():
                sides = [node.left, *node.comparators]
                if any(map(_is_files, sides)) and any(map(_holds_a_format, sides)):
                    yield node.lineno
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
                if any(isinstance(part, ast.Name) and part.id in CLASSES for part in ast.walk(kind)):
                    yield node.lineno
            case _:
                pass


def guessed(text: str) -> Iterator[int]:
    """Yield the lines at which a `match` distinguishes formats, by class or by name."""
    for node in nodes(text):
        match node:
            case ast.MatchClass(cls=ast.Name(id=name)) if name in CLASSES:
                yield node.lineno
            case ast.Match(subject=subject) if _holds_a_format(subject):
                yield node.lineno
            case _:
                pass


def _is_files(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Constant) and part.value == FILES for part in ast.walk(node))


def _holds_a_format(node: ast.AST) -> bool:
    return any(
        (isinstance(part, ast.Attribute) and part.attr in SAID) or (isinstance(part, ast.Name) and part.id in SAID)
        for part in ast.walk(node)
    )


def modules() -> Iterator[tuple[str, str]]:
    return ((place, text) for place, text in package().items() if not place.startswith(FREE))


def test_nobody_else_names_a_format() -> None:
    found = {place: len(lines) for place, text in modules() if (lines := list(named(text)))}
    assert found == NAMED


def test_no_match_guesses_a_format() -> None:
    assert [f"{place}:{line}" for place, text in modules() for line in guessed(text)] == []


def test_every_format_is_an_object_that_says_its_name() -> None:
    for name in FORMATS:
        made = Format.named(name)
        assert isinstance(made, Format)
        assert made.name == name
    assert list(FORMATS)[-1] == FILES, "a table with a log holds plain files too"


def test_the_checks_see_a_name() -> None:
    text = (
        "x = snapshot.format == 'delta'\n"
        "y = handle.format != 'files'\n"
        "z = name in ('files', 'bytes')\n"
        "w = isinstance(details, IcebergDetails)\n"
        "v = table_format.name in ('parquet', 'files')\n"
        "match snapshot.format:\n    case 'csv':\n        pass\n    case _:\n        pass\n"
        "match source:\n    case Delta():\n        pass\n    case _:\n        pass\n"
        "match text:\n    case 'csv':\n        pass\n    case _:\n        pass\n"
    )
    assert sorted(named(text)) == [1, 2, 4, 5]
    assert sorted(guessed(text)) == [6, 12]

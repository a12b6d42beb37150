"""Code decides by values: no message of ours is searched, cut or written anew. What a message tells to do is a `Cure`,
which each face says in its own words."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.sources import nodes, package

FOREIGN = ("storage/errors.py", "core/expression_errors.py", "index/build/spark.py", "core/jvm/")
"""They read the errors of other programs: of the client of object stores, of Python, of Spark."""
CUTS = frozenset(
    {"partition", "rpartition", "startswith", "endswith", "replace", "removeprefix", "removesuffix", "find"}
)
SEARCHES = frozenset(["search", "match", "fullmatch", "sub", "subn", "split", "finditer", "findall"])


def _is_error(node: ast.AST) -> bool:
    """Return whether this is the text of an error: str(error), first_line(error), f"{error}", or its arguments."""
    match node:
        case ast.Call(func=ast.Name(id="str" | "first_line" | "named_line"), args=[ast.Name(id=name)]):
            return name in ("error", "e", "exc", "exception", "raised", "failure")
        case ast.JoinedStr(values=[ast.FormattedValue(value=ast.Name(id="error"))]):
            return True
        case ast.Subscript(value=ast.Attribute(attr="args")):
            return True
    return False


def read_back(code: str) -> Iterator[int]:
    """Yield the lines that search or cut the text of an error, or a text that is called a message, note or reason."""
    texts = {"message", "note", "reason", "said_reason"}
    for node in nodes(code):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]) if _is_error(right):
                yield node.lineno
            case ast.Compare(
                left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]
            ) if name in texts:
                yield node.lineno
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in CUTS and _is_error(value):
                yield node.lineno
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in CUTS and name in texts:
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr=attr), args=args) if attr in SEARCHES:
                if any(_is_error(arg) or (isinstance(arg, ast.Name) and arg.id in texts) for arg in args):
                    yield node.lineno


def test_no_message_of_ours_is_read_back() -> None:
    found = [
        f"{place}:{line}"
        for place, text in package().items()
        if not place.removeprefix("metaindex/").startswith(FOREIGN)
        for line in read_back(text)
    ]
    assert not found, f"decide by a value: an error's class, an attribute, a Cure\n{found}"


@pytest.mark.parametrize(
    "code",
    [
        "'mode=' in str(error)",
        "'mode=' in message",
        "re.sub('a', 'b', str(error))",
        "PATTERN.search(message)",
        "str(error).removesuffix('; read it')",
        "first_line(error).partition(': ')[2]",
        "reason.startswith('it is')",
        "'x' not in error.args[0]",
    ],
)
def test_what_reads_a_message_back_is_seen(code: str) -> None:
    assert list(read_back(code)) == [1]
    assert not list(read_back("' '.join(str(error).split()), f'{error}; {cure}', error.args[0] + name"))

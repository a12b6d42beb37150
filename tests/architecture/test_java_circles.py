"""Classes of the rule's Java that name each other, over others or by themselves, are read together: how much stands in
such circles may only fall."""

import re
from pathlib import Path
from typing import Final

from tests.architecture.test_circles import closure

PACKAGE: Final = Path(__file__).parents[2] / "metaindex"
MOST_REFERENCES: Final = 99
"""Between classes that reach each other."""
MOST_PAIRS: Final = 7
"""Of classes that name each other."""
_PROSE: Final = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | ^import\ [^\n]*""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CLASS_NAME: Final = re.compile(r"(?<![\w.])[A-Z]\w*")


def references(texts: dict[str, str]) -> dict[str, set[str]]:
    """Of each class the others that its source names."""
    return {
        name: set(_CLASS_NAME.findall(_PROSE.sub("", text))) & texts.keys() - {name} for name, text in texts.items()
    }


def circular(named: dict[str, set[str]]) -> set[tuple[str, str]]:
    """References from which a way leads back."""
    reached = {name: closure(name, named) for name in named}
    return {(name, other) for name, others in named.items() for other in others if name in reached[other]}


def test_what_stands_in_circles_only_falls() -> None:
    folders = [PACKAGE / "spark" / "optimizer" / "java", PACKAGE / "core" / "jvm" / "java"]
    texts = {file.stem: file.read_text() for folder in folders for file in folder.glob("*.java")}
    found = circular(references(texts))
    pairs = {(name, other) for name, other in found if name < other and (other, name) in found}
    assert len(found) <= MOST_REFERENCES, sorted(found)
    assert len(pairs) <= MOST_PAIRS, sorted(pairs)


def test_a_circle_is_seen_in_code_alone() -> None:
    texts = {
        "A": "import x.D;\nclass A extends B { } // C",
        "B": "class B { Object c = new C(); }",
        "C": 'class C { A a; /* D */ String d = "D"; Object e = x.D.e; }',
        "D": "class D { A a; }",
    }
    assert circular(references(texts)) == {("A", "B"), ("B", "C"), ("C", "A")}

"""Long lines of JSON go the quick way unless Spark's parser would stop at a name or a text in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.formats.text import json_values
from metaindex.formats.text.json_values import MOST_OF_NAME, MOST_OF_TEXT, has_long_texts

TEXTS = st.text(alphabet='ab\\" :,[', max_size=14)
VALUES = st.recursive(
    TEXTS | st.integers(), lambda some: st.lists(some, max_size=3) | st.dictionaries(TEXTS, some, max_size=3)
)


def lengths(value: Any, names: list[int], texts: list[int]) -> None:
    match value:
        case str():
            texts.append(len(value))
        case list():
            for item in value:
                lengths(item, names, texts)
        case dict():
            for name, item in value.items():
                names.append(len(name))
                lengths(item, names, texts)


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.sampled_from([(",", ":"), (" , ", "  : ")]))
def test_no_long_name_or_text_is_missed(record: dict[str, Any], separators: tuple[str, str]) -> None:
    names: list[int] = []
    texts: list[int] = []
    lengths(record, names, texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_values, "MOST_OF_NAME", 4)
        patch.setattr(json_values, "MOST_OF_TEXT", 9)
        told = has_long_texts(json.dumps(record, separators=separators).encode())
    if max(names, default=0) > 4 or max(texts, default=0) > 9:
        assert told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"z":[' + b"1," * MOST_OF_NAME + b"1]}", False),  # numbers
        (b'{"z":"' + b"x" * (3 * MOST_OF_NAME) + b'"}', False),  # a text
        (b'{"z":"' + b'\\"' * MOST_OF_NAME + b'"}', False),  # a text of quotes
        (b'{"z":"x\\\\","b":"' + b"y" * (2 * MOST_OF_NAME) + b'"}', False),  # behind a backslash
        (b'{"' + b"k" * (MOST_OF_NAME + 1) + b'" :1}', True),
        (b'{"' + b'\\"' * MOST_OF_NAME + b'":1}', True),
        (b'{"a":"' + b"x" * (MOST_OF_TEXT + 1) + b'"}', True),
    ],
    ids=["numbers", "text", "quotes", "backslash", "name", "name of quotes", "long text"],
)
def test_a_long_line(line: bytes, told: bool) -> None:
    assert has_long_texts(line) == told

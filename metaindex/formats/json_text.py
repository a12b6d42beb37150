"""JSON that a table's metadata holds: whatever is wrong with it is a ValueError, however deep it is nested and whatever
stands in its texts."""

from __future__ import annotations

import json
from typing import Any

from metaindex.core import first_line


def parse_json(data: str | bytes) -> Any:
    """The document. ValueError too for one that is nested beyond the stack, and for halves of characters, which no
    other text holds."""
    try:
        value = json.loads(data)
        if (b"\\u" if isinstance(data, bytes) else "\\u") in data:  # type: ignore[operator]
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError(first_line(error)) from error
    return value

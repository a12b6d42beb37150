"""Values of rows as JSON holds them."""

from __future__ import annotations

import base64
import datetime as dt
import math


def json_value(value: object) -> object:
    """For machines: JSON has no NaN, bytes or times."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case dict():
            return {str(k): json_value(v) for k, v in value.items()}
        case list() | tuple():
            return [json_value(v) for v in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)

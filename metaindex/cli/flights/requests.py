"""A log of requests in JSON, as services write it: a file an hour, a UUID a request, an account that may be missing.
Made up, and the same each time. Statistics skip nothing here; an index of values finds a request or an account."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path

import pyarrow as pa

from .data import DemoQuestion

FILES, REQUESTS = 96, 1_500
SCHEMA = pa.schema([("account", pa.int64()), ("ms", pa.float64()), ("path", pa.string()), ("request_id", pa.string())])


def written(folder: Path) -> tuple[DemoQuestion, ...]:
    """Write the log, and return look-ups: of a request and an account that are in it, and of one that is not."""
    draw = random.Random(2013)  # noqa: S311 - made-up data
    folder.mkdir(parents=True)
    for number in range(FILES):
        rows = [_request(draw) for _ in range(REQUESTS)]
        (folder / f"hour-{number:03}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    some = rows[REQUESTS // 2]["request_id"]
    account = next(row["account"] for row in rows if row["account"] is not None)
    return (
        DemoQuestion("a request by its UUID", f"request_id = '{some}'"),
        DemoQuestion("an account", f"account = {account}"),
        DemoQuestion("a UUID that is not there", f"request_id = '{uuid.UUID(int=draw.getrandbits(128))}'"),
        DemoQuestion("slow requests", "ms > 990"),
    )


def _request(draw: random.Random) -> dict[str, object]:
    return {
        "request_id": str(uuid.UUID(int=draw.getrandbits(128))),
        "account": None if draw.random() < 0.3 else draw.randrange(10**7, 10**7 + 40_000),
        "path": f"/orders/{draw.randrange(10**5)}",
        "ms": round(draw.random() * 1_000, 1),
    }

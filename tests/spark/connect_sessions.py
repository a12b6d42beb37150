"""A client of Spark Connect that switches sessions on and off, while the Python of its server comes and goes: prints
what came of it as JSON.

python -m tests.spark.connect_sessions ADDRESS QUERY SERVER HELD

The server waits some seconds for its Python, which does not start as long as the file HELD is there.
"""

import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.spark.optimizer.settings import STATE

from .applications import sidecars, wait_until_ended
from .connect_client import plan, refused, rows

_PATIENCE_SECONDS = 240.0


def enabling(spark: Any) -> str:
    """What it is refused with, other than that it is to be tried again: then it is."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        said = refused(lambda: mi.enable(spark))
        if not said.endswith("wait, and try again"):
            return said
        assert time.monotonic() < until, said


def kill(server: int, session: Any) -> None:
    """Until the server knows, and tells the session."""
    (process,) = sidecars(server)
    os.kill(process, signal.SIGKILL)
    wait_until_ended(process)
    until = time.monotonic() + _PATIENCE_SECONDS
    while session.conf.get(STATE) == "on":
        assert time.monotonic() < until


def main(address: str, query: str, server: str, held: str) -> None:
    began = time.monotonic()
    found: dict[str, Any] = {}

    def fresh() -> Any:
        return SparkSession.builder.remote(address).create()

    def look(name: str, session: Any) -> None:
        found[name] = {"rows": rows(session.sql(query)), "plan": plan(session.sql(query)), "is": mi.is_enabled(session)}

    off = fresh()
    mi.disable(off)
    look("disabled at first", off)
    on = fresh()
    found["enabled at first, refused"] = enabling(on)
    look("enabled at first", on)
    turned = fresh()
    mi.disable(turned)
    found["enabled then, refused"] = enabling(turned)
    look("enabled then", turned)
    mi.disable(turned)
    fresh().sql(query).collect()
    while time.monotonic() - began < 6:  # longer than the server waits for its Python
        on.sql(query).collect()

    kill(int(server), on)
    on.sql(query).collect()  # at once, with nobody to ask
    stale = fresh()
    stale.sql(query).collect()
    mi.disable(stale)
    found["enabled again, refused"] = enabling(turned)
    look("enabled again", turned)
    look("disabled while it was away", stale)
    found["enabled while it was away, refused"] = enabling(stale)
    look("enabled after it was away", stale)

    enabling(on)
    Path(held).touch()
    kill(int(server), on)
    mi.disable(stale)
    mi.disable(turned)
    new = fresh()
    with ThreadPoolExecutor(2) as pool:
        found["new in vain"], found["turned in vain"] = pool.map(
            lambda session: refused(lambda: mi.enable(session)), [new, turned]
        )
    Path(held).unlink()
    found["state"] = [list(row) for row in new.sql(f"SET {STATE}").collect()]
    look("as it was", turned)
    for name, session in {"new": new, "turned": turned}.items():
        found[f"{name} at last, refused"] = enabling(session)
        look(f"{name} at last", session)
    sys.stdout.write(json.dumps(found, default=str) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

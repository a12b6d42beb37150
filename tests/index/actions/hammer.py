"""One of many writers on one index: random verbs until the time is over. `python -m tests.index.actions.hammer TABLE
SEED SECONDS INDEX_LOCATION`; a JSON line for each verb."""

import json
import os
import random
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from metaindex.core import (
    ConcurrentWriteError,
    DamagedIndexError,
    IndexExistsError,
    IndexNotFoundError,
    IndexStateError,
)
from metaindex.index.actions import optimize as upkeep
from metaindex.index.actions.action import Outcome
from metaindex.index.actions.clean import clean
from metaindex.table import handle_of

EVERY_ENTRY = 10**9
"""The whole log stays, to be looked at."""

REFUSED = (IndexStateError, IndexExistsError, IndexNotFoundError, ConcurrentWriteError, DamagedIndexError)
WEIGHTS = {
    "refresh": 30,
    "optimize": 12,
    "optimize full": 6,
    "refresh full": 3,
    "refresh quick": 5,
    "append": 12,
    "disable": 2,
    "enable": 4,
    "delete": 3,
    "restore": 12,
    "vacuum": 1,
    "create": 6,
    "clean": 6,
    "cancel": 2,
}


def append(root: Path, number: int) -> None:
    """A file that seems a minute old, put in place whole."""
    made = root.parent / f"new-{number}"
    pq.write_table(pa.table({"id": range(number * 10, number * 10 + 10)}), made)
    os.utime(made, (time.time() - 60 - number % 10, time.time() - 60))
    made.rename(root / f"f{number:06d}.parquet")


def opened(path: str, location: str) -> mi.Table:
    """The table, with its indexes at the location ("": beside it)."""
    return mi.open_table(path, config=mi.Config(builder="local", index_location=location or None))


def run(table: mi.Table, verb: str) -> Outcome:
    if verb.startswith("refresh"):
        mode = verb.partition(" ")[2] or "incremental"
        return table.refresh_index("stats", mode=mode, builder="local")  # type: ignore[arg-type]
    if verb.startswith("optimize"):
        return table.optimize_index("stats", verb.partition(" ")[2] or "quick")  # type: ignore[arg-type]
    if verb == "create":
        return table.create_index("stats", mi.ColumnStats(), builder="local")
    if verb == "clean":
        return clean(handle_of(table).indexes().log("stats"), "stats", 0, EVERY_ENTRY)
    outcome: Outcome = getattr(table, f"{verb}_index")("stats")
    return outcome


def main(path: str, seed: str, seconds: str, location: str) -> None:
    upkeep.KEPT_ENTRIES = EVERY_ENTRY
    chance = random.Random(seed)
    until = time.monotonic() + float(seconds)
    number = int(seed) * 1000
    while time.monotonic() < until:
        verb = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        said: dict[str, object] = {"verb": verb}
        try:
            if verb == "append":
                number += 1
                append(Path(path), number)
            else:
                outcome = run(opened(path, location), verb)
                said |= {"entry": outcome.entry.id, "changed": outcome.changed, "operation": outcome.operation}
        except REFUSED as error:
            said["refused"] = f"{type(error).__name__}: {error}"
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])

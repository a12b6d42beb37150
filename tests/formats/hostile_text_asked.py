"""Asks every written hostile file of one kind, and says what came of it: `python -m tests.formats.hostile_text_asked
KIND FOLDER`, run by `test_hostile_tables` as a child process, whose memory is its own."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import metaindex as mi
from tests.formats.hostile_asked import at_most
from tests.formats.hostile_texts import CSV, JSON, SCHEMA, Rows, Text
from tests.processes import peak_bytes

_SECONDS = 40
CASES: dict[str, dict[str, Text]] = {"csv": CSV, "json": JSON}


def main() -> None:
    kind, folder = sys.argv[1:]
    told = {name: wrong(Path(folder), case) for name, case in CASES[kind].items()}
    sys.stdout.write(json.dumps({"asked": told, "peak_bytes": peak_bytes()}))


def wrong(folder: Path, case: Text) -> list[str]:
    """What was answered as it must not be."""
    path = folder / case.file
    path.write_bytes(case.data())
    try:
        asked = [("named", {"schema": SCHEMA}, case.rows)]
        if case.inferred is not None:
            asked.append(("inferred", {}, case.inferred))
        found = [(how, answer(folder, {**case.options, **options}, wanted), wanted) for how, options, wanted in asked]
        return [f"{how}: {got!r:.300}" for how, got, wanted in found if not _is(got, wanted)]
    finally:
        path.unlink()


def answer(folder: Path, options: dict[str, Any], wanted: Rows | str) -> object:
    """The rows; of an error of ours its text, where one is wanted."""
    try:
        with at_most(_SECONDS):
            found = mi.open_table(str(folder), **options).scan().to_arrow()
    except mi.MetaIndexError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - what is sought
        return error
    return list(zip(*(found.column(name).to_pylist() for name in SCHEMA.names if name in found.schema.names),
        strict=True))  # fmt: skip


def _is(got: object, wanted: Rows | str) -> bool:
    if isinstance(wanted, str):
        return isinstance(got, str) and re.search(wanted, got) is not None and "\n" not in got
    return got == wanted


if __name__ == "__main__":
    main()

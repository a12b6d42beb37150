"""Asks a reader every question of a kit: `python kit/check.py [KIT]`. A reader of your own stands in the place of
`reader`; what it needs is `keep`, `rows` if it reads covering indexes and, for the vectors, the small functions named
here.

A reader is **sound** where every row group that holds a match is in its answer, and **strong** where it keeps no file
that the index proves out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import xxhash


def wrong(reader: ModuleType, kit: Path) -> Iterator[str]:
    """What is wrong with the reader's answers, one line each."""
    yield from wrong_vectors(reader, json.loads((kit / "vectors.json").read_text()))
    for case in sorted(path.parent for path in kit.glob("*/index")):
        yield from wrong_answers(reader, case, case / "index", "use")
        if (case / "rows.jsonl").exists() and hasattr(reader, "rows"):
            yield from wrong_rows(reader, case)
    for name, expected in json.loads((kit / "broken" / "broken.json").read_text()).items():
        yield from wrong_answers(reader, kit / "broken", kit / "broken" / name, expected)


def wrong_answers(reader: ModuleType, case: Path, index: Path, expected: str) -> Iterator[str]:
    """expected: `use`, sound and strong; `sound`, no more; `nothing`, every live file is kept."""
    versions = json.loads((case / "live.json").read_text())
    for line in (case / "questions.jsonl").read_text().splitlines():
        question = json.loads(line)
        where = f"{case.name}/{index.name} at {question['version']}, {question['and']}"
        version = versions[question["version"]]
        try:
            kept = reader.keep(index, version, question["and"])
        except Exception as error:  # noqa: BLE001 - of the reader, whatever it is
            yield f"{where}: {type(error).__name__}: {error}"
            continue
        for path, groups in question["must"].items():
            if path not in kept or (kept[path] is not None and not set(groups) <= set(kept[path])):
                yield f"{where}: lost rows of {path}"
        if expected == "use" and not set(kept) <= set(question["may"]):
            yield f"{where}: kept {sorted(set(kept) - set(question['may']))} in vain"
        if expected == "nothing" and set(kept) != {file["path"] for file in version["live"]}:
            yield f"{where}: an index that may not be used left files out"


def wrong_rows(reader: ModuleType, case: Path) -> Iterator[str]:
    """Of each live file that the reader takes from the index: its live rows that match, no more and no fewer. A file
    that it takes none of is read from the table: right, and in vain where the index has it."""
    versions = json.loads((case / "live.json").read_text())
    for line in (case / "rows.jsonl").read_text().splitlines():
        question = json.loads(line)
        version = versions[question["version"]]
        where = f"{case.name} at {question['version']}, {question['columns']} where {question['and']}"
        try:
            found = reader.rows(case / "index", version, question["columns"], question["and"])
        except Exception as error:  # noqa: BLE001 - of the reader, whatever it is
            yield f"{where}: {type(error).__name__}: {error}"
            continue
        expected = {
            path: sorted(repr([reader.typed(one) for one in row]) for row in rows)
            for path, rows in question["rows"].items()
        }
        for path, rows in found.items():
            if path not in expected:
                yield f"{where}: rows of {path}, which is not live"
            elif sorted(map(repr, rows)) != expected[path]:
                yield f"{where}: {len(rows)} rows of {path}, which are not its {len(expected[path])}"
        if lacking := expected.keys() - found.keys() - set(question["lacks"]):
            yield f"{where}: read {sorted(lacking)} in vain"


def wrong_vectors(reader: ModuleType, vectors: dict[str, Any]) -> Iterator[str]:
    for said, type_, hash_ in vectors["hash"]:
        if f"{reader.hashed([reader.typed(said)], [type_]):016x}" != hash_:
            yield f"hash of {said} as {type_}"
    for (number, text), hash_ in vectors["hash_of_two"]:
        if f"{reader.hashed([number, text], ['int64', 'string']):016x}" != hash_:
            yield f"hash of {number}, {text}"
    for said, type_, key in vectors["key"]:
        if reader.key_bytes(reader.typed(said), type_).hex() != key:
            yield f"key of {said} as {type_}"
    for column, number in vectors["column_id"].items():
        if signed(xxhash.xxh64_intdigest(column.encode())) != int(number):
            yield f"id of {column}"
    for hash_, blocks, block in vectors["bloom_block"]:
        if reader.block_of(int(hash_, 16), blocks) != block:
            yield f"block of {hash_}"
    for hash_, bits in vectors["bloom_bits"]:
        if reader.bits_of(int(hash_, 16)) != bits:
            yield f"bits of {hash_}"


def signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


if __name__ == "__main__":
    import reader as own

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else max(Path(__file__).parent.glob("[0-9]*"))
    lines = list(wrong(own, folder))
    sys.stdout.write("\n".join([*lines, f"{len(lines)} wrong", ""]))
    sys.exit(bool(lines))

"""What lies there: entries, runs, parts."""

from __future__ import annotations

import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FORMAT = 3
BITS = {"by", "hash_bits", "unit_bits", "group_bits", "groups", "key"}
LAYOUT = {"values": BITS, "value_keys": BITS, "value_lists": BITS, "bloom_filters": {"classes"}}


class Unknown(Exception):
    """Not understood, or not as it should be: nothing is concluded from it."""


DAMAGE = (Unknown, OSError, pa.ArrowException, ValueError, KeyError, TypeError, IndexError)


def latest(index: Path) -> dict[str, Any] | None:
    """The entry with the highest number, where it may be used."""
    log = index / "_log"
    stones = [int(p.stem[10:]) for p in log.glob("tombstone-*.json")]
    numbers = [int(p.stem) for p in log.iterdir() if re.fullmatch(r"\d{20}\.json", p.name)]
    numbers = [n for n in numbers if n >= max(stones, default=1)]
    if not numbers:
        return None
    first, second, rest = (log / f"{max(numbers):020d}.json").read_bytes().split(b"\n")
    if rest or hashlib.sha256(first).hexdigest() != json.loads(second)["sha256"]:
        return None
    entry: dict[str, Any] = json.loads(first)
    usable = entry["format_version"] == FORMAT and entry["stable_state"] == "ACTIVE" and entry["enabled"]
    return entry if usable else None


class Run:
    """The rows of one run."""

    def __init__(self, index: Path, said: dict[str, Any], column_sets: list[list[dict[str, Any]]]) -> None:
        self.index, self.said = index, said
        self.columns = {c["stable"]: c for c in column_sets[said["columns"]]}
        self.keys = [key for key in said.get("keys", []) if key["layout"].keys() <= LAYOUT.get(key["kind"], set())]
        if said.get("reader_needs"):
            raise Unknown("needs of the run")
        data = (index / "_manifests" / f"{said['run']}.json").read_bytes()
        if len(data) != said["manifest_bytes"] or hashlib.sha256(data).hexdigest() != said["manifest_digest"]:
            raise Unknown("manifest")
        manifest = json.loads(data)
        if manifest["layout"] != {"version": 1} or manifest["reader_needs"]:
            raise Unknown("layout of the run")
        self.parts = manifest["parts"]
        self.files = self.rows("files")
        self._held: dict[object, list[dict[str, Any]]] = {}

    def file(self, part: dict[str, Any]) -> pq.ParquetFile:
        data = (self.index / part["path"]).read_bytes()
        footer = data[len(data) - part["footer_bytes"] :]
        if len(data) != part["size_bytes"] or hashlib.sha256(footer).hexdigest() != part["footer_digest"]:
            raise Unknown("part")
        return pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True)

    def rows(self, kind: str, folder: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for part in self.parts:
            if part["kind"] == kind and (not folder or part["path"].startswith(f"{folder}/")):
                found += self.file(part).read().to_pylist()
        return found

    def of(self, kind: str, column: str, number: int, folder: str = "") -> list[dict[str, Any]]:
        """Rows of one column id or key id."""
        held = (kind, folder, number)
        if held not in self._held:
            self._held[held] = [row for row in self.rows(kind, folder) if row[column] == number]
        return self._held[held]

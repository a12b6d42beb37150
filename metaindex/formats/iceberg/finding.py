"""Finds the table's current metadata file: by the version hint, which may lag behind, else by the highest number in
`metadata/`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from metaindex.core import CorruptTableError, NotATableError, ObjectNotFoundError
from metaindex.storage import Storage

from .metadata import read_metadata

METADATA_ENDS: Final = (".metadata.json", ".metadata.json.gz")


def locate(storage: Storage, path: str) -> str:
    """The current metadata file of the table at `path`: the file itself, what the version hint says (or a later version
    beside it), else the highest number in `metadata/`."""
    if path.endswith(METADATA_ENDS):
        return path
    folder = path.rstrip("/") + "/metadata"
    hinted = _hinted(storage, folder)
    hint = _number(hinted)
    if hint is not None and (latest := _latest_from(storage, folder, hint)):
        return latest  # without a listing: the folder holds every manifest too
    numbers = _listed(storage, folder)
    if hinted is None and not numbers:
        raise NotATableError(
            f"an Iceberg table has metadata/*.metadata.json; {path} has none; name the metadata file or a catalog"
        )
    if hinted is None:
        return _highest(storage, numbers)
    if hint is not None:
        later = [name for name, number in numbers.items() if number >= hint and re.match(r"v\d", name.split("/")[-1])]
        if later:
            return max(later, key=lambda name: numbers[name])
    for candidate in (hinted, f"{hinted}.metadata.json", f"v{hinted}.metadata.json"):
        if f"{folder}/{candidate}" in numbers:
            return f"{folder}/{candidate}"
    raise CorruptTableError(
        f"a version hint must name a metadata file; {folder}/version-hint.text says {hinted[:80]!r} and there is none;"
        " restore it or name the file"
    )


def _hinted(storage: Storage, folder: str) -> str | None:
    try:
        text = storage.read(f"{folder}/version-hint.text").decode("utf-8", "replace").strip()
    except ObjectNotFoundError:
        return None
    return text or None


def _number(hinted: str | None) -> int | None:
    return int(hinted) if hinted is not None and hinted.isdecimal() and len(hinted) < 19 else None


def _latest_from(storage: Storage, folder: str, number: int) -> str | None:
    """A writer commits the file first and the hint after it, so the hint may lag behind."""
    latest = None
    with suppress(ObjectNotFoundError):
        while storage.head(path := f"{folder}/v{number}.metadata.json"):
            latest, number = path, number + 1
    return latest


def _listed(storage: Storage, folder: str) -> dict[str, int]:
    out: dict[str, int] = {}
    for info in storage.list(folder, recursive=False):
        name = info.path.rsplit("/", 1)[-1]
        if "metadata.json" in name and (number := re.match(r"v?(\d{1,18})[.-]", name)):
            out[f"{folder}/{name}"] = int(number[1])
    return out


def _highest(storage: Storage, numbers: Mapping[str, int]) -> str:
    top = max(numbers.values())
    highest = [name for name, number in numbers.items() if number == top]
    if len(highest) == 1:
        return highest[0]
    # Writers that raced for one number: only the catalog knows the winner, the youngest is the best guess without it.
    return max(highest, key=lambda name: (read_metadata(storage, name).last_updated_ms, name))

"""Finds the table's current metadata file: by the version hint, which may lag behind, else by the highest number in
`metadata/`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from metaindex.core import CorruptTableError, NotATableError, ObjectNotFoundError
from metaindex.storage import ObjectInfo, Storage, both_at

from .metadata import read_metadata

HINT: Final = "version-hint.text"
METADATA_ENDS: Final = (".metadata.json", ".metadata.json.gz")


@dataclass(frozen=True, slots=True)
class Located:
    """A metadata file, with what the store says of it (None: it was not looked at), and the number that the hint said
    (None: it was found without)."""

    path: str
    info: ObjectInfo | None = None
    hint: int | None = None


def locate(storage: Storage, path: str, last: Located | None = None) -> Located:
    """The current metadata file of the table at `path`: the file itself, what the version hint says (or a later version
    beside it), else the highest number in `metadata/`. `last`: as it was found before, which mostly is how it is found
    again."""
    if path.endswith(METADATA_ENDS):
        return Located(path)
    folder = path.rstrip("/") + "/metadata"
    latest: Located | None = None
    listed: dict[str, ObjectInfo] | None = None
    ask = partial(_hinted, storage, folder)
    if last is None:
        hinted = ask()
    elif last.hint is None:
        listed, hinting = _listed(storage, folder)
        hinted = ask() if hinting else None
    else:
        hinted, latest = both_at(storage.root, ask, partial(_latest_from, storage, folder, last.hint))
    hint = _number(hinted)
    if hint is not None and (last is None or hint != last.hint):
        latest = _latest_from(storage, folder, hint)
    if hint is not None and latest is not None:
        return latest  # without a listing: the folder holds every manifest too
    listed = _listed(storage, folder)[0] if listed is None else listed
    name = _of_listed(storage, path, folder, hinted, hint, {name: _numbered(name) for name in listed})
    return Located(name, listed[name])


def _of_listed(
    storage: Storage, path: str, folder: str, hinted: str | None, hint: int | None, numbers: Mapping[str, int]
) -> str:
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
        text = storage.read(f"{folder}/{HINT}").decode("utf-8", "replace").strip()
    except ObjectNotFoundError:
        return None
    return text or None


def _number(hinted: str | None) -> int | None:
    return int(hinted) if hinted is not None and hinted.isdecimal() and len(hinted) < 19 else None


def _latest_from(storage: Storage, folder: str, hint: int) -> Located | None:
    """A writer commits the file first and the hint after it, so the hint may lag behind."""

    def look(number: int) -> Located | None:
        path = f"{folder}/v{number}.metadata.json"
        try:
            return Located(path, storage.head(path), hint)
        except ObjectNotFoundError:
            return None

    latest, number = None, hint
    here, following = both_at(storage.root, partial(look, hint), partial(look, hint + 1))
    while here is not None:
        latest, number, here = here, number + 1, following
        following = look(number + 1) if here is not None else None
    return latest


def newest_of(names: Iterable[str]) -> str:
    """Return the name of the metadata file with the highest number; empty: there is none."""
    numbers = {name: number for name in names if "/" not in name and (number := _numbered(name)) >= 0}
    return max(numbers, key=numbers.__getitem__, default="")


def _listed(storage: Storage, folder: str) -> tuple[dict[str, ObjectInfo], bool]:
    """Return the metadata files, and whether a hint lies beside them."""
    files = {f"{folder}/{info.path.rsplit('/', 1)[-1]}": info for info in storage.list(folder, recursive=False)}
    return {name: info for name, info in files.items() if _numbered(name) >= 0}, f"{folder}/{HINT}" in files


def _numbered(path: str) -> int:
    name = path.rsplit("/", 1)[-1]
    number = re.match(r"v?(\d{1,18})[.-]", name) if name.endswith(METADATA_ENDS) else None
    return -1 if number is None else int(number[1])


def _highest(storage: Storage, numbers: Mapping[str, int]) -> str:
    top = max(numbers.values())
    highest = [name for name, number in numbers.items() if number == top]
    if len(highest) == 1:
        return highest[0]
    # Writers that raced for one number: only the catalog knows the winner, the youngest is the best guess without it.
    return max(highest, key=lambda name: (read_metadata(storage, name).last_updated_ms, name))

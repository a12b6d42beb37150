"""Folders that belong to somebody: a log in them, or in a folder above, names the files that live, and others lie
beside these. They are no plain files, however they are named, and are refused wherever files are listed.

The one exception is the folder that a stream of Spark wrote, named alone: its log is read (`sink_log`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import compress
from typing import Final

from metaindex.core import Cure, OutsideTableError, StorageError, StoragePermissionError, UnsupportedFeatureError
from metaindex.formats.format import Format
from metaindex.formats.names import FILES, FORMATS
from metaindex.storage import Glance, Glances, LocalStorage, Storage, both_at, each_at

SINK_LOG: Final = "_spark_metadata"
HUDI_PARTITION: Final = ".hoodie_partition_metadata"
"""A file in each folder of a Hudi table that has its data."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a folder is that has `mark` in it. `ends`: how a name of a file in that must end, where the mark alone
    tells too little."""

    mark: str
    what: str
    format: str = ""
    ends: tuple[str, ...] = ()

    def is_in(self, storage: Storage, where: str) -> bool:
        """Return whether a folder, by its absolute path, is the owner's. What may not be looked at tells nothing."""
        at = f"{where.rstrip('/')}/{self.mark}"
        if isinstance(storage, LocalStorage) and not ((there := os.path.exists(at)) and self.ends):
            return there
        with suppress(StoragePermissionError, OutsideTableError):
            names = (name for glance in glances(storage, at) for name in (*glance.folders, *glance.files))
            return any(name.endswith(self.ends or "") for name in names)
        return False

    def refusal(self, storage: Storage, where: str) -> UnsupportedFeatureError:
        from metaindex.formats.delta.log_segment import LOG, has_log, without_commits

        if self.mark == LOG:
            with suppress(StorageError):
                if not has_log(storage, where):
                    return UnsupportedFeatureError(without_commits(where))
        cure = f"it with {Cure('argument', 'format', self.format)}" if self.format else "the whole of it"
        return UnsupportedFeatureError(
            f"plain files are all live; {where!r} is {self.what}, whose files are not ({self.mark} names those that"
            f" are); open {cure}, or leave it out"
        )


@cache
def owners() -> Mapping[str, Owner]:
    """Return all owners, by their marks."""
    formats = [Format.named(name) for name in FORMATS if name != FILES]
    known = []
    for each in formats:  # the name of a hidden folder suffices: nobody else has it
        ends = () if each.mark[0] in "_." else each.mark_files
        article = "an" if each.name[0] in "aeiou" else "a"
        known.append(Owner(each.mark, f"{article} {each.name.capitalize()} table", each.name, ends))
    known += [
        Owner(SINK_LOG, "the output of a stream of Spark"),
        Owner("_symlink_format_manifest", "a Delta table with a manifest"),
        Owner(HUDI_PARTITION, "a folder of a Hudi table"),
    ]
    return {each.mark: each for each in known}


def refuse_owned(storage: Storage, *, alone: bool) -> None:
    """Raise UnsupportedFeatureError if the storage's root, or a folder above, is somebody's. `alone`: the root alone
    was named, which may be the output of a stream."""
    at_root = partial(refuse_in, storage, [storage.root], SINK_LOG if alone else "")
    both_at(storage.root, at_root, partial(refuse_above, storage, [storage.root]))


def refuse_above(storage: Storage, places: Iterable[str]) -> None:
    """Raise UnsupportedFeatureError if a folder above a place, which is absolute, is somebody's. Of a local one that
    leads over links the folders above its end are looked at, too."""
    above: set[str] = set()
    for place in places:
        for real in {place, os.path.realpath(place)} if isinstance(storage, LocalStorage) else (place,):
            scheme, separator, path = real.rpartition("://")
            parts = path.split("/")
            above |= {f"{scheme}{separator}{'/'.join(parts[:at])}" or "/" for at in range(1, len(parts))}
    refuse_in(storage, above)


def refuse_in(storage: Storage, folders: Iterable[str], allowed: str = "") -> None:
    """Raise UnsupportedFeatureError if one of the folders, which are absolute, is somebody's. `allowed`: by this mark
    it may be."""
    asked = [(owner, where) for where in sorted(folders) for owner in owners().values() if owner.mark != allowed]
    for owner, where in compress(asked, each_at(storage.root, asked, lambda each: each[0].is_in(storage, each[1]))):
        raise owner.refusal(storage, where)


def glances(storage: Storage, folder: str) -> Iterator[Glance]:
    """List a folder in parts, on any storage; one that can list in parts does."""
    if isinstance(storage, Glances):
        yield from storage.glances(folder)
        return
    files = tuple(info.path.rpartition("/")[2] for info in storage.list(folder, recursive=False))
    yield Glance(tuple(storage.folders(folder)), files)

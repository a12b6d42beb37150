"""The first objects of a folder on a store: enough to recognize most tables by, and to see which indexes they have, by
two requests at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from metaindex.core import StorageError
from metaindex.storage import ObjectInfo, Storage, both_at, is_remote


@dataclass(frozen=True, slots=True)
class Page:
    """Objects below a folder, by their paths relative to it; `whole`: there are no others."""

    objects: Mapping[str, ObjectInfo] = field(default_factory=dict)
    whole: bool = False

    def below(self, folder: str) -> dict[str, ObjectInfo]:
        """Return the objects below an inner folder, by their paths relative to that."""
        start = f"{folder}/"
        return {path[len(start) :]: info for path, info in self.objects.items() if path.startswith(start)}


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The first objects of a table, and of the folder that Iceberg has in it."""

    root: Page
    metadata: Page

    @classmethod
    def of(cls, storage: Storage) -> Glimpse | None:
        """None on a disk, and where the store does not answer: whoever asks next is told why."""
        if not is_remote(storage.root):
            return None
        try:
            return cls(*both_at(storage.root, partial(page_of, storage, ""), partial(page_of, storage, "metadata")))
        except StorageError:
            return None


def page_of(storage: Storage, folder: str) -> Page:
    """Return the first objects of a folder; nothing of a storage that cannot show them by one request."""
    first = getattr(storage, "first_objects", None)
    if first is None:
        return Page()
    objects, complete = first(folder)
    return Page({info.path: info for info in objects}, complete)

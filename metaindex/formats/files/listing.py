"""A listing: the data files of a table as columns, its id, and what it can promise of them."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from metaindex.core import UnsupportedFeatureError, Vector, compute
from metaindex.formats.columns import STRETCH, long_strings, numbers, repeated, strings

_OF_FILES = ("paths", "sizes", "modified_ns", "changed_ns", "inodes", "etags", "folder")
RACY_NS = 2_000_000_000
"""A local file changed so shortly before the listing may be changed again without a sign: clocks of file systems are
coarse."""


@dataclass(slots=True)
class Listing:
    """Files in path order: parallel lists, as there may be a million. `folders` holds each folder once; `folder`
    says the file's. `bases`: the folders below which partitions are looked for. `roots`: those whose own files are
    files of the table even where nested folders are not looked into. Local files have an inode and the time of their
    last change, objects of a store an etag."""

    paths: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    modified_ns: list[int] = field(default_factory=list)
    changed_ns: list[int] = field(default_factory=list)
    inodes: list[int] = field(default_factory=list)
    etags: list[str | None] = field(default_factory=list)
    folder: list[int] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    bases: frozenset[str] = frozenset({""})
    roots: frozenset[str] = frozenset({""})
    taken_ns: int = 0
    local: bool = True

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def starts(self) -> list[int]:
        """Return for each folder where partitions may begin in its name."""
        return starts_of(self.folders, self.bases)

    def in_roots(self) -> Listing:
        """Return the files directly in a root."""
        return self._take([i for i, f in enumerate(self.folder) if self.folders[f] in self.roots])

    def of(self, paths: Container[str]) -> Listing:
        """Return the files of these paths."""
        return self._take([i for i, path in enumerate(self.paths) if path in paths])

    def sorted(self) -> Listing:
        """Sort by path; the roots of several folders are walked one after the other."""
        if all(a < b for a, b in pairwise(self.paths)):
            return self
        order = sorted(range(len(self)), key=self.paths.__getitem__)
        for i, j in pairwise(order):
            if self.paths[i] == self.paths[j]:
                raise UnsupportedFeatureError(
                    f"a file of a table is read once; {self.paths[i]!r} is below two of its roots; leave one of"
                    " them out"
                )
        return self._take(order)

    def _take(self, kept: Sequence[int]) -> Listing:
        taken: dict[str, Any] = {}
        for name in _OF_FILES:
            values = getattr(self, name)
            taken[name] = [values[i] for i in kept] if values else values
        return replace(self, **taken)

    def etag(self) -> pa.ChunkedArray:
        """The finer sign of each file: `inode-change time` in ns, or the object's etag."""
        if not self.local:
            return long_strings(self.etags)
        return pa.chunked_array([self._signs(at) for at in range(0, len(self), STRETCH)], pa.string())

    def _signs(self, at: int) -> pa.Array:
        inodes = np.array(self.inodes[at : at + STRETCH], np.uint64)
        changed = numbers(self.changed_ns[at : at + STRETCH]).cast(pa.string())
        first = Vector.arrow(inodes, None, pa.uint64()).cast(pa.string())
        return compute("binary_join_element_wise", first, changed, repeated("-", len(changed)))

    def fingerprint(self) -> str:
        r"""Return xxh3_128 over every file's path, size, time and etag, in path order: `path \0 size \0 time \0 etag`,
        a line each."""
        digest = xxhash.xxh3_128()
        for at in range(0, len(self), STRETCH):
            end = at + STRETCH
            sizes, times = (numbers(v[at:end]).cast(pa.string()) for v in (self.sizes, self.modified_ns))
            etags = self._signs(at) if self.local else strings([etag or "None" for etag in self.etags[at:end]])
            columns = (strings(self.paths[at:end]), sizes, times, etags, repeated("\0", len(sizes)))
            lines = compute("binary_join_element_wise", *columns)
            ended = compute("binary_join_element_wise", lines, repeated("", len(lines)), repeated("\n", len(lines)))
            length = int(np.frombuffer(ended.buffers()[1], np.int32)[len(ended)])
            digest.update(memoryview(ended.buffers()[2])[: length - (end >= len(self))])  # the last line has no end
        return str(digest.hexdigest())

    def same_files(self, other: Listing) -> bool:
        """Return whether the other listing has the same files, with the same fingerprints."""
        return all(getattr(self, name) == getattr(other, name) for name in ("local", *_OF_FILES[:-1]))

    def racy(self) -> pa.Array:
        """Mask of the files that may change without changing their fingerprint. Object stores change an object's etag
        with its bytes: none there. For a modification time in the future, the change time decides."""
        if not self.local:
            return Vector.arrow(np.zeros(len(self), np.bool_))
        since, invented = self.taken_ns - RACY_NS, self.taken_ns + RACY_NS
        modified, changed = np.array(self.modified_ns, np.int64), np.array(self.changed_ns, np.int64)
        return Vector.arrow(np.where(modified < invented, modified, changed) > since)


def starts_of(folders: Sequence[str], bases: Collection[str]) -> list[int]:
    """Return for each folder where its name continues after the deepest base above it."""
    if set(bases) == {""}:
        return [0] * len(folders)
    known = set(bases)
    starts = []
    for folder in folders:
        at = len(folder)
        while at and folder[:at] not in known:
            at = folder.rfind("/", 0, at - 1) + 1
        starts.append(at)
    return starts

"""Locations of an Iceberg table's objects. Metadata names everything by absolute location, spelled as the writer liked
("file:/x", "file:///x" and "/x" are one place, as are s3, s3a and s3n); a table that was copied to another folder still
names the old one. `Place` turns each location into what storage opens and into the path that a `FileTable` shows:
relative to the root when below it, absolute otherwise (data outside the table's folder is legal in Iceberg)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metaindex.core import CorruptTableError

if TYPE_CHECKING:
    import polars as pl

_FILE = re.compile(r"^file:(?://[^/]*)?(?=/)")
_S3 = re.compile(r"^s3[an]:(?=//)")
_CLIMBING = "a relative location in Iceberg metadata lies below the table; {!r} in {} does not; restore the metadata"


def normal(location: str) -> str:
    """Return the canonical spelling of a location, without a trailing slash."""
    plain = _S3.sub("s3:", _FILE.sub("", location))
    return plain.rstrip("/") or "/"


def is_absolute(location: str) -> bool:
    return location.startswith("/") or "://" in location


@dataclass(frozen=True, slots=True)
class Place:
    """The table's root, as storage opens it, and the location that its metadata claims. They differ only where the
    table was moved as a whole."""

    root: str
    claimed: str

    @classmethod
    def of(cls, root: str, claimed: str | None = None) -> Place:
        return cls(normal(root), normal(claimed if claimed is not None else root))

    @property
    def moved(self) -> bool:
        return self.root != self.claimed

    def path(self, location: str) -> str:
        """The path as a `FileTable` shows it."""
        plain = normal(location)
        below = plain[len(self.claimed) + 1 :] if plain.startswith(self.claimed + "/") else ""
        return below if below and not _climbs(below) else plain

    def open(self, location: str) -> str:
        """Return the path that storage opens: absolute, below the root if the table was moved. CorruptTableError for
        what no store has as a name."""
        if "\0" in location:
            raise CorruptTableError(
                f"a location in Iceberg metadata is a path; {location!r} in {self.root} is none; restore the metadata"
            )
        path = self.path(location)
        if is_absolute(path):
            return path
        if _climbs(path):
            raise CorruptTableError(_CLIMBING.format(location, self.root))
        return f"{self.root}/{path}"

    def paths(self, locations: pl.Series) -> pl.Series:
        """`path` of a whole column."""
        plain = normals(locations)
        below = plain.str.strip_prefix(self.claimed + "/")
        climbing = r"(^|/)\.\.?(/|$)"
        keep = plain.str.starts_with(self.claimed + "/") & ~below.str.contains(climbing + "|^/")
        outside = plain.filter(~keep & ~plain.str.contains("^/|://") & plain.str.contains(climbing))
        if outside.len():
            raise CorruptTableError(_CLIMBING.format(outside[0], self.root))
        return below.zip_with(keep, plain)


def normals(locations: pl.Series) -> pl.Series:
    """`normal` of a whole column of objects (which have no slash at their end)."""
    # The engine's regular expressions have no look-ahead; after `file:` always comes a path here.
    return locations.str.replace("^file:(//[^/]*)?", "").str.replace("^s3[an]://", "s3://")


def _climbs(path: str) -> bool:
    return path.startswith("/") or any(part in (".", "..") for part in path.split("/"))

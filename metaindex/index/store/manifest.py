"""The manifest of a run: which objects are its parts, and what each has to be. One line of JSON a part.

Digests of the footers stand in it, and its own in the log entry. It is read field by field, as the entry is: what is
missing, not known or of another type is refused. What a reader needs to know of the run is looked at before all else:
of a run that it cannot read, the rest of the manifest may be as its writer likes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields

from metaindex.index.log.fields import Fields
from metaindex.index.log.needs import LAYOUT_VERSION, check_manifest
from metaindex.index.log.sealed import from_text

from .layout import INTEGERS, PartInfo
from .rows import FORMAT_VERSION

MAX_BYTES = 256 << 20
"""Of a manifest, and of the footer of a part. What is larger is not read."""

_MAX_PART = 1 << 40
_MAX_ROWS = 2**31 - 1


def manifest_bytes(parts: Iterable[PartInfo]) -> bytes:
    """The manifest as JSON, one part a line."""
    names = sorted(field.name for field in fields(PartInfo))
    lines = ",\n".join(json.dumps({name: getattr(part, name) for name in names}) for part in parts)
    said = {"format_version": FORMAT_VERSION, "layout": {"version": LAYOUT_VERSION}, "reader_needs": []}
    return f'{json.dumps(said)[:-1]}, "parts": [\n{lines}\n]}}\n'.encode()


def parts_from_manifest(data: bytes, run: str) -> tuple[PartInfo, ...]:
    """The parts of a run. ValueError, or RecursionError, where it is no manifest; ForeignIndexError where it is one of
    a run that this metaindex does not know to read."""
    value = Fields(from_text(data), "the manifest")
    written = value.whole("format_version")
    if written != FORMAT_VERSION:
        raise ValueError(f"this metaindex reads format {FORMAT_VERSION}; it has format {written}; upgrade metaindex")
    layout = value.inside("layout")
    check_manifest(run, layout.whole("version", 1), value.texts("reader_needs"))
    layout.done()
    parts = tuple(_part(part) for part in value.each("parts"))
    value.done()
    return parts


def _part(v: Fields) -> PartInfo:
    keyed = {name: None if v.is_null(name) else v.whole(name) for name in ("first_key", "last_key")}
    texts = {name: None if v.is_null(name) else v.text(name) for name in ("least", "greatest")}
    part = PartInfo(
        kind=v.text("kind"),
        path=v.text("path"),
        rows=v.count("rows", _MAX_ROWS),
        size_bytes=v.count("size_bytes", _MAX_PART),
        footer_bytes=v.count("footer_bytes", MAX_BYTES),
        footer_digest=v.text("footer_digest"),
        first_key=keyed["first_key"],
        last_key=keyed["last_key"],
        least=texts["least"],
        greatest=texts["greatest"],
    )
    v.done()
    if part.footer_bytes > part.size_bytes:
        raise ValueError("a part: its footer is larger than it is")
    folder, *inside = part.path.split("/")
    if folder not in (part.kind, part.kind + INTEGERS) or not inside or ".." in inside:
        raise ValueError(f"a part: it lies in the folder of its kind, not at {part.path[:80]!r}")
    return part

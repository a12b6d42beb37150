"""The objects of a run inside an index folder: names of runs, folders of their parts, and what the manifest states of a
part."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import fields
from os import urandom

from metaindex.core import DamagedIndexError, ForeignIndexError, dataclass
from metaindex.index.log.entry import why_unknown
from metaindex.index.log.fields import Fields
from metaindex.index.log.sealed import from_text
from metaindex.index.store.rows import FORMAT_VERSION

_RUN = "run="
_RUN_NAME = re.compile(r"r[0-9a-f]{16}\Z")
INTEGERS = "_int"
"""Behind the folder's name of keys that are integers: the parts of a folder have one schema, so that engines can read
all of them as one table."""


def new_run_id() -> str:
    """A run's name: random, so that no two writers share a folder. It begins with a letter that no number has, as
    engines guess the type of what folders are called (`12e4` is one)."""
    return f"r{urandom(8).hex()}"


def is_run(name: str) -> bool:
    """Return whether `new_run_id` could have made the name."""
    return _RUN_NAME.match(name) is not None


def run_folder(kind: str, run: str) -> str:
    """The folder of a run's parts of a metadata partition. Engines that know Hive's partitions take the run for a
    column."""
    return f"{kind}/{_RUN}{run}"


def run_of(kind: str, path: str) -> str:
    """Return the run in whose folder a part of a metadata partition is."""
    return path.removeprefix(f"{kind}/").partition("/")[0].removeprefix(_RUN)


def run_named(path: str) -> str:
    """Return the run that a part or manifest belongs to; empty for an object that is no single run's."""
    folder, _, below = path.partition("/")
    run = below.removesuffix(".json")
    if path != manifest_path(run):
        run = "" if folder.startswith("_") or "/" not in below else run_of(folder, path)
    return run if is_run(run) else ""


def manifest_path(run: str) -> str:
    return f"_manifests/{run}.json"


@dataclass(frozen=True, slots=True)
class PartInfo:
    """A Parquet file of a run, as the manifest states it."""

    kind: str  # metadata partition: "files", "file_ids", "partitions", or that of a kind
    path: str  # relative to the index folder
    rows: int
    size_bytes: int
    footer_bytes: int  # with the 8 bytes behind it, and the page index before it if there is one: one exact read
    footer_digest: str  # sha256 hex of those bytes
    first_key: int | None = None  # of the leading sort column; None for binary keys
    last_key: int | None = None
    # Of the second sort column, where it is one by which parts are found: digits, or hex of the bytes.
    least: str | None = None
    greatest: str | None = None


def bound_number(part: PartInfo, text: str | None) -> int:
    """A bound of a part, in digits. DamagedIndexError where its manifest says no whole number of 64 bits."""
    number = int(text) if text is not None and _NUMBER.fullmatch(text) else None
    if number is None or not -(2**63) <= number < 2**63:
        raise _no_bound(part, text)
    return number


def bound_key(part: PartInfo, text: str | None) -> bytes:
    """A bound of a part, in hex of its bytes. DamagedIndexError where its manifest says something else."""
    try:
        return bytes.fromhex(str(text))
    except ValueError:
        raise _no_bound(part, text) from None


def _no_bound(part: PartInfo, text: str | None) -> DamagedIndexError:
    return DamagedIndexError.for_repair(
        f"a bound of a part is a whole number of 64 bits, or the hex of a key; that of {part.path[-120:]!r} is"
        f" {str(text)[:40]!r}"
    )


_NUMBER = re.compile(r"-?[0-9]{1,20}")


MAX_BYTES = 256 << 20
"""Of a manifest, and of the footer of a part. What is larger is not read."""

LAYOUT_VERSION = 1
"""Of what a run is laid out by: its folders, parts and their columns. A greater one is named among the needs, too."""

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
    version, needs = layout.whole("version", 1), value.texts("reader_needs")
    later = (f"layout version {version}",) if version > LAYOUT_VERSION else ()
    if (why := why_unknown(run, needs) or why_unknown(run, later)) is not None:
        raise ForeignIndexError(why)
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

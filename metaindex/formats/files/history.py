"""Remembered listings: what gives plain files a history.

A listing lies at `<parent>/_metaindex/<folder>/_history/<time>-<id>.listing` (or where the indexes are kept), a Parquet
file of the snapshot's file table with the schema in its metadata; it is written once and never changed. Names sort by
time, so one listing call tells all versions. What such a version promises is what was there then: a file that has gone
or was replaced since is still listed, and whoever opens it finds out.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.core import (
    CorruptTableError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageUnavailableError,
    VersionNotFoundError,
    moment,
)
from metaindex.formats.damage import as_damage, parse_json
from metaindex.formats.format import At, TableRef
from metaindex.formats.model import FileTable, Snapshot
from metaindex.storage import Storage, above, back_off, is_remote, name_of, own_folder

from .options import FilesOptions

_SUFFIX = ".listing"
_FORMAT = b"1"
_MOST_DIGITS = 18  # of the milliseconds in a name
_PUTS = 4  # tries where a store does not answer


@dataclass(frozen=True, slots=True)
class KeptListing:
    """A kept listing: when it was taken, its id, and its path."""

    timestamp_ms: int
    id: str
    path: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """Content of a kept listing: the files and their format, the folders below which partitions are looked for, and the
    columns of the data files (without partition columns; None: they were read under other options)."""

    timestamp_ms: int
    file_format: str
    data_schema: pa.Schema | None
    files: FileTable
    bases: frozenset[str]


def home_of(ref: TableRef) -> str:
    """Return the folder beside a table for what is kept of it, its indexes too."""
    return f"{above(ref.storage.root)}/_metaindex/{name_of(ref.storage.root, ref.patterns)}"


def _place(ref: TableRef) -> tuple[Storage, str]:
    """Return where listings are kept: beside the table, since overwriting a folder empties it."""
    if ref.history is not None:
        return ref.history, ""
    root, home = ref.storage.root, home_of(ref)
    folder = f"{home}/_history"
    return (ref.storage if is_remote(root) else own_folder(folder, home, root)), folder


def remembered(ref: TableRef) -> Sequence[KeptListing]:
    """List all kept listings, oldest first."""
    storage, folder = _place(ref)
    listings = []
    for info in storage.list(folder, recursive=False):
        name = info.path.rpartition("/")[2]
        if not name.endswith(_SUFFIX):
            continue
        moment, _, id_ = name.removesuffix(_SUFFIX).partition("-")
        if moment.isascii() and moment.isdecimal() and len(moment) <= _MOST_DIGITS and id_:
            listings.append(KeptListing(int(moment), id_, info.path))
    return listings


def remember(ref: TableRef, snapshot: Snapshot) -> None:
    """Keeps the listing of a snapshot of plain files as a version; nothing to do where the newest kept one is the
    same."""
    kept = remembered(ref)
    if kept and kept[-1].id == snapshot.version.id:
        return
    data = pa.schema([pa.field(f.name, f.type) for f in snapshot.schema if not f.partition or f.source])
    about = {
        b"metaindex.listing": _FORMAT,
        b"metaindex.timestamp_ms": str(snapshot.timestamp_ms).encode(),
        b"metaindex.file_format": str(snapshot.details.read_options()["file_format"]).encode(),
        b"metaindex.bases": json.dumps(sorted(getattr(snapshot.details, "bases", {""}))).encode(),
        b"metaindex.reader": _reader(ref),
        b"metaindex.schema": base64.b64encode(data.serialize().to_pybytes()),
    }
    sink = pa.BufferOutputStream()
    table = snapshot.files.table
    pq.write_table(table.replace_schema_metadata(about), sink, compression="zstd")
    # Later than every kept one, whatever the clock says: the order of versions is the order of remembering.
    moment = max(snapshot.timestamp_ms, kept[-1].timestamp_ms + 1 if kept else 0)
    storage, folder = _place(ref)
    path = f"{folder}/{moment:014d}-{snapshot.version.id}{_SUFFIX}".lstrip("/" if not folder else "")
    data = sink.getvalue().to_pybytes()
    for attempt in range(_PUTS):
        try:
            storage.put_if_absent(path, data)
        except ObjectExistsError:
            return  # somebody else remembered the same, or the answer to an earlier try was lost
        except StorageUnavailableError:
            if attempt == _PUTS - 1:
                raise
            back_off(attempt, 0.05)
        else:
            return


def find(ref: TableRef, at: At) -> KeptListing:
    """Find a kept listing: by id the newest with that id, by time the last one taken until then."""
    kept = remembered(ref)
    if at.version is not None:
        fits = [k for k in kept if k.id == str(at.version)]
    else:
        fits = [k for k in kept if at.timestamp_ms is not None and k.timestamp_ms <= at.timestamp_ms]
    if fits:
        return fits[-1]
    asked = (
        f"version {at.version!r}"
        if at.version is not None
        else f"version as old as {moment(at.timestamp_ms or 0, exact=True)}"
    )
    known = f"{len(kept)} are kept, from {kept[0].id} to {kept[-1].id}" if kept else "none is kept"
    raise VersionNotFoundError(
        f"plain files have the versions that were remembered by indexing them; {ref.path!r} has no {asked}: {known}"
    )


def recall(ref: TableRef, kept: KeptListing) -> Recalled:
    """Reads a kept listing."""
    damage = as_damage(f"the kept listing {kept.path!r} of {ref.path!r} is damaged: ", "; remove it")
    try:
        with damage, _place(ref)[0].open_input(kept.path) as source:
            table = pq.read_table(source)
            about = table.schema.metadata or {}
            if about.get(b"metaindex.listing") != _FORMAT:
                rule = f"the kept listing {kept.path!r} is of another format than {_FORMAT.decode()}"
                raise CorruptTableError(f"{rule}; use a newer metaindex")
            schema = None
            if about.get(b"metaindex.reader") == _reader(ref):
                schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(about[b"metaindex.schema"])))
            bases = frozenset(str(base) for base in parse_json(about.get(b"metaindex.bases", b'[""]')))
            file_format = about[b"metaindex.file_format"].decode()
    except ObjectNotFoundError as error:
        raise VersionNotFoundError(f"version {kept.id!r} of {ref.path!r} was removed while it was read") from error
    return Recalled(kept.timestamp_ms, file_format, schema, FileTable(table.replace_schema_metadata(None)), bases)


def forget(ref: TableRef, whole: Callable[[FileTable], bool]) -> int:
    """Removes the kept listings that cannot be read any more: damaged ones, and those of whose files `whole` says that
    not all are there. How many were removed."""
    lost = 0
    for kept in remembered(ref):
        try:
            if whole(recall(ref, kept).files):
                continue
        except (CorruptTableError, VersionNotFoundError):
            pass
        _place(ref)[0].delete(kept.path)
        lost += 1
    return lost


def _reader(ref: TableRef) -> bytes:
    """Fingerprint of the options that the columns were read with."""
    options = FilesOptions.of(ref.options)
    given = None if options.schema is None else str(options.schema)
    return json.dumps([options.format, given, sorted(options.reader.items())]).encode()

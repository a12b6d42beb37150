"""Files that an index knows by path and size, and that are other files to the file system: after chmod, a hard link, a
copy or a restored backup. A digest of the bytes that facts rest on tells whether they are what was indexed
(`build.digests`); size and time alone are never believed.

A run with files that are taken over is replaced by one of the same parts, with their present identities in `files` and
`file_ids`. Versions recorded with such a run are forgotten, as after a full refresh: their files are not there as they
were listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from metaindex.core import Progress, counted
from metaindex.formats import FileTable, Snapshot
from metaindex.index.build.digests import Basis, are_kept, digest
from metaindex.index.keys import FileIdentities, file_ids
from metaindex.index.log.entry import RunRef
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.rows import FILES
from metaindex.index.store.writer import RunSink, id_rows, side_by_side, write_sorted
from metaindex.storage import Storage

Ordinals = npt.NDArray[np.int64]
_ALIKE = ["path", "size_bytes", "partition"]
_OWN = ("files", "file_ids")


@dataclass(slots=True)
class TakenOver:
    """Files that are taken over: by run, rows of the snapshot by ordinal. `undigested`: files without a digest;
    `different`: those whose bytes are others, or in doubt."""

    rows: dict[str, dict[int, int]] = field(default_factory=dict)
    undigested: int = 0
    different: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what was found, for the user."""
        taken = sum(map(len, self.rows.values()))
        said = [f"{counted(taken, 'file')} taken over: the bytes that were indexed, as other files"] if taken else []
        if self.different:
            said.append(f"{counted(self.different, 'file')} read anew: other bytes than were indexed")
        if self.undigested:
            said.append(
                f"{counted(self.undigested, 'file')} read anew: the index keeps no digest of what it read before"
            )
        return tuple(said)


def taken_over(
    index: OpenIndex, storage: Storage, snapshot: Snapshot, fresh: Ordinals, progress: Progress | None
) -> TakenOver:
    """Find among the `fresh` rows of a snapshot, which no run knows, files that have the bytes that some run's facts
    rest on. Reads these bytes of each. DamagedIndexError."""
    out = TakenOver()
    table = snapshot.files.table.take(pa.array(fresh))
    files = table.select([*FileTable.IDENTITY, "partition"]).to_pylist()
    known: dict[int, str] = {}  # by row of the table
    runs = [run for run in reversed(index.entry.content.runs) if not run.listed_only]
    for run in runs if len(fresh) else ():
        ids = FileIdentities(snapshot.table_uuid, file_ids(FileTable(table)))
        rows, at = index.locate_paths(run, ids)
        if not len(rows):
            continue
        held = index.rows(run, "files", np.unique(at), [*_ALIKE, "digest"])
        of_ordinal = dict(zip(np.unique(at).tolist(), held.to_pylist(), strict=True))
        basis = Basis.of(index.reader(run), snapshot) if are_kept(snapshot, storage) else None
        for done, (row, ordinal) in enumerate(zip(rows.tolist(), at.tolist(), strict=True)):
            file, before = files[row], of_ordinal[ordinal]
            if known.get(row) == _TAKEN or any(file[name] != before[name] for name in _ALIKE):
                continue
            known[row] = _UNDIGESTED
            if basis is not None and isinstance(before["digest"], bytes):
                same = before["digest"] == digest(storage, file, basis.columns(ordinal), before["digest"])
                known[row] = _TAKEN if same else _DIFFERENT
                if same:
                    out.rows.setdefault(run.run, {})[ordinal] = int(fresh[row])
            if progress is not None:
                progress("files compared", done + 1, len(rows))
    found = [*known.values()]
    out.undigested, out.different = found.count(_UNDIGESTED), found.count(_DIFFERENT)
    return out


_TAKEN, _UNDIGESTED, _DIFFERENT = "taken", "undigested", "different"


def renewed(index: OpenIndex, run: RunRef, snapshot: Snapshot, rows: dict[int, int], sink: RunSink) -> RunRef:
    """Write a run with the parts of this one, in which files are those of the snapshot: `rows`, by ordinal. Raises
    DamagedIndexError where a part is not what its manifest says."""
    reader = index.reader(run)
    ordinals = np.array(sorted(rows), np.int64)
    now = snapshot.files.table.take(pa.array([rows[ordinal] for ordinal in ordinals.tolist()]))
    place = np.arange(run.files)
    place[ordinals] = run.files + np.arange(len(ordinals))
    table = index.rows(run, "files", np.arange(run.files), FILES.names)
    for name in ("modified_ms", "etag"):
        both = pa.chunked_array([*table.column(name).chunks, *now.column(name).chunks], FILES.field(name).type)
        table = table.set_column(FILES.get_field_index(name), FILES.field(name), both.take(pa.array(place)))
    ids = file_ids(FileTable(table))
    table = table.set_column(FILES.get_field_index("file_id"), FILES.field("file_id"), ids).cast(FILES)
    with side_by_side(sink) as many:
        parts = [*write_sorted(many, "files", table.combine_chunks()), *write_sorted(many, "file_ids", id_rows(ids))]
        parts += [many.copy(part, reader.whole(part)) for part in reader.every_part() if part.kind not in _OWN]
    sealed = sink.sealed(
        parts,
        files=run.files,
        partitions=run.partitions,
        files_digest=xxhash.xxh3_128_hexdigest(ids.buffers()[1] or b""),
        columns=run.columns,
        builder=run.builder,
        uncovered_files=run.uncovered_files,
        keys=run.keys,
        table_uuid=run.table_uuid,
    )
    return replace(
        run,
        run=sealed.run,
        size_bytes=sealed.size_bytes,
        manifest_bytes=sealed.manifest_bytes,
        manifest_digest=sealed.manifest_digest,
        files_digest=sealed.files_digest,
        created_ms=sealed.created_ms,
    )

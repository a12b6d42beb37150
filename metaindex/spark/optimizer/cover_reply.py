"""The reply about the covering index that stands for a scan: its parts, the files it serves, and the rows to be removed
(`Covering.java`)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import numpy as np

from metaindex.index import RowSizes

from .candidates import CoverCandidate
from .covers import Cover
from .replies import normal, packed, signs
from .request import Delta, SparkScan
from .serving import Serving

_HELD: Final = 16
"""Of how many indexes and versions what is told of them is held packed: it follows from immutable things."""


def told(cover: Cover, scan: SparkScan, root: str) -> dict[str, object]:
    """The reply about one scan."""
    candidate, served = cover.candidate, cover.candidate.serving
    reply: dict[str, object] = {
        "label": f"{cover.index}: covering",
        "columns": dict(candidate.columns),
        "buckets": candidate.layout.buckets if cover.bucket_spec else 0,
        "bucketed": list(candidate.bucketed),
        "bucketed_as": [candidate.columns[name] for name in candidate.bucketed],
        "partitioned": cover.partitioned,
        "leaves_out": cover.leaves_out,
        "joined": cover.joined,
        "bytes": _size(candidate, scan),
        "rows_of_key": sum(part.info.rows for _, part in candidate.parts) / served.keys if served.keys else 0,
        "parts": packed(_parts(candidate, scan.root)),
        "dead": _dead(served),
    }
    if not isinstance(scan.source, Delta) or not served.whole:
        reply["served"] = _files(served, root)
    if served.deleted:
        reply |= {"masked": candidate.masked, **_deleted(served)}
    return reply


def _size(candidate: CoverCandidate, scan: SparkScan) -> int:
    """Return the size of the index for Spark, by which it decides whether to send it to every task: what its rows take
    in memory, and no more than it takes the table for."""
    needed = sum(candidate.serving.column_bytes.get(name, 0) for name in candidate.columns.values())
    stored = candidate.layout.stored
    rows = sum(part.info.rows for _, part in candidate.parts)
    held = rows * (8 + sum(RowSizes.of_value(stored.field(name).type) for name in candidate.columns.values()))
    return max(1, needed, held if scan.bytes is None else min(held, scan.bytes))


def _parts(candidate: CoverCandidate, root: str) -> list[str]:
    """Number of the run, what Spark opens, and size of each part."""
    scheme = re.match(r"s3[an]?://", root)
    out = []
    for number, part in sorted(candidate.parts, key=lambda each: each[0]):
        uri = candidate.serving.index.storage.uri(part.path)
        if scheme is not None:
            uri = re.sub(r"^s3[an]?://", scheme[0], uri)
        out += [str(number), uri, str(part.info.size_bytes)]
    return out


@lru_cache(_HELD)
def _dead(served: Serving) -> str:
    """Number of the run and ordinal of each file whose rows the index has and that is not served."""
    rows = [(str(run.number), str(ordinal)) for run in served.runs for ordinal in run.dead.tolist()]
    return packed([text for row in rows for text in row])


@lru_cache(_HELD)
def _files(served: Serving, root: str) -> str:
    """Path, sign, number of the run and ordinal of each served file."""
    paths = normal(served.files, root)
    runs = [str(run.number) for run in served.runs for _ in run.served]
    ordinals = np.concatenate([run.served for run in served.runs]).tolist()
    rows = zip(paths.to_pylist(), signs(served.files).to_pylist(), runs, ordinals, strict=True)
    return packed([text for path, sign, run, ordinal in rows for text in (path, sign, run, str(ordinal))])


@lru_cache(_HELD)
def _deleted(served: Serving) -> dict[str, object]:
    """Deleted rows as numbers: run, ordinal and position side by side in 63 bits."""
    row_bits = max(int(max(positions)) for _, _, positions in served.deleted).bit_length()
    file_bits = max(ordinal for _, ordinal, _ in served.deleted).bit_length()
    file_bits = max(file_bits, max(run.run.files for run in served.runs).bit_length())
    run_bits = max(run.number for run in served.runs).bit_length()
    row_bits = max(row_bits, 40)  # rows behind the last deleted one must not run into the ordinal
    if row_bits + file_bits + run_bits > 62:
        raise OverflowError("places of deleted rows do not fit into 62 bits")
    places = [
        str((run << (row_bits + file_bits)) | (ordinal << row_bits) | int(row))
        for run, ordinal, positions in served.deleted
        for row in positions
    ]
    return {"deleted": packed(places), "run_shift": row_bits + file_bits, "file_shift": row_bits}

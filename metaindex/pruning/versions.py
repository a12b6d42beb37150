"""Which files of an index's runs are live at a recorded version: the chain of records, applied from its root."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pyroaring import BitMap

from expressions.statistics import Mask
from formats.model import Version
from metaindex.errors import DamagedIndexError
from metaindex.log.entry import Content, RunRef, VersionRecord


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """Of every run that has live files at a version: those that are not. Runs not named have none."""

    dead: Mapping[str, BitMap]

    def mask(self, run: RunRef) -> Mask:
        """True for each file of the run that is live."""
        live = np.ones(run.files, np.bool_)
        dead = self.dead.get(run.run)
        if dead is None:
            live[:] = False
        elif len(dead):
            live[np.frombuffer(dead.to_array(), np.uint32) if len(dead) else []] = False
        return live


def live_files(content: Content, record: VersionRecord) -> LiveFiles:
    """Walks the parents up to a record without one, then applies the differences downwards."""
    by_version: dict[Version, VersionRecord] = {r.version: r for r in content.versions}
    chain = [record]
    seen = {record.version}
    while chain[-1].parent is not None:
        parent = by_version.get(chain[-1].parent)
        if parent is None or parent.version in seen:
            raise DamagedIndexError(
                f"a recorded version names a recorded parent; version {chain[-1].version} does not; refresh the index with mode='full'"
            )
        seen.add(parent.version)
        chain.append(parent)
    known = {run.run: run.files for run in content.runs}
    dead: dict[str, BitMap] = {}
    for one in reversed(chain):
        for run in one.added:
            dead.setdefault(run, BitMap())
        for run, bits in one.removed.items():
            dead[run] = dead.get(run, BitMap()) | from_text(bits)
        for run, bits in one.restored.items():
            if run not in dead:
                dead[run] = BitMap(range(known.get(run, 0)))
            dead[run] = dead[run] - from_text(bits)
    if not dead.keys() <= known.keys():
        raise DamagedIndexError(
            "a recorded version names runs of its index; one does not; refresh the index with mode='full'"
        )
    return LiveFiles(dead)


def to_text(bits: BitMap) -> str:
    return base64.b64encode(bits.serialize()).decode()


def from_text(text: str) -> BitMap:
    return BitMap.deserialize(base64.b64decode(text))

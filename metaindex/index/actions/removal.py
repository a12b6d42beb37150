"""Removes objects from an index folder when that is safe.

Names of runs are random and never used twice, so what was listed stays garbage. Hence: list first, then ask the log
whether that still may go, then remove what was listed.

Only what an index writes is removed, by the names that it gives: `<kind>/run=<run>/...`, `_manifests/<run>.json`,
`_versions/<run>/...`. What lies there otherwise is somebody else's, and stays. A name that a log entry says is no
better: it is used only where a writer could have given it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from metaindex.index.log.liveness import FOLDER as HEARTBEATS
from metaindex.index.log.liveness import is_nonce
from metaindex.index.log.operation_log import OperationLog, entry_path
from metaindex.index.store.layout import is_run, manifest_path, run_folder, run_of
from metaindex.storage import KeepsLeftovers, ObjectInfo, Storage, SupportsVersions, each_at, meant_by

MANIFESTS, VERSIONS = "_manifests", "_versions"
GRACE_SECONDS = 3600
"""For what a put left of which it is not known whose it is: no put takes so long."""

_KIND = re.compile(r"[a-z][a-z0-9_]*\Z")


@dataclass(slots=True)
class OnStorage:
    """Objects in an index folder outside of its log: those of every run, whether an entry names it or not, and those
    that no index writes."""

    runs: dict[str, list[str]] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)

    def strangers(self) -> tuple[str, ...]:
        """A line about those, for the outcome of a verb."""
        if not self.strange:
            return ()
        return (f"{len(self.strange):,} objects that no index writes were left alone, such as {self.strange[0]!r}",)


def on_storage(storage: Storage) -> OnStorage:
    """The manifest first, so that what is half removed cannot be opened."""
    stored = OnStorage()

    def add(run: str, path: str) -> None:
        if is_run(run):
            stored.runs.setdefault(run, []).append(path)
        else:
            stored.strange.append(path)

    for info in storage.list(MANIFESTS, recursive=False):
        add(info.path.rpartition("/")[2].removesuffix(".json"), info.path)
    for kind in storage.folders(""):
        if not kind.startswith("_"):
            for info in storage.list(kind):
                add(_run_of(info.path) if _KIND.match(kind) else "", info.path)
    return stored


def version_objects(storage: Storage) -> list[str]:
    """The objects of `_versions`, with what dead writers left there."""
    return [info.path for info in storage.list(VERSIONS) if is_run(_run_of(info.path))]


def heartbeats(storage: Storage) -> list[str]:
    return [info.path for info in storage.list(HEARTBEATS, recursive=False) if is_nonce(info.path.rpartition("/")[2])]


def remove_everything(log: OperationLog, nonce: str) -> tuple[str, ...]:
    """Remove every object but the log, while the operation `nonce` is under way and so nobody else may write. Return
    what was left, and why."""
    storage = log.storage
    stored = on_storage(storage)
    objects = [path for paths in stored.runs.values() for path in paths]
    objects += [*version_objects(storage), *heartbeats(storage)]
    objects += [info.path for info in leftovers(storage) if not info.path.startswith("_log/")]
    latest = log.latest()
    if latest is None or all(mark.nonce != nonce for mark in latest.under_way):
        return ()
    remove(storage, objects)
    return (*stored.strangers(), *out_of_reach(storage, latest.id))


def remove(storage: Storage, paths: Iterable[str]) -> None:
    """Removes objects, some at a time where each is a request. Those gone already are no error."""
    each_at(storage.root, paths, storage.delete)


def remove_runs(storage: Storage, runs: Iterable[str]) -> None:
    """Removes all that the writer of some runs wrote. Of a name that no writer gives: nothing."""
    wanted = {run for run in runs if is_run(run)}
    for run in sorted(wanted):
        storage.delete(manifest_path(run))
        remove(storage, [info.path for info in storage.list(f"{VERSIONS}/{run}")])
        for kind in storage.folders(""):
            if not kind.startswith("_"):
                remove(storage, [info.path for info in storage.list(run_folder(kind, run))])
    if wanted:
        remove(storage, [info.path for info in leftovers(storage) if _writer_of(info.path) in wanted])


def leftovers(storage: Storage) -> list[ObjectInfo]:
    """List temporary files of killed puts, and of puts under way."""
    return list(storage.leftovers()) if isinstance(storage, KeepsLeftovers) else []


def abandoned(left: Iterable[ObjectInfo], writing: Collection[str], now_ns: int) -> list[str]:
    """Return leftovers whose writer must have ended: a run's, unless an operation under way writes it (read after the
    listing); any other's once it is old."""
    out = []
    for info in left:
        run = _writer_of(info.path)
        if (run not in writing) if run else (info.modified_ns < now_ns - GRACE_SECONDS * 10**9):
            out.append(info.path)
    return out


def out_of_reach(storage: Storage, entry: int) -> tuple[str, ...]:
    """A line about what a store keeps of removed objects. `entry`: of the log, one that is there."""
    if not isinstance(storage, SupportsVersions) or not storage.keeps_versions(entry_path(entry)):
        return ()
    return (
        (
            "the bucket keeps removed objects as older versions, which this does not reach; let a lifecycle rule of the"
            " bucket expire them"
        ),
    )


def _run_of(path: str) -> str:
    """Return the run of `<kind>/run=<run>/<object>`, at any depth; empty for a path outside of a run's folder."""
    kind, _, below = path.partition("/")
    return run_of(kind, path) if "/" in below else ""


def _writer_of(temporary: str) -> str:
    """The run whose object a put was about to make; empty where that is not known."""
    path = meant_by(temporary)
    run = (
        path.removeprefix(f"{MANIFESTS}/").removesuffix(".json") if path.startswith(f"{MANIFESTS}/") else _run_of(path)
    )
    return run if is_run(run) else ""

"""What is removed from an index folder, and when that is safe.

Names of runs are random and never used twice, so what was listed stays garbage. Hence: list first, then ask the log whether that still may go, then remove what was listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from formats.storage import Storage
from metaindex.log.liveness import FOLDER as HEARTBEATS
from metaindex.log.operation_log import OperationLog
from metaindex.store.layout import run_folder, run_of
from metaindex.store.reader import manifest_path

MANIFESTS, VERSIONS = "_manifests", "_versions"
_THREADS = 16


def objects_by_run(storage: Storage) -> dict[str, list[str]]:
    """The objects of every run on storage, whether an entry names it or not: the manifest first, so that what is half removed cannot be opened."""
    found: dict[str, list[str]] = {}
    for info in storage.list(MANIFESTS, recursive=False):
        found.setdefault(info.path.rpartition("/")[2].removesuffix(".json"), []).append(info.path)
    for kind in storage.folders(""):
        if not kind.startswith("_"):
            for info in storage.list(kind):
                found.setdefault(run_of(kind, info.path), []).append(info.path)
    return found


def remove_everything(log: OperationLog, nonce: str) -> None:
    """Removes every object but the log, as long as the operation `nonce` is under way: nobody else may write then."""
    storage = log.storage
    objects = [path for paths in objects_by_run(storage).values() for path in paths]
    objects += [info.path for folder in (HEARTBEATS, VERSIONS) for info in storage.list(folder)]
    latest = log.latest()
    if latest is not None and any(mark.nonce == nonce for mark in latest.under_way):
        remove(storage, objects)


def remove(storage: Storage, paths: Iterable[str]) -> None:
    """Removes objects, some at a time where each is a request. Those gone already are no error."""
    if "://" not in storage.root:
        for path in paths:
            storage.delete(path)
        return
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(storage.delete, paths))


def remove_runs(storage: Storage, runs: Iterable[str]) -> None:
    """Removes all that the writer of some runs wrote."""
    for run in runs:
        storage.delete(manifest_path(run))
        remove(storage, [info.path for info in storage.list(f"{VERSIONS}/{run}")])
        for kind in storage.folders(""):
            if not kind.startswith("_"):
                remove(storage, [info.path for info in storage.list(run_folder(kind, run))])

"""The one error of this folder (builders meet it too, so it stands with the room's other errors), and how errors name a
file."""

from metaindex.core import ScanError
from metaindex.formats.model import Snapshot

__all__ = ["ScanError", "describe"]


def describe(snapshot: Snapshot, path: str) -> str:
    """A data file as errors name it."""
    return f"data file {snapshot.uri(path)} of {snapshot.format} table {snapshot.table} at version {snapshot.version}"

"""The one error of this folder. Builders meet it too, so it stands with the room's other errors."""

from metaindex.errors import ScanError

__all__ = ["ScanError"]

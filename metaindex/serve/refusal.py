"""The refusal of a request."""

from __future__ import annotations

from metaindex.core import MetaIndexError


class Refusal(MetaIndexError):
    """A request that is answered by an error of the protocol. `kind`: Iceberg's name of the exception, by which clients
    raise their own."""

    def __init__(self, message: str, *, status: int = 400, kind: str = "BadRequestException") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind

    @classmethod
    def unsupported(cls, message: str) -> Refusal:
        """Return the refusal of what no retry and no other spelling makes possible."""
        return cls(message, status=406, kind="UnsupportedOperationException")

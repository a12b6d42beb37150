"""The builder that the size of the files chooses, each time some are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from metaindex.kinds.kind import PlannedKey
from metaindex.kinds.served import RowPlan
from metaindex.store.writer import RunSink

from .protocol import Builder, BuildReport, BuildRequest, KeyBuild, Progress


@dataclass(slots=True)
class BySize:
    """Builds here what is small, and on the session what is not, as long as there is one. `name`: who built last."""

    here: Builder
    running: Callable[[], Builder | None]
    most_bytes: int
    name: str = "local"

    def facts(self, request: BuildRequest, sink: RunSink, progress: Progress | None = None) -> BuildReport:
        """See `protocol.Builder`."""
        return self._for(request).facts(request, sink, progress)

    def keys(
        self, request: BuildRequest, plans: Sequence[PlannedKey], sink: RunSink, progress: Progress | None = None
    ) -> KeyBuild:
        """See `protocol.Builder`."""
        return self._for(request).keys(request, plans, sink, progress)

    def rows(
        self, request: BuildRequest, plans: Sequence[RowPlan], sink: RunSink, progress: Progress | None = None
    ) -> KeyBuild:
        """See `protocol.Builder`."""
        return self._for(request).rows(request, plans, sink, progress)

    def _for(self, request: BuildRequest) -> Builder:
        large = request.files.size_bytes > self.most_bytes
        builder = (self.running() if large else None) or self.here
        self.name = builder.name
        return builder

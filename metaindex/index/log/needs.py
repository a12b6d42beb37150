"""Features that a reader must know before it may trust a byte of a run, by name. A newer metaindex that lays out a run
in another way, or stores another kind in it, names what is new there in `reader_needs`; a reader that does not know one
of the names leaves out that run, with the reason, and keeps its files. Other runs of the index answer as ever.

The names stand in the log entry, so that nothing of such a run is read, and in its manifest, which says with them what
the run is.
"""

from __future__ import annotations

from metaindex.core import ForeignIndexError

from .entry import IndexLogEntry, RunRef

KNOWN: frozenset[str] = frozenset()
"""The features that this metaindex reads. None has a name yet: all that format 3 says is taken for known."""

LAYOUT_VERSION = 1
"""Of what a run is laid out by: its folders, parts and their columns. A greater one is named among the needs, too."""


def unknown(run: RunRef) -> str | None:
    """Return why the run is ignored, or None."""
    lacking = [need for need in run.reader_needs if need not in KNOWN]
    return None if not lacking else _said(run.run, lacking)


def check_writable(verb: str, entry: IndexLogEntry) -> None:
    """ForeignIndexError where a run is not understood: who cannot read it does not merge, replace or mend it."""
    for run in entry.content.runs:
        if (why := unknown(run)) is not None:
            raise ForeignIndexError(f"{verb} needs runs that this metaindex can read; of index {entry.name!r} {why}")


def check_manifest(run: str, layout_version: int, needs: tuple[str, ...]) -> None:
    """ForeignIndexError where the manifest of a run says that it needs more than is known here."""
    lacking = [need for need in needs if need not in KNOWN]
    if layout_version > LAYOUT_VERSION and not lacking:
        lacking = [f"layout version {layout_version}"]
    if lacking:
        raise ForeignIndexError(_said(run, lacking))


def _said(run: str, lacking: list[str]) -> str:
    names = ", ".join(repr(need[:80]) for need in lacking[:5])
    return f"run {run!r} was written by a newer metaindex: to read it one must know {names}; upgrade metaindex"

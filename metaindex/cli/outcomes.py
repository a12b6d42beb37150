"""Output of the verbs that change an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaindex.core import Output
from metaindex.statements import in_options

from .arguments import DONE

if TYPE_CHECKING:
    from metaindex.index import Outcome


def report(outcome: Outcome, out: Output) -> int:
    entry = outcome.entry
    out.data(
        {
            "index": outcome.index,
            "operation": outcome.operation,
            "changed": outcome.changed,
            "state": entry.state.value,
            "entry": entry.id,
            "files": entry.content.versions[-1].files if entry.content.versions else 0,
            "size_bytes": sum(run.size_bytes for run in entry.content.runs),
            "notes": [in_options(note) for note in outcome.notes],
        }
    )
    out.write(in_options(str(outcome)))
    return DONE

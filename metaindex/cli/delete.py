"""`metaindex delete TABLE NAME`: no query uses the index any more."""

from __future__ import annotations

import argparse
import re
import shlex
from dataclasses import replace

from metaindex.views.output import Output

from .command import Command
from .lifecycle import table_and_name
from .opening import open_from
from .outcomes import report

_VERB = re.compile(r"(restore|vacuum)_index\('[^']*'\)")


def _run(args: argparse.Namespace, out: Output) -> int:
    outcome = open_from(args).delete_index(args.name)

    def command(verb: re.Match[str]) -> str:
        """The same, with another verb: what names the table names it there, too."""
        at = args.words.index("delete")
        return shlex.join(["metaindex", *args.words[:at], verb[1], *args.words[at + 1 :]])

    told = (_VERB.sub(lambda verb: f"`{command(verb)}`", note) for note in outcome.notes)
    return report(replace(outcome, notes=tuple(told)), out)


COMMAND = Command(
    "delete",
    "stop using an index; can be restored",
    """Deletes an index softly: no query uses it from now on, its files stay. `restore` brings it back as it was,
`vacuum` removes the files for good.""",
    ("metaindex delete lake/flights stats", "metaindex restore lake/flights stats"),
    table_and_name,
    _run,
)

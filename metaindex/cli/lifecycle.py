"""The verbs that read no data file: enable, disable, delete, restore, cancel, vacuum."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from metaindex.core import Output

from . import arguments
from .command import Command
from .opening import open_from
from .outcomes import report

if TYPE_CHECKING:
    from metaindex.index import Outcome
    from metaindex.table import Table


def _table_and_name(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.index_name(parser)


def _runs(verb: Callable[[Table, str], Outcome]) -> Callable[[argparse.Namespace, Output], int]:
    def run(args: argparse.Namespace, out: Output) -> int:
        return report(verb(open_from(args), args.name), out)

    return run


ENABLE = Command(
    "enable",
    "let queries use a disabled index again",
    """Lets queries use an index that `disable` took out. It was refreshed meanwhile, if anybody did.""",
    ("metaindex enable lake/flights stats",),
    _table_and_name,
    _runs(lambda table, name: table.enable_index(name)),
)

DISABLE = Command(
    "disable",
    "take an index out of use for a while",
    """Takes an index out of use at once: queries do without it until `enable`. Unlike with `delete` it is still
refreshed, optimized and cleaned.""",
    ("metaindex disable lake/flights stats", "metaindex enable lake/flights stats"),
    _table_and_name,
    _runs(lambda table, name: table.disable_index(name)),
)


_VERB = re.compile(r"(restore|vacuum)_index\('[^']*'\)")


def _delete(args: argparse.Namespace, out: Output) -> int:
    outcome = open_from(args).delete_index(args.name)

    def command(verb: re.Match[str]) -> str:
        """Return this command with another verb; the words that name the table stay."""
        at = args.words.index("delete")
        return shlex.join(["metaindex", *args.words[:at], verb[1], *args.words[at + 1 :]])

    told = (_VERB.sub(lambda verb: f"`{command(verb)}`", note) for note in outcome.notes)
    return report(replace(outcome, notes=tuple(told)), out)


DELETE = Command(
    "delete",
    "stop using an index; can be restored",
    """Deletes an index softly: no query uses it from now on, its files stay. `restore` brings it back as it was,
`vacuum` removes the files for good.""",
    ("metaindex delete lake/flights stats", "metaindex restore lake/flights stats"),
    _table_and_name,
    _delete,
)


RESTORE = Command(
    "restore",
    "bring a deleted index back",
    """Brings back an index that was deleted and not yet vacuumed. It is what it was when it was deleted: refresh it
when the table changed since.""",
    ("metaindex restore lake/flights stats",),
    _table_and_name,
    _runs(lambda table, name: table.restore_index(name)),
)

CANCEL = Command(
    "cancel",
    "end an operation whose writer is dead",
    """Ends the operations that are under way on an index, for when the process that began one has died. What the index
held before stays in use; a writer that is alive after all fails when it commits, and nothing of its work is
visible.""",
    (
        "metaindex indexes lake/flights          shows the state, such as REFRESHING",
        "metaindex cancel lake/flights stats",
    ),
    _table_and_name,
    _runs(lambda table, name: table.cancel_index(name)),
)

VACUUM = Command(
    "vacuum",
    "remove the files of a deleted index for good",
    """Removes the files of an index that was deleted before. This cannot be undone; the name is free afterwards.
The table's own files are never touched.""",
    ("metaindex delete lake/flights stats", "metaindex vacuum lake/flights stats"),
    _table_and_name,
    _runs(lambda table, name: table.vacuum_index(name)),
)

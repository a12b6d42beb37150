"""The verbs that read no data file: delete, restore, cancel, vacuum. Each names its own words; the way is the same."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from metaindex.views.output import Output

from . import arguments
from .opening import open_from
from .outcomes import report

if TYPE_CHECKING:
    from metaindex.actions.action import Outcome
    from metaindex.table.face import Table


def table_and_name(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.index_name(parser)


def runs(verb: Callable[[Table, str], Outcome]) -> Callable[[argparse.Namespace, Output], int]:
    def run(args: argparse.Namespace, out: Output) -> int:
        return report(verb(open_from(args), args.name), out)

    return run

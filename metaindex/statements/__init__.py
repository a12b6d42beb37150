"""Statements about indexes: their grammar, and what they do."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .execution.files import FileTables as FileTables
    from .execution.files import explained as explained
    from .execution.files import sql as sql
    from .execution.results import FORMATTED as FORMATTED
    from .execution.results import StatementResult as StatementResult
    from .execution.results import result as result
    from .execution.results import schema_of as schema_of
    from .execution.run import AskedTables as AskedTables
    from .execution.run import run as run
    from .grammar.parsing import is_ours as is_ours
    from .grammar.parsing import parsed as parsed
    from .grammar.parsing import placed as placed
    from .grammar.parsing import slip as slip
    from .grammar.parsing import split as split
    from .grammar.query_tables import begins_as_query as begins_as_query
    from .grammar.query_tables import no_query as no_query
    from .grammar.query_tables import path_between_quotes as path_between_quotes
    from .grammar.tokens import Token as Token
    from .grammar.tokens import pointed as pointed
    from .grammar.tokens import tokens as tokens
    from .grammar.tree import ChangeIndex as ChangeIndex
    from .grammar.tree import CreateIndex as CreateIndex
    from .grammar.tree import Statement as Statement
    from .grammar.tree import TableName as TableName
    from .grammar.verbs import ALSO as ALSO
    from .grammar.verbs import FORMS as FORMS
    from .grammar.verbs import INSTEAD as INSTEAD
    from .grammar.verbs import VERBS as VERBS

__getattr__, __dir__ = door(__name__)

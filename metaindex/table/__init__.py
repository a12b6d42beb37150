"""A table and its indexes, as a user holds them; the values that it answers with."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .below import tables_below as tables_below
    from .commands import command as command
    from .configuration import PLACES as PLACES
    from .configuration import config_of as config_of
    from .configuration import configured as configured
    from .face import Table as Table
    from .face import handle_of as handle_of
    from .face import queries_of as queries_of
    from .folder_of_tables import hint as hint
    from .missing_option import NextStep as NextStep
    from .missing_option import opened_with as opened_with
    from .missing_option import readable_with as readable_with
    from .missing_option import replacing as replacing
    from .missing_option import what_helps as what_helps
    from .narrowing import narrowed as narrowed
    from .opening import check_options as check_options
    from .opening import open_as_read as open_as_read
    from .opening import open_table as open_table
    from .upkeep import indexes as indexes
    from .verbs import create as create
    from .verbs import refresh as refresh
    from .views.history import History as History
    from .views.history import history as history
    from .views.history import history_schema as history_schema
    from .views.info import IndexInfo as IndexInfo
    from .views.info import IndexList as IndexList
    from .views.info import old_remarks as old_remarks
    from .views.info import options_in_words_of as options_in_words_of
    from .views.info import sayable as sayable
    from .views.info import short_version as short_version
    from .views.info import size_in_words as size_in_words
    from .views.info import state_in_words as state_in_words
    from .views.info import unread_in_words as unread_in_words
    from .views.latest import index_info as index_info
else:
    __getattr__, __dir__ = door(
        __name__,
        {
            "below": "tables_below",
            "commands": "command",
            "configuration": "PLACES config_of configured",
            "face": "Table handle_of queries_of",
            "folder_of_tables": "hint",
            "missing_option": "NextStep opened_with readable_with replacing what_helps",
            "narrowing": "narrowed",
            "opening": "check_options open_as_read open_table",
            "upkeep": "indexes",
            "verbs": "create refresh",
            "views.history": "History history history_schema",
            "views.info": (
                "IndexInfo IndexList old_remarks options_in_words_of sayable short_version "
                "size_in_words state_in_words unread_in_words"
            ),
            "views.latest": "index_info",
        },
    )

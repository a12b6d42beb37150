"""A table and its indexes, as a user holds them; the values that it answers with."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .configuration import PLACES as PLACES
    from .configuration import config_of as config_of
    from .configuration import configured as configured
    from .face import Table as Table
    from .face import handle_of as handle_of
    from .folders import hint as hint
    from .folders import tables_below as tables_below
    from .narrowing import narrowed as narrowed
    from .opening import check_options as check_options
    from .opening import open_table as open_table
    from .unread_files import UnreadFiles as UnreadFiles
    from .upkeep import indexes as indexes
    from .verbs import refresh as refresh
    from .views.history import History as History
    from .views.info import IndexInfo as IndexInfo
    from .views.info import IndexList as IndexList
    from .views.info import sayable as sayable

__getattr__, __dir__ = door(__name__)

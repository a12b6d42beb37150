"""`metaindex enable TABLE NAME`: let queries use a disabled index again."""

from .command import Command
from .lifecycle import runs, table_and_name

COMMAND = Command(
    "enable",
    "let queries use a disabled index again",
    """Lets queries use an index that `disable` took out. It was refreshed meanwhile, if anybody did.""",
    ("metaindex enable lake/flights stats",),
    table_and_name,
    runs(lambda table, name: table.enable_index(name)),
)

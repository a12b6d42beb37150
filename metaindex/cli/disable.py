"""`metaindex disable TABLE NAME`: take an index out of use for a while."""

from .command import Command
from .lifecycle import runs, table_and_name

COMMAND = Command(
    "disable",
    "take an index out of use for a while",
    """Takes an index out of use at once: queries do without it until `enable`. Unlike with `delete` it is still
refreshed, optimized and cleaned.""",
    ("metaindex disable lake/flights stats", "metaindex enable lake/flights stats"),
    table_and_name,
    runs(lambda table, name: table.disable_index(name)),
)

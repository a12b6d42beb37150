"""`metaindex vacuum TABLE NAME`: remove the files of a deleted index."""

from .command import Command
from .lifecycle import runs, table_and_name

COMMAND = Command(
    "vacuum",
    "remove the files of a deleted index for good",
    """Removes the files of an index that was deleted before. This cannot be undone; the name is free afterwards.
The table's own files are never touched.""",
    ("metaindex delete lake/flights stats", "metaindex vacuum lake/flights stats"),
    table_and_name,
    runs(lambda table, name: table.vacuum_index(name)),
)

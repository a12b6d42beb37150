"""`metaindex restore TABLE NAME`: bring a deleted index back."""

from .command import Command
from .lifecycle import runs, table_and_name

COMMAND = Command(
    "restore",
    "bring a deleted index back",
    """Brings back an index that was deleted and not yet vacuumed. It is what it was when it was deleted: refresh it
when the table changed since.""",
    ("metaindex restore lake/flights stats",),
    table_and_name,
    runs(lambda table, name: table.restore_index(name)),
)

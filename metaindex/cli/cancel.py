"""`metaindex cancel TABLE NAME`: end an operation whose writer is dead."""

from .command import Command
from .lifecycle import runs, table_and_name

COMMAND = Command(
    "cancel",
    "end an operation whose writer is dead",
    """Ends the operations that are under way on an index, for when the process that began one has died. What the index
held before stays in use; a writer that is alive after all fails when it commits, and nothing of its work is
visible.""",
    (
        "metaindex indexes lake/flights          shows the state, such as REFRESHING",
        "metaindex cancel lake/flights stats",
    ),
    table_and_name,
    runs(lambda table, name: table.cancel_index(name)),
)

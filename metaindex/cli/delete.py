"""`metaindex delete TABLE NAME`: no query uses the index any more."""

from .command import Command
from .lifecycle import runs, table_and_name

COMMAND = Command(
    "delete",
    "stop using an index; can be restored",
    """Deletes an index softly: no query uses it from now on, its files stay. `restore` brings it back as it was,
`vacuum` removes the files for good.""",
    ("metaindex delete lake/flights stats", "metaindex restore lake/flights stats"),
    table_and_name,
    runs(lambda table, name: table.delete_index(name)),
)

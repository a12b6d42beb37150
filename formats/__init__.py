"""What files there are, and which of their rows live. Reads logs and footers, never data pages."""

__metaindex_room__ = "a room of metaindex"  # told from a stranger's package of the same name

"""The query log of a table: its queries, what the indexes spared them, and whether that was worth the upkeep."""

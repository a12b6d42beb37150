"""Hypothetical indexes: what one would skip, and cost. Candidates are built over some files of the table, in a
temporary folder, and pruned with as queries are. Nothing is written in or beside the table."""

"""What would an index leave out, and what would it cost? Candidates are built over some files of the table, in a folder
that goes at once, and asked by the same walk that queries use. Nothing is written in or beside the table."""

"""How are the rows of a table laid out over its files, and what would another layout leave out? Measured from bounds
that are there; what a rewrite would do is estimated from a sample of files. Nothing is written."""

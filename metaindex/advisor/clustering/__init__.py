"""The layout of a table's rows over its files, and what another layout would skip. Measured from existing bounds; the
effect of a rewrite is estimated from a sample of files. Nothing is written."""

"""Scalar expressions of a row: what a condition compares that is more than a column and a literal.

`nodes` is the tree, `types` how Spark finds a common type, `functions` the table of functions whose meaning is known,
`folding` works out what has no column, `preimages` turns a comparison of a function into one of its column, and
`written` writes an expression for DuckDB or Spark. `engines/sql_scalars` reads them from SQL.

Promise: an expression means what Spark (ANSI mode, its default) makes of it, and where it would fail it raises. What is
not in the table is refused by name.
"""

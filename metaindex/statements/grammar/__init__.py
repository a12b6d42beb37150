"""The grammar of statements about indexes. `CREATE INDEX find ON flights USING values (tailnum)`: a text becomes a
frozen value, and back. Knows no table and no engine; `metaindex.statements.execution` runs the parsed statements, in
Spark or without."""

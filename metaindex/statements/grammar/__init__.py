"""What does a statement about indexes say? `CREATE INDEX find ON flights USING values (tailnum)`: a text becomes a
frozen value, and back. Knows no table and no engine; `metaindex.statements.execution` runs what is read here, in Spark
or without."""

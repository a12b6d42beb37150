"""Execution of statements about indexes: runs what `metaindex.statements.grammar` parses, by the verbs of `Table`. The
caller resolves table names: a session of Spark, or paths (`files`)."""

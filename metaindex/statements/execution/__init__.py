"""What does a statement about indexes do? Runs what `metaindex.statements.grammar` reads, by the verbs of `Table`.
Which tables its names mean says whoever runs it: a session of Spark, or paths (`files`)."""

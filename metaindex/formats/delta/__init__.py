"""Delta tables: our own log reader, without a JVM."""

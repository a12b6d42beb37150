"""Spark's event logs, read without Spark: what its queries read of tables."""

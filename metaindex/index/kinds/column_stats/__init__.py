"""Least and greatest values and counts, of files and of partitions (RFC-27)."""

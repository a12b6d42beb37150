"""Pruning: the files that can hold rows that match. One predicate, one walk, many sources of statistics."""

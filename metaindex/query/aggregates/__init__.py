"""Answers about a table's rows that read little of it: the first rows, counts and extremes."""

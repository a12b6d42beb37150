"""The inverted index: value -> files and row groups, by hash or by value (the EDBT paper); and lists of the distinct
values of every file, which are the same rows."""

"""A table at a glance: a page of what its files, its indexes and its queries are, to be looked at in a browser."""

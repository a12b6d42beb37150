"""Semi-joins: the rows of a table that have their keys in another one, and what follows for its files."""

"""A whole lake: which tables there are, how their indexes stand, what they save, and upkeep of all of them."""

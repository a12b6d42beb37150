"""Which files can hold rows that match? One predicate, one walk, many sources of answers."""

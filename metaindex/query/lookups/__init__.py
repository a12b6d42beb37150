"""Look-ups: the files, row groups and rows in which a predicate, a text or keys are found."""

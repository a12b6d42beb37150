"""Views of answers, of indexes and of their history, for people; and as plain data for machines."""

"""What a person sees: of answers, of indexes and of their history. The same as plain data for machines."""

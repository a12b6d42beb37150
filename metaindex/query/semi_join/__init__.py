"""Which rows of a table have their keys in another one, and what follows of that for its files?"""

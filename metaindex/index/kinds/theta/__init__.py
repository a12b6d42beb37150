"""Theta sketches of values, whatever index keeps them."""

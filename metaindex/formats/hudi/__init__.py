"""Hudi: copy-on-write tables, from their timeline and the write statistics of their commits."""

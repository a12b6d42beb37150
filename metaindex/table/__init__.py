"""One table and its indexes: the face that users hold, and what stands behind it."""

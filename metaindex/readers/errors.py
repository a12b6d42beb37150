"""The one error of this room: a scan is refused whole rather than answered with other rows than Spark's."""

from expressions.errors import MetaIndexError


class ScanError(MetaIndexError):
    """A reader that cannot return exactly the rows asked for says so, by name, and returns none."""

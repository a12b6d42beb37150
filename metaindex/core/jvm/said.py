"""Turns Spark's errors into one line."""

from __future__ import annotations

from metaindex.core.expression_errors import first_line


def said_by_spark(error: BaseException) -> str:
    """Return the message of an error. If PySpark has no class for it, the message is Java's, perhaps of its cause;
    Python only reports that a call failed. Never raises: the JVM may be gone."""
    try:
        outer = thrown = getattr(error, "java_exception", None)
        while thrown is not None and not str(thrown.getClass().getName()).startswith("org.apache.spark."):
            thrown = thrown.getCause()
        said = outer if thrown is None else thrown
        return first_line(error if said is None else Exception(str(said.toString())))
    except Exception:  # noqa: BLE001 - the error that is told of is the one that matters
        return first_line(error)

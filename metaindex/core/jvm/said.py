"""What Spark says of what went wrong, in one line."""

from __future__ import annotations

from metaindex.core.expression_errors import first_line


def said_by_spark(error: BaseException) -> str:
    """What an error says. Of one that PySpark has no class for Java says it, perhaps in what caused it; Python says
    that a call failed. Nothing is raised: Java may be gone."""
    try:
        outer = thrown = getattr(error, "java_exception", None)
        while thrown is not None and not str(thrown.getClass().getName()).startswith("org.apache.spark."):
            thrown = thrown.getCause()
        said = outer if thrown is None else thrown
        return first_line(error if said is None else Exception(str(said.toString())))
    except Exception:  # noqa: BLE001 - the error that is told of is the one that matters
        return first_line(error)

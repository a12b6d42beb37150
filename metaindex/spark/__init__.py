"""What the project asks of Spark: a Java to run it, the jars it needs, a session with both formats.

Importing this room costs nothing: pyspark is loaded by the functions that use it.
"""

from .session import spark_session

__all__ = ["spark_session"]

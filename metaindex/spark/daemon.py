"""A standalone cluster's processes from the pyspark that is installed: its package has the classes and not the scripts
that start them."""

import os
from pathlib import Path
from typing import Literal, NoReturn

from metaindex.core import MissingDependencyError

from .runtime import find_java

_CLASSES = {"master": "org.apache.spark.deploy.master.Master", "worker": "org.apache.spark.deploy.worker.Worker"}


def run_daemon(role: Literal["master", "worker"], arguments: list[str]) -> NoReturn:
    """Becomes the master or a worker, in the foreground; `arguments` are Spark's own (a worker's last one is the
    master's address). Never returns."""
    try:
        import pyspark
    except ImportError as error:
        raise MissingDependencyError(
            "a daemon of Spark needs pyspark; it is not installed; install metaindex with the extra: metaindex[spark]"
        ) from error
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "JAVA_HOME": str(find_java().home), "SPARK_HOME": str(home)}
    program = str(home / "bin" / "spark-class")
    os.execve(program, [program, _CLASSES[role], *arguments], environment)  # noqa: S606 - Spark's own script, no shell

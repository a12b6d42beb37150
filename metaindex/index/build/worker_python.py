"""Checks the Python of Spark's workers and its packages: one task asks, once per application, before another fails with
pages of traces.

The question is a text, so that a worker without metaindex can answer it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metaindex.core import WorkerError, interrupts_first, one_line, tagged

if TYPE_CHECKING:
    from pyspark import SparkContext

PACKAGES = ("numpy", "pyarrow", "xxhash", "pyroaring")
"""What tasks import, beside metaindex itself."""
_LEAST_ARROW = 19
_NOT_STARTED = (
    "Error from python worker",
    "pyspark.daemon's stdout",
    "Python worker exited unexpectedly",
    "Python worker failed to connect back",
)
_QUESTION = f"""
def answers(_):
    import importlib, json, sys
    told = {{"executable": sys.executable, "missing": [], "versions": {{}}}}
    for name in ("metaindex", *{PACKAGES!r}):
        try:
            told["versions"][name] = str(getattr(importlib.import_module(name), "__version__", ""))
        except Exception:
            told["missing"].append(name)
    return iter([json.dumps(told)])
"""


@dataclass(frozen=True, slots=True)
class WorkerPython:
    """Answer of a worker. `missing`: packages that it cannot import. `metaindex_version`: empty if not installed."""

    executable: str
    missing: tuple[str, ...]
    metaindex_version: str
    arrow: str

    @property
    def has_ours(self) -> bool:
        return self.metaindex_version == getattr(sys.modules["metaindex"], "__version__", None)

    def check(self, only_spark: bool) -> None:
        """WorkerError where tasks would fail. `only_spark`: see `cure`."""
        if self.missing:
            raise WorkerError(
                f"Spark's workers run a Python that has {', '.join(PACKAGES)}; {self.executable} lacks"
                f" {', '.join(self.missing)}; {cure(only_spark)}"
            )
        major = re.match(r"\d+", self.arrow)
        if major is not None and int(major[0]) < _LEAST_ARROW:
            raise WorkerError(
                f"Spark's workers need pyarrow {_LEAST_ARROW} or newer; that of {self.executable} is {self.arrow};"
                f" {cure(only_spark)}"
            )


def cure(only_spark: bool) -> str:
    """Return the cure. `only_spark`: no other builder can build one of the kinds."""
    elsewhere = "covering indexes are built by them alone" if only_spark else "or build with builder='local'"
    return (
        f"before the session starts set PYSPARK_PYTHON={sys.executable} (on a cluster spark.pyspark.python, a Python"
        f" with metaindex on every node), {elsewhere}"
    )


def asked(context: SparkContext, only_spark: bool) -> WorkerPython:
    """Ask a worker by one task. Raises WorkerError if none of this Python can be started. `only_spark`: see `cure`."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with interrupts_first(), tagged(context):
            (line,) = context.parallelize([0], 1).mapPartitions(_question()).collect()
    except (Py4JError, PySparkException) as error:
        reason = _reason(str(error))
        if reason is None:  # Spark itself failed, and says so when it builds
            raise
        raise WorkerError(f"Spark's workers run the Python of the driver; {reason}; {cure(only_spark)}") from error
    told: dict[str, Any] = json.loads(line)
    versions: dict[str, str] = told["versions"]
    return WorkerPython(
        str(told["executable"]),
        tuple(name for name in told["missing"] if name != "metaindex"),
        versions.get("metaindex", ""),
        versions.get("pyarrow", ""),
    )


def _question() -> Callable[[Any], Any]:
    """Return a function of no importable module, so that it is pickled by value and not by name."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(_QUESTION, names)  # noqa: S102 - a text of this file
    function: Callable[[Any], Any] = names["answers"]
    return function


def _reason(said: str) -> str | None:
    """Why no worker could be started; None: that was not it."""
    if match := re.search(r"Python in worker has different version:? \(?'?([\d., ]+)'?\)?", said):
        return f"they run Python {match[1].strip(' ,').replace(', ', '.')}, the driver {sys.version.split()[0]}"
    if match := re.search(r"Python in worker has different version ([\d.]+)", said):
        return f"they run Python {match[1]}, the driver {sys.version.split()[0]}"
    if match := re.search(r'Cannot run program "([^"]{1,200})"', said):
        return f"{match[1]} cannot be started"
    if any(sign in said for sign in _NOT_STARTED):
        raised = re.search(
            r"^\s*(\w+(?:Error|Exception): .*)$", said.partition("Error from python worker")[2], re.MULTILINE
        )
        return f"theirs does not start a worker{f' ({one_line(raised[1])[:200]})' if raised else ''}"
    return None

"""The process beside an application of Spark that its configuration alone gave metaindex: it answers for every session.

    python -P -m metaindex.spark.optimizer.sidecar

is started by `PythonProcess.java` of `metaindex-spark.jar`, which tells it by the environment where to call, and with
which secret, as Spark tells the Python of its own applications (PYSPARK_GATEWAY_PORT, PYSPARK_GATEWAY_SECRET), and with
which one it is called. It ends when its standard input does, which the JVM holds open: also when that is killed. It
never stops the application, nor makes a session of it anybody's default.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import secrets
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROTOCOL: Final = "2"
"""Of this module and `PythonProcess.java`."""
_SECRETS: Final = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "METAINDEX_CALLED_WITH")
"""Variables that are taken out of the environment: a process that this one starts is not to call the JVM."""
logger = logging.getLogger("metaindex")


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(sys.stdin.fileno(),), name="metaindex end", daemon=True).start()
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    _find_pyspark(os.environ["METAINDEX_SPARK_VERSION"], os.environ.get("METAINDEX_SPARK_PYTHONPATH", ""))
    from pyspark.java_gateway import launch_gateway

    gateway = launch_gateway()
    told = {name: os.environ.pop(name, None) for name in _SECRETS}
    gateway.callback_server_parameters.auth_token = told["METAINDEX_CALLED_WITH"]
    jvm = gateway.entry_point
    if str(jvm.protocol()) != PROTOCOL:
        jvm.refuse(
            f"metaindex-spark.jar is of another metaindex than its Python ({sys.executable}); write it anew:"
            f" {sys.executable} -m metaindex.spark extension -o metaindex-spark.jar"
        )
        return
    _serve(gateway, jvm)
    threading.Event().wait()


def _end_with(stream: int) -> None:
    """End this process at once when the stream ends: whoever is answered is gone."""
    while os.read(stream, 4096):
        pass
    os._exit(0)


def _find_pyspark(version: str, path: str) -> None:
    """The pyspark of the JVM's own version: the one that is installed, else the one that lies beside its jars."""
    installed = importlib.util.find_spec("pyspark")
    if installed is not None and installed.origin is not None:
        said = Path(installed.origin).with_name("version.py")
        if said.is_file() and version in re.findall(r"""["']([^"']+)["']""", said.read_text("utf-8")):
            return
    sys.path[:0] = [part for part in path.split(os.pathsep) if part]


def _serve(gateway: Any, jvm: Any) -> None:
    from pyspark.java_gateway import ensure_callback_server_started

    from metaindex.core import SparkDriver, first_line
    from metaindex.spark.optimizer.enabling import cores_of, serve
    from metaindex.spark.optimizer.request_handler import RequestHandler
    from metaindex.spark.optimizer.settings import RuleConfig
    from metaindex.spark.optimizer.statements import Answering
    from metaindex.table import configured

    session_of = _attached(gateway, jvm)
    started: list[RequestHandler] = []
    proof = secrets.token_hex(32)
    sign = f"{proof}\n"

    def answer(request: str) -> str:
        return started[0](request)

    asked = SparkDriver.java_function(answer, sign, in_pieces=True)

    def enable(number: str) -> str:
        """Enable the session; return "", or one line on why it has no metaindex."""
        try:
            session = session_of(number)
            if session is None:
                return ""
            if not started:  # one for all sessions, with what the application was started with
                config = configured(session.sparkContext.getConf().get)
                started.append(RequestHandler(config, {}, RuleConfig(), cores_of(session)))
            answers = Answering(lambda: _living(session_of, number), started[0].config, {})
            token, function = SparkDriver.java_function(answers, sign, in_pieces=True)
            serve(
                session,
                started[0],
                (asked[0], jvm.bounded(asked[1], number)),
                (token, jvm.statements(function)),
                jvm.hasEnded,
            )
        except Exception as error:  # the application goes on, and its log says why
            logger.debug("a session was not enabled", exc_info=error)
            return first_line(Exception(str(getattr(error, "java_exception", error))))
        return ""

    token, function = SparkDriver.java_function(enable, sign)
    ensure_callback_server_started(gateway)
    jvm.ready(function, token, proof)


def _living(session_of: Callable[[str], SparkSession | None], number: str) -> SparkSession:
    session = session_of(number)
    assert session is not None, "a statement is of a session that lives"
    return session


def _attached(gateway: Any, jvm: Any) -> Callable[[str], SparkSession | None]:
    """The sessions of the application, by their numbers."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    class Attached(SparkContext):  # type: ignore[misc]
        def stop(self) -> None:
            """Do nothing: the application is not this process's to stop, which PySpark tries if it fails to attach."""

    java = jvm.context()
    path = list(sys.path)
    context = Attached(jsc=java, gateway=gateway, conf=SparkConf(_jconf=java.getConf()))
    # Else Spark's scheduler, which is one for the whole application, tells this process of each task of its builds, and
    # waits until it has heard: were it to hang, nobody's query would end. As in Spark Connect nobody is told.
    context._javaAccumulator = None
    # The application's own files (`--py-files`) are for another Python, and may have modules of the same names as ours.
    sys.path[:] = path
    # Who interrupts the application at a terminal means that; PySpark would end all its jobs here.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The first session that PySpark makes becomes the JVM's default, which belongs to the application.
    first = object.__new__(SparkSession)
    first._sc = context
    SparkSession._instantiatedSession = first

    def session_of(number: str) -> SparkSession | None:
        session = jvm.session(number)
        return None if session is None else SparkSession(context, session)

    return session_of


if __name__ == "__main__":
    main()

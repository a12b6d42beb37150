"""An application of Spark without a word of metaindex, as `spark-submit` runs it, which gives it no standard input: a
test listens at the port that is its argument, tells it what to do, a command in a line, and reads what came of it."""

import json
import socket
import sys
import threading
import time
from typing import Any

from pyspark.sql import SparkSession


class Application:
    def __init__(self) -> None:
        self.sessions = {"first": SparkSession.builder.getOrCreate()}

    def new(self, name: str) -> None:
        self.sessions[name] = self.sessions["first"].newSession()

    def restart(self) -> None:
        """Another application in the same JVM, as notebooks make it."""
        self.sessions["first"].stop()
        self.sessions = {"first": SparkSession.builder.getOrCreate()}

    def clone(self, name: str, of: str) -> None:
        """As streams have it."""
        spark = self.sessions[of]
        self.sessions[name] = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())

    def rows(self, session: str, query: str, values: dict[str, str] | None = None) -> dict[str, Any]:
        """Of a query, perhaps with parameters: rows, what the plan says, and how long it took."""
        started = time.monotonic()
        frame = self.sessions[session].sql(query, args=values)
        rows = [list(row) for row in frame.collect()]
        seconds = time.monotonic() - started
        return {"rows": rows, "plan": frame._jdf.queryExecution().toString(), "seconds": seconds}

    def begin(self, session: str, statement: str) -> None:
        """It is run in a thread, which is not waited for."""
        self.begun = threading.Thread(target=self.sessions[session].sql, args=(statement,), daemon=True)
        self.begun.start()

    def built(self) -> bool:
        """Is that through?"""
        return not self.begun.is_alive()

    def set(self, session: str, key: str, value: str) -> None:
        self.sessions[session].conf.set(key, value)

    def get(self, session: str, key: str) -> str | None:
        return self.sessions[session].conf.get(key, None)

    def rules(self, session: str) -> list[str]:
        """The classes of all that is in the session's optimizer besides Spark's own."""
        listed = self.sessions[session]._jsparkSession.experimental().extraOptimizations()
        return [str(listed.apply(i).getClass().getName()) for i in range(listed.size())]

    def default(self) -> bool:
        """Is the application's session still the JVM's default?"""
        spark = self.sessions["first"]
        classic = getattr(SparkSession, "_get_j_spark_session_class", None)  # from Spark 4 on
        sessions = classic(spark._jvm) if classic else spark._jvm.SparkSession
        return bool(sessions.getDefaultSession().get().equals(spark._jsparkSession))

    def enable(self, session: str) -> bool:
        """As an application does that knows metaindex."""
        import metaindex as mi

        mi.enable(self.sessions[session])
        return mi.is_enabled(self.sessions[session])

    def explain(self, session: str, query: str) -> str:
        import metaindex as mi

        return str(mi.explain(self.sessions[session].sql(query)))

    def disable(self, session: str) -> bool:
        import metaindex as mi

        mi.disable(self.sessions[session])
        return mi.is_enabled(self.sessions[session])

    def jvm(self) -> int:
        """Its process."""
        return int(self.sessions["first"]._jvm.java.lang.ProcessHandle.current().pid())


def main() -> None:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as test, test.makefile("rw") as told:
        application = Application()
        for line in told:
            command, *arguments = json.loads(line)
            try:
                answer = {"done": getattr(application, command)(*arguments)}
            except Exception as error:  # noqa: BLE001 - the test says what it is
                answer = {"failed": str(error)}
            told.write(json.dumps(answer) + "\n")
            told.flush()


if __name__ == "__main__":
    main()

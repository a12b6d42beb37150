"""The session's SQL takes statements about indexes: its parser gets one of ours in front, in the JVM, so that whoever
runs SQL in the session has them, also without Python (docs/decisions/0039).

The class in front is written anew for each parser (`Delegates.java`): every method of the interfaces that it has, each
handed on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from metaindex.config import Config
from metaindex.spark.gateway import gateway_of, jvm_of
from metaindex.spark.interrupts import interrupts_first
from metaindex.statements.forms import ALSO, FORMS, INSTEAD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger("metaindex")
PARSER: Final = "metaindex.SessionParser"
"""With a number behind it, the class of ours."""
_CLASSES: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
"""By gateway, of which a JVM has one, and by what parsers of the session implement: each is compiled once."""


Handed = tuple[str, Any]
"""What the JVM is given to ask this process, and before it the token without which that does not answer."""

Answers = Callable[[Callable[[], "SparkSession"], Config, Mapping[str, str]], Callable[[str], str]]
ANSWERS: Final[list[Answers]] = []
"""One, where the room is loaded (`statements.Answering`): what a statement is, and what it gives. It asks for
explanations, which stand above those who enable."""


def installed(spark: SparkSession, loader: Any, stated: Handed) -> Any | None:
    """Puts ours in front, and gives it. None, with a warning, where this Spark has other insides: all but statements
    works there, and `mi.sql` runs those."""
    from py4j.protocol import Py4JJavaError

    state = spark._jsparkSession.sessionState()
    token, callback = stated
    words = "\n".join(" ".join(form) for form in (*FORMS, *ALSO, *INSTEAD))
    try:
        with interrupts_first():
            there = state.sqlParser()
            values = jvm_of(spark).java.util.ArrayList()
            for value in (there, callback, token, words):
                values.add(value)
            parser = _class(spark, loader, there).getConstructors()[0].newInstance(values.toArray())
            parser.install(state)
    except Py4JJavaError as error:
        said = str(error.java_exception)
        logger.warning("this Spark has other insides; its SQL takes no statements about indexes, mi.sql does: %s", said)
        return None
    return parser


def _class(spark: SparkSession, loader: Any, parser: Any) -> Any:
    jvm = jvm_of(spark)
    delegates = (
        loader.loadClass("metaindex.Delegates").getConstructors()[0].newInstance(jvm.java.util.ArrayList().toArray())
    )
    interfaces = delegates.interfaces(parser)
    names = ",".join(str(interface.getName()) for interface in interfaces)
    known = _CLASSES.setdefault(gateway_of(spark), {})
    if names not in known:
        name = f"{PARSER}{len(known)}"
        source = str(delegates.source(name, "StatementParser", "Object, Object, Object, Object", interfaces))
        sources = jvm.java.util.HashMap()
        sources.put(f"{name.replace('.', '/')}.java", bytearray(source.encode()))
        finder = jvm.org.codehaus.commons.compiler.util.resource.MapResourceFinder(sources)
        ours = jvm.org.codehaus.janino.JavaSourceClassLoader(loader, finder, "UTF-8")
        known[names] = ours.loadClass(name)
    return known[names]

"""The parser for statements about indexes in a session's SQL: ours is put in front of its own, in the JVM, so that all
SQL of the session has them, also without Python (docs/decisions/0039).

The class in front is written anew for each parser (`Delegates.java`): every method of the interfaces that it has, each
handed on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from metaindex.core import Config, SparkDriver
from metaindex.statements import ALSO, FORMS, INSTEAD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger("metaindex")
PARSER: Final = "SessionParser"
"""With a number behind it, the class of ours."""
_CLASSES: WeakKeyDictionary[Any, dict[str, tuple[str, Any]]] = WeakKeyDictionary()
"""By gateway, of which a JVM has one, and by what parsers of the session implement."""


Handed = tuple[str, Any]
"""What the JVM is given to ask this process, and before it the token without which that does not answer."""

Answers = Callable[[Callable[[], "SparkSession"], Config, Mapping[str, str]], Callable[[str], str]]
ANSWERS: Final[list[Answers]] = []
"""One, where the room is loaded (`statements.Answering`, with the first statement): what a statement is, and what it
gives. It asks for explanations, which stand above those who enable."""


def installed(spark: SparkSession, classes: Any, stated: Handed) -> Any | None:
    """Puts ours in front, and gives it. None, with a warning, where this Spark has other insides: all but statements
    works there, and `mi.sql` runs those."""
    from py4j.protocol import Py4JJavaError

    state = spark._jsparkSession.sessionState()
    token, callback = stated
    words = "\n".join(" ".join(form) for form in (*FORMS, *ALSO, *INSTEAD))
    try:
        with SparkDriver.interrupts_first():
            there = state.sqlParser()
            name, ours = _class_of(spark, classes, there)
            parser = ours.new(name, there, callback, token, words)
            parser.install(state)
    except Py4JJavaError as error:
        said = str(error.java_exception)
        logger.warning("this Spark has other insides; its SQL takes no statements about indexes, mi.sql does: %s", said)
        return None
    return parser


def _class_of(spark: SparkSession, classes: Any, parser: Any) -> tuple[str, Any]:
    delegates = classes.new("Delegates")
    interfaces = delegates.interfaces(parser)
    names = ",".join(str(interface.getName()) for interface in interfaces)
    known = _CLASSES.setdefault(SparkDriver(spark).gateway, {})
    if names not in known:
        name, types = f"{PARSER}{len(known)}", "Object, Object, Object, Object"
        source = str(delegates.source(f"metaindex.{name}", "StatementParser", types, interfaces))
        known[names] = (name, SparkDriver(spark).compiled({name: source}, classes))
    return known[names]

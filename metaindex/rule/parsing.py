"""The session's SQL takes statements about indexes: its parser gets one of ours in front, in the JVM, so that whoever
runs SQL in the session has them, also without Python (docs/decisions/0039).

A parser of Spark has an interface with other methods in every version, and Iceberg's has one more, which Iceberg looks
for. So the class in front is written anew for each: every method of the interfaces that the parser has, each handed on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from metaindex.config import Config
from metaindex.expressions.records import dataclass
from metaindex.readers.jvm import gateway_of, jvm_of
from metaindex.spark import callbacks
from metaindex.statements.forms import ALSO, FORMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger("metaindex")
_INTERFACE: Final = "org.apache.spark.sql.catalyst.parser.ParserInterface"
_CLASSES: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
"""By gateway, of which a JVM has one, and by what parsers of the session implement: each is compiled once."""


@dataclass(frozen=True, slots=True)
class SessionParser:
    """Ours in front of a session's. `callback` is held, as py4j holds it by its number."""

    parser: Any
    callback: Any

    def remove(self, spark: SparkSession) -> None:
        """The parser that was there is the session's again. Where somebody has put another around ours, that stays, and
        ours takes nothing out any more."""
        self.parser.remove(spark._jsparkSession.sessionState())


Answers = Callable[["SparkSession", Config, Mapping[str, str]], Callable[[str], str]]
ANSWERS: Final[list[Answers]] = []
"""One, where the room is loaded (`statements.Answering`): what a statement is, and what it gives. It asks for
explanations, which stand above those who enable."""


def installed(
    spark: SparkSession, loader: Any, config: Config, storage_options: Mapping[str, str]
) -> SessionParser | None:
    """Puts ours in front. None, with a warning, where this Spark has other insides: all but statements works there, and
    `mi.sql` runs those."""
    from py4j.protocol import Py4JJavaError

    state = spark._jsparkSession.sessionState()
    token, callback = callbacks.function(ANSWERS[0](spark, config, storage_options))
    words = "\n".join(" ".join(form) for form in (*FORMS, *ALSO))
    try:
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
    return SessionParser(parser, callback)


def _class(spark: SparkSession, loader: Any, parser: Any) -> Any:
    jvm = jvm_of(spark)
    interfaces = _interfaces(jvm, parser.getClass())
    names = ",".join(sorted(str(interface.getName()) for interface in interfaces))
    known = _CLASSES.setdefault(gateway_of(spark), {})
    if names not in known:
        name = f"SessionParser{len(known)}"
        sources = jvm.java.util.HashMap()
        sources.put(f"metaindex/{name}.java", bytearray(_source(jvm, name, interfaces).encode()))
        finder = jvm.org.codehaus.commons.compiler.util.resource.MapResourceFinder(sources)
        ours = jvm.org.codehaus.janino.JavaSourceClassLoader(loader, finder, "UTF-8")
        known[names] = ours.loadClass(f"metaindex.{name}")
    return known[names]


def _interfaces(jvm: Any, kind: Any) -> list[Any]:
    """Those of parsers that a class has, the narrowest first."""
    wanted = kind.getClassLoader().loadClass(_INTERFACE)
    public: dict[str, Any] = {}
    while kind is not None:
        for interface in kind.getInterfaces():
            if wanted.isAssignableFrom(interface) and jvm.java.lang.reflect.Modifier.isPublic(interface.getModifiers()):
                public[str(interface.getName())] = interface
        kind = kind.getSuperclass()
    return [interface for name, interface in public.items() if name != _INTERFACE] or [wanted]


def _source(jvm: Any, name: str, interfaces: list[Any]) -> str:
    """A class that hands every method on."""
    methods: dict[str, str] = {}
    for interface in interfaces:
        for method in interface.getMethods():
            if not jvm.java.lang.reflect.Modifier.isStatic(method.getModifiers()):
                of = str(interface.getCanonicalName())
                types = [str(kind.getCanonicalName()) for kind in method.getParameterTypes()]
                thrown = [str(kind.getCanonicalName()) for kind in method.getExceptionTypes()]
                signature = f"{method.getName()}({', '.join(types)})"
                methods.setdefault(signature, _method(method, of, types, thrown))
    implemented = ", ".join(str(interface.getCanonicalName()) for interface in interfaces)
    return (
        f"package metaindex;\n\npublic class {name} extends StatementParser implements {implemented} {{\n"
        f"  public {name}(Object parser, Object python, Object token, Object words) {{\n"
        "    super(parser, python, token, words);\n  }\n\n" + "\n".join(methods.values()) + "}\n"
    )


def _method(method: Any, of: str, types: list[str], thrown: list[str]) -> str:
    name, gives = str(method.getName()), str(method.getReturnType().getCanonicalName())
    parameters = ", ".join(f"{kind} a{at}" for at, kind in enumerate(types))
    given = ", ".join(f"a{at}" for at in range(len(types)))
    throws = f" throws {', '.join(thrown)}" if thrown else ""
    first = ""
    if name in ("parsePlan", "parsePlanWithParameters") and types[:1] == ["java.lang.String"]:
        first = f"    {gives} plan = ours(a0);\n    if (plan != null) {{\n      return plan;\n    }}\n"
    back = "" if gives == "void" else "return "
    return (
        f"  public {gives} {name}({parameters}){throws} {{\n{first}    {back}(({of}) parser).{name}({given});\n  }}\n"
    )

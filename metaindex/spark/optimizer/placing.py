"""The parts of metaindex in a session's JVM: the rule, the strategies, the listeners of its queries, and the parser.
They are put there, found again by whoever else looks (another process may have put them there), and taken out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from metaindex.core import SparkDriver, SparkRelease, UnsupportedFeatureError, dataclass, first_line
from metaindex.spark.extension_jar import EXTENSION

from .parsing import PARSER, Handed, installed
from .settings import RuleConfig

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SORTED_BUCKETS: Final = "spark.sql.legacy.bucketedTableScan.outputOrdering"
"""Where it is true and a bucket is one file, Spark does not sort what is sorted: the buckets of an optimized covering
index are. The session's own setting stands, where it has one; where it has none, other tables are planned as without it
(`DropSortOrder.java`)."""
_WITHOUT: Final = {
    "merging": "joins sort the rows of an index again, where they are read beside files that it lacks",
    "grouping": "groups by the keys of an index are hashed",
    "few": "a task is made for each bucket of an index, also for those that are left out",
    "narrowing": "joins leave no files out once the query runs",
    "checking": "every plain file is read",
}
_RULE: Final = "MetaIndexRule"
_STRATEGIES: Final = {
    "checking": "CheckedStrategy",
    "merging": "MergeStrategy",
    "grouping": "GroupStrategy",
    "few": "BucketStrategy",
    "narrowing": "RuntimeFilterStrategy",
}
_OF_FORMATS: Final = frozenset({"NamedFiles"})
"""Classes that compile beside Delta alone."""
logger = logging.getLogger("metaindex")


@dataclass(frozen=True, slots=True)
class Placed:
    """The parts in one session. `held`: what py4j holds by its number for as long as this is held."""

    rule: Any
    strategies: tuple[Any, ...]
    parser: Any | None = None  # that takes statements about indexes
    sorted_buckets: bool = False  # was told to Spark, and is taken back
    missing: tuple[str, ...] = ()  # what cannot be had in this Spark, and how it plans without
    held: tuple[Any, ...] = ()


def place(
    spark: SparkSession, rule: RuleConfig, asked: Handed, stated: Handed, release: SparkRelease | None = None
) -> Placed:
    """Puts all of it into a session that has none; of a `release` that was not tried, what skips files alone. `asked`
    answers the rule, `stated` the parser. Raises UnsupportedFeatureError for a Spark with other insides: the session is
    as it was then."""
    token, callback = asked
    tried = release is None or release.tried
    classes = SparkDriver(spark).room_classes(__package__, release)
    ordered = tried and spark.conf.get(SORTED_BUCKETS, None) is None
    added, limit = made(spark, rule, callback, token, ordered, release)
    planner = spark._jsparkSession.sessionState().planner()
    more = {"grouping": (planner.Aggregation(), SORTED_BUCKETS), "narrowing": (added,), "checking": (added,)}
    strategies = {
        name: _strategy(spark, classes, of, limit, *more.get(name, ())) if tried or name == "checking" else None
        for name, of in _STRATEGIES.items()
    }
    missing = tuple(_WITHOUT[name] for name, strategy in strategies.items() if strategy is None)
    there = tuple(strategy for strategy in strategies.values() if strategy is not None)
    _add(spark, "extraOptimizations", added)
    for strategy in there:
        _add(spark, "extraStrategies", strategy)
    spark._jsparkSession.listenerManager().register(value_of(added, "failures"))
    if ordered:
        spark.conf.set(SORTED_BUCKETS, "true")
    parser = installed(spark, classes, stated)
    return Placed(added, there, parser, ordered, missing, (callback, stated[1]))


def placed_in(spark: SparkSession) -> Placed | None:
    """Return the parts in a session, whoever put them there. A parser of ours within another one is not seen."""
    rules = [rule for rule in _listed(spark, "extraOptimizations") if _kind(rule) == _RULE]
    if not rules:
        return None
    strategies = [strategy for strategy in _listed(spark, "extraStrategies") if _kind(strategy) in _STRATEGIES.values()]
    missing = tuple(
        _WITHOUT[name] for name, of in _STRATEGIES.items() if of not in [_kind(strategy) for strategy in strategies]
    )
    parser = spark._jsparkSession.sessionState().sqlParser()
    ours = parser if _kind(parser).startswith(PARSER) else None
    return Placed(rules[0], tuple(strategies), ours, bool(value_of(rules[0], "ordered")), missing)


def is_on_class_path(spark: SparkSession) -> bool:
    """Return whether the application has the jar by which its configuration switches metaindex on."""
    from py4j.protocol import Py4JJavaError

    jvm = SparkDriver(spark).jvm
    try:
        with SparkDriver.interrupts_first():
            jvm.java.lang.Class.forName(EXTENSION, False, jvm.java.lang.Thread.currentThread().getContextClassLoader())
    except Py4JJavaError:
        return False
    return True


def is_own(spark: SparkSession, placed: Placed) -> bool:
    """Return whether it was made for this session, and not for one of which this is a clone."""
    return bool(spark._jsparkSession.sessionState().conf().equals(value_of(placed.rule, "conf")))


def take_out(spark: SparkSession, placed: Placed) -> None:
    """Queries of the session are planned as without it. By Java's reflection: py4j remembers methods by the name of
    their class, and a class of the same name may have been compiled by another process."""
    for point, parts in (("extraOptimizations", (placed.rule,)), ("extraStrategies", placed.strategies)):
        for part in parts:
            _set(spark, point, [other for other in _listed(spark, point) if not other.equals(part)])
    spark._jsparkSession.listenerManager().unregister(value_of(placed.rule, "failures"))
    if placed.sorted_buckets and spark.conf.get(SORTED_BUCKETS, None) == "true":
        spark.conf.unset(SORTED_BUCKETS)
    if placed.parser is not None:
        # Where somebody has put another parser around ours, that stays, and ours takes nothing out any more.
        arguments = SparkDriver(spark).gateway.new_array(SparkDriver(spark).jvm.java.lang.Object, 1)
        arguments[0] = spark._jsparkSession.sessionState()
        remove = next(method for method in placed.parser.getClass().getMethods() if method.getName() == "remove")
        remove.invoke(placed.parser, arguments)


def check_compiled(spark: SparkSession, release: SparkRelease) -> None:
    """Raise UnsupportedFeatureError if a class does not compile in this Spark. Those of formats need not, which a
    session may be without."""
    from py4j.protocol import Py4JJavaError

    classes = SparkDriver(spark).room_classes(__package__, release)
    try:
        with SparkDriver.interrupts_first():
            for name in sorted(SparkDriver(spark).sources(__package__, release).keys() - _OF_FORMATS):
                classes.named(name).getDeclaredMethods()
    except Py4JJavaError as error:
        raise _other_insides(spark, error) from error


def made(
    spark: SparkSession,
    rule: RuleConfig,
    callback: Any,
    token: str,
    ordered: bool,
    release: SparkRelease | None = None,
) -> tuple[Any, Any]:
    """The rule, which is not the session's yet, and how long its work may take."""
    from py4j.protocol import Py4JJavaError

    conf = spark._jsparkSession.sessionState().conf()
    classes = SparkDriver(spark).room_classes(__package__, release)
    try:
        with SparkDriver.interrupts_first():
            switches = {"topK": rule.top_k, "limit": rule.limit, "aggregates": rule.aggregates, "joins": rule.joins}
            off = [name for name, on in switches.items() if not on]  # Java looks at these before it asks
            scans = classes.new("Scans", ",".join(off))
            limit = classes.new("Limit", conf, float(rule.timeout_seconds))
            return classes.new(_RULE, callback, token, scans, conf, limit, ordered), limit
    except Py4JJavaError as error:
        raise _other_insides(spark, error) from error


def _other_insides(spark: SparkSession, error: Any) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "the rule is compiled by the session's Spark, against what that has inside; this one"
        f" ({spark.version}, Scala {SparkDriver(spark).scala}) has something else: {_said(error)}; take the rows by"
        " table.scan(predicate).to_arrow(), or the names of the files by table.prune(predicate).paths"
    )


def value_of(part: Any, name: str) -> Any:
    """A public field."""
    return part.getClass().getField(name).get(part)


def _kind(part: Any) -> str:
    """Return the name of its class, if that is one of ours."""
    package, _, name = str(part.getClass().getName()).rpartition(".")
    return name if package == "metaindex" else ""


def _strategy(spark: SparkSession, classes: Any, name: str, *arguments: Any) -> Any | None:
    """Make the strategy that merges hybrid scans under joins, or groups rows in their order. None if this Spark has
    other internals than it needs: joins then sort such scans, groups are hashed."""
    from py4j.protocol import Py4JJavaError

    try:
        with SparkDriver.interrupts_first():
            return classes.new(name, *arguments)
    except Py4JJavaError as error:
        logger.warning("this Spark has other insides; it plans without %s: %s", name, _said(error))
        return None


def _said(error: Any) -> str:
    """Return the message of Java's root cause."""
    thrown = error.java_exception
    while thrown.getCause() is not None:
        thrown = thrown.getCause()
    return first_line(Exception(str(thrown)))[:300]


def _add(spark: SparkSession, point: str, part: Any) -> None:
    """`point`: a list of Spark's `experimental`, of rules or of strategies."""
    _set(spark, point, [*_listed(spark, point), part])


def _listed(spark: SparkSession, point: str) -> list[Any]:
    listed = getattr(spark._jsparkSession.experimental(), point)()
    return [listed.apply(i) for i in range(listed.size())]


def _set(spark: SparkSession, point: str, ones: list[Any]) -> None:
    listed = SparkDriver(spark).jvm.java.util.ArrayList()
    for part in ones:
        listed.add(part)
    getattr(spark._jsparkSession.experimental(), f"{point}_$eq")(SparkDriver(spark).jvm.PythonUtils.toSeq(listed))

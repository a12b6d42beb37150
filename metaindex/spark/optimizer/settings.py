"""The rule's settings, with units and defaults: one frozen value for `metaindex.enable(spark, rule=...)`, and the same
by `spark.metaindex.*` in the session's configuration, which wins.

The names are those of Hyperspace where it had the knob. A bad value raises where it is given to `RuleConfig`; in the
session's configuration, which a query must not fail of, it is counted, logged, and the value of `enable` stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from metaindex.core import QueryLog, SettingError, dataclass
from metaindex.table import PLACES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Noted = Literal["", "off", "kept", "hashed", "left out"]
DisplayMode = Literal["plaintext", "console", "html"]

PREFIX: Final = "spark.metaindex."
ENABLED: Final = PREFIX + "enabled"
HINT: Final = PREFIX + "hint"
STATE: Final = PREFIX + "state"
"""Says in a session that Spark's configuration enabled whether metaindex is in it: "on", or "off: " and why."""
_OTHERS: Final = frozenset(
    name.lower() for name in (*(PREFIX + name for name in ("python", "startSeconds", "state")), *PLACES)
)
"""Of the jar (`metaindex/spark/extension`), and of what is asked once: the rule passes over them."""
MOST_KEYS: Final = 100_000
"""Of a join, which are named one by one to an index: of more Java tells nothing (`Expressions.java`)."""


@dataclass(frozen=True, slots=True)
class RuleConfig:
    """The settings of the rule in one session. Raises SettingError for a bad value.

    * `enabled`: False leaves every plan alone, at the cost of one look at the configuration.
    * `hybrid_scan`: a covering index that is behind its table is used together with the files that it lacks.
    * `max_appended_ratio`, `max_deleted_ratio`: and how far behind it may be: appended bytes in the bytes of the table,
      deleted bytes in those of the index; shares of 1.
    * `use_bucket_spec`: a filter on a covering index reads it as a bucketed table, which leaves buckets out and takes
      one task a bucket.
    * `top_k`: files behind the first rows of an order (`ORDER BY ... LIMIT`) are left out.
    * `limit`: where a query takes some rows (`LIMIT`), files of which every row matches are read first.
    * `aggregates`: counts and extremes are answered for files by what is known of them.
    * `joins`: files are left out of a side of a join once the query runs, by the keys of its other side
      (docs/decisions/0042).
    * `join_queries`: where no broadcast brings the keys, a query of their own does. The side is read twice then.
    * `join_keys`: so many keys are named one by one; of more their range is asked. `join_seconds`: their keys and the
      answer are not waited for longer; where a broadcast of Spark's brings keys, that is the join's own and not ours.
    * `join_side_bytes`, `join_scan_bytes`: keys are those of a side of so many bytes at most. A query of their own is
      run for a scan of so many at least. With the keys of a broadcast indexes are asked for a scan of several files,
      which have so many together where each counts as `spark.sql.files.openCostInBytes` more.
    * `timeout_seconds`: an answer that takes longer is not waited for, nor is the rule's own work in Spark's JVM.
    * `cache_expiry_seconds`: a table without an index that can be used is looked at again after so long.
    * `indexes`: names of the indexes that may be used; empty: all. `disabled_indexes`: those that may not. `hint`: of
      what is left, only these; `metaindex.hint` sets it for a block of code.
    * `query_log`: notes each scan of the session's queries beside the indexes of its table, with the values in
      conditions "kept", "hashed" (by the salt of `Config.query_log`, or of the environment) or "left out"; "off": none;
      empty: as the `Config` given to `enable` says.
    * `display_mode`: how `str` of an explanation looks: "plaintext", "console" (colours of a terminal) or "html".
    * `highlight_begin`, `highlight_end`: what stands around the nodes that differ; both empty: as the mode has it.
    """

    enabled: bool = True
    hybrid_scan: bool = True
    max_appended_ratio: float = 0.3
    max_deleted_ratio: float = 0.2
    use_bucket_spec: bool = False
    top_k: bool = True
    limit: bool = True
    aggregates: bool = True
    joins: bool = True
    join_queries: bool = False
    join_keys: int = 10_000
    join_seconds: float = 5.0
    join_side_bytes: int = 10 << 20
    join_scan_bytes: int = 32 << 20
    timeout_seconds: float = 10.0
    cache_expiry_seconds: float = 10.0
    indexes: tuple[str, ...] = ()
    disabled_indexes: tuple[str, ...] = ()
    hint: tuple[str, ...] = ()
    query_log: Noted = ""
    display_mode: DisplayMode = "plaintext"
    highlight_begin: str = ""
    highlight_end: str = ""

    def __post_init__(self) -> None:
        for name, knob in KNOBS.items():
            if not knob.holds(getattr(self, name)):
                raise SettingError(
                    f"{name} of a rule ({knob.conf}) is {knob.says}; got {getattr(self, name)!r}; give one, or leave it"
                    " out"
                )

    @property
    def restricted(self) -> bool:
        """True if some index may not be used."""
        return bool(self.indexes or self.disabled_indexes or self.hint)

    def allows(self, index: str) -> bool:
        """Return whether the index of this name may be used."""
        return (
            (not self.indexes or index in self.indexes)
            and index not in self.disabled_indexes
            and (not self.hint or index in self.hint)
        )

    def with_conf(self, conf: Mapping[str, str]) -> tuple[RuleConfig, list[str]]:
        """Return the settings overridden by the session's configuration, and why some of ours there cannot be read."""
        values: dict[str, Any] = {}
        bad = []
        for key, text in conf.items():
            name = _BY_CONF.get(key.lower())
            if name is None and key.lower() in _OTHERS:
                continue
            if name is None:
                bad.append(f"{key} is no setting of metaindex")
                continue
            knob = KNOBS[name]
            try:
                value = knob.read(text)
            except ValueError:
                value = None
            if value is not None and knob.holds(value):
                values[name] = value
            else:
                bad.append(f"{key} is {knob.says}; it is {text!r}")
        return (replace(self, **values) if values else self), bad


def put_back(spark: SparkSession, key: str, before: str | None) -> None:
    """A session's setting has the value that it had; None: none of its own."""
    if before is None:
        spark.conf.unset(key)
    else:
        spark.conf.set(key, before)


@dataclass(frozen=True, slots=True)
class Knob:
    """A setting: its name in a session's configuration, what its values are, and how they are read and checked."""

    conf: str
    says: str
    read: Callable[[str], Any]
    holds: Callable[[Any], bool]


def _truth(text: str) -> bool:
    known = {"true": True, "false": False}
    if text.strip().lower() not in known:
        raise ValueError(text)
    return known[text.strip().lower()]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _is_number(value: object, low: float, high: float = float("inf")) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _switch(conf: str) -> Knob:
    return Knob(PREFIX + conf, "true or false", _truth, lambda value: isinstance(value, bool))


def _share(conf: str) -> Knob:
    return Knob(PREFIX + conf, "a share from 0 to 1", float, lambda value: _is_number(value, 0, 1))


def _seconds(conf: str, least: float) -> Knob:
    said = f"a number of seconds, {least} or more"
    return Knob(PREFIX + conf, said, float, lambda value: _is_number(value, least, 1e9))


def _whole(conf: str, least: int, most: int) -> Knob:
    def holds(value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return Knob(PREFIX + conf, f"a whole number from {least} to {most}", int, holds)


def _listed(conf: str) -> Knob:
    def holds(value: object) -> bool:
        return isinstance(value, tuple) and all(isinstance(name, str) and name and "," not in name for name in value)

    return Knob(PREFIX + conf, "a list of names of indexes, separated by commas", _names, holds)


def _text(conf: str) -> Knob:
    return Knob(PREFIX + conf, "a text", str, lambda value: isinstance(value, str))


KNOBS: Final[Mapping[str, Knob]] = {
    "enabled": _switch("enabled"),
    "hybrid_scan": _switch("hybridScan.enabled"),
    "max_appended_ratio": _share("hybridScan.maxAppendedRatio"),
    "max_deleted_ratio": _share("hybridScan.maxDeletedRatio"),
    "use_bucket_spec": _switch("filterRule.useBucketSpec"),
    "top_k": _switch("topK.enabled"),
    "limit": _switch("limit.enabled"),
    "aggregates": _switch("aggregates.enabled"),
    "joins": _switch("joins.enabled"),
    "join_queries": _switch("joins.queries"),
    "join_keys": _whole("joins.keys", 1, MOST_KEYS),
    "join_seconds": _seconds("joins.timeoutSeconds", 0.001),
    "join_side_bytes": _whole("joins.sideBytes", 0, 1 << 50),
    "join_scan_bytes": _whole("joins.scanBytes", 0, 1 << 60),
    "timeout_seconds": _seconds("timeoutSeconds", 0.001),
    "cache_expiry_seconds": _seconds("cache.expiryDurationInSeconds", 0),
    "indexes": _listed("indexes"),
    "disabled_indexes": _listed("disabledIndexes"),
    "hint": _listed("hint"),
    "query_log": Knob(
        PREFIX + "queryLog",
        "kept, hashed, left out or off",
        QueryLog.spelled,
        lambda value: value in get_args(Noted),
    ),
    "display_mode": Knob(
        PREFIX + "explain.displayMode",
        "plaintext, console or html",
        lambda text: text.strip().lower(),
        lambda value: value in ("plaintext", "console", "html"),
    ),
    "highlight_begin": _text("explain.displayMode.highlight.beginTag"),
    "highlight_end": _text("explain.displayMode.highlight.endTag"),
}
"""Of each field of `RuleConfig`."""

_BY_CONF: Final = {knob.conf.lower(): name for name, knob in KNOBS.items()}
assert list(KNOBS) == [field.name for field in fields(RuleConfig)]

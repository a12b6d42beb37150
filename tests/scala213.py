"""Spark 3.5 with Scala 2.13, which PySpark on PyPI does not have: in an environment with its PySpark (`make test-spark
SPARK=3.5 SCALA=2.13`) the jars of Scala 2.12 give way to those of 2.13 from a Maven repository, pinned in
`tests/scala213_jars.txt`. `python -m tests.scala213` does it to the environment that it runs in."""

import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from metaindex.spark.jars import Jar, JarGroup, jar_paths

PINS: Final = Path(__file__).with_name("scala213_jars.txt")
OLDER: Final = re.compile(r"(_2\.12-|^scala-(library|reflect|compiler)-2\.12)")


def pinned() -> list[Jar]:
    lines = (line.split() for line in PINS.read_text().splitlines() if line.strip() and not line.startswith("#"))
    # Fetched as one group, whatever its name.
    return [Jar(JarGroup.DELTA, coordinate, int(size), digest) for coordinate, size, digest in lines]


def exchange(folder: Path, jars: list[Path]) -> None:
    """Of a folder of Spark's jars. Done twice, it is as after once."""
    for jar in folder.iterdir():
        if OLDER.search(jar.name):
            jar.unlink()
    for jar in jars:
        if not (folder / jar.name).exists():
            shutil.copyfile(jar, folder / jar.name)


def main() -> int:
    package = find_spec("pyspark")
    if package is None or package.origin is None or not Path(package.origin).is_relative_to(sys.prefix):
        sys.stderr.write("scala213: the pyspark of this environment alone is changed, and it has none\n")
        return 2
    jars = jar_paths([JarGroup.DELTA], environ=os.environ, verify=True, catalog=pinned())
    exchange(Path(package.origin).parent / "jars", jars)
    megabytes = sum(jar.stat().st_size for jar in jars) / 1e6
    sys.stdout.write(f"scala213: {len(jars)} jars of Scala 2.13, {megabytes:.0f} MB, in place of those of 2.12\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

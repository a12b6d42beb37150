"""Spark's defaults on this machine: do they switch metaindex on (docs/spark.md), and is what they name there?
The Python that they name is asked what it has; no JVM is started."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from metaindex.core import one_line
from metaindex.spark import EXTENSION, digest_in

from .diagnosis import Symptom, asked, lacking, right, wrong

_FILE: Final = "spark-defaults.conf"
_MOST_BYTES: Final = 1 << 20  # of a file of defaults that are read
_JARS: Final = ("spark.jars", "spark.driver.extraClassPath")
_PYTHONS: Final = ("spark.metaindex.python", "spark.pyspark.driver.python", "spark.pyspark.python")
"""In the order in which `Sidecar.java` looks for one, before PYSPARK_PYTHON."""
_FOREIGN: Final = ("PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONWARNINGS")
_ASK: Final = (
    "import metaindex.spark.optimizer.sidecar, metaindex.spark.extension_jar as jar;"
    " print(metaindex.__version__, jar.digest())"
)
_ABOUT: Final = "switch"


def switch(environ: Mapping[str, str]) -> Iterator[Symptom]:
    """Check the switch; yield a single symptom when Spark's defaults do not mention metaindex."""
    file = _defaults(environ)
    if file is None:
        yield right(_ABOUT, f"no {_FILE}: metaindex is on where somebody enables it, or names it by --conf")
        return
    try:
        with open(file, "rb") as stream:
            conf = read_defaults(stream.read(_MOST_BYTES).decode("utf-8", "replace"))
    except OSError as error:
        yield wrong(_ABOUT, f"{one_line(str(file))} cannot be read: {one_line(str(error))}", "make it readable")
        return
    jars = [part for name in _JARS for part in re.split("[,:]" if "Class" in name else ",", conf.get(name, ""))]
    named = EXTENSION in [part.strip() for part in conf.get("spark.sql.extensions", "").split(",")]
    if not named and not _ours(jars) and not any(name.startswith("spark.metaindex.") for name in conf):
        yield right(_ABOUT, f"{one_line(str(file))} has nothing of metaindex")
        return
    if conf.get("spark.metaindex.enabled", "true").lower() == "false":
        yield lacking(_ABOUT, f"{one_line(str(file))} has spark.metaindex.enabled=false", "set it to true")
    yield _extension(file, named, conf)
    home = Path(environ["SPARK_HOME"]) if environ.get("SPARK_HOME") else _package()
    beside = [] if home is None else [str(path) for path in sorted(home.glob("jars/metaindex-spark*.jar"))]
    version, answer = _python(conf, environ)
    yield _jar(_ours(jars) + beside, version)
    yield answer


def read_defaults(text: str) -> dict[str, str]:
    """Parse Spark's defaults, which are Java properties: a name, then blanks, `=` or `:`, then the value."""
    conf: dict[str, str] = {}
    for line in text.replace("\\\n", "").splitlines():
        match = re.match(r"\s*([^#!\s=:][^\s=:]*)\s*[=:]?\s*(.*?)\s*$", line)
        if match:
            conf[match[1]] = match[2]
    return conf


def _defaults(environ: Mapping[str, str]) -> Path | None:
    """The file that Spark reads: of SPARK_CONF_DIR, else of SPARK_HOME, else of the package."""
    home = environ.get("SPARK_HOME") or _package()
    folder = environ.get("SPARK_CONF_DIR") or (None if home is None else os.path.join(home, "conf"))
    file = None if folder is None else Path(folder) / _FILE
    return file if file is not None and file.is_file() else None


def _package() -> Path | None:
    spec = importlib.util.find_spec("pyspark")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def _ours(jars: list[str]) -> list[str]:
    return [jar.strip() for jar in jars if "metaindex" in jar.rpartition("/")[2]]


def _extension(file: Path, named: bool, conf: Mapping[str, str]) -> Symptom:
    about = "switch: extension"
    if named:
        return right(about, f"{one_line(str(file))}: spark.sql.extensions has {EXTENSION}")
    cure = f"spark.sql.extensions {','.join(filter(None, (EXTENSION, conf.get('spark.sql.extensions', ''))))}"
    if conf.get("spark.sql.extensions.loadFromClasspath", "true").lower() == "false":
        return wrong(about, f"spark.sql.extensions lacks {EXTENSION}, and none is found by itself", cure)
    return lacking(about, f"spark.sql.extensions lacks {EXTENSION}, which Spark 4 finds by itself; 3.5 does not", cure)


def _jar(jars: list[str], version: str | None) -> Symptom:
    """`version`: of the Python that is named, and the digest of the jar that it would write."""
    about = "switch: jar"
    cure = "python -m metaindex.spark extension -o JAR, by the Python that is named; spark.jars JAR"
    if not jars:
        return wrong(about, f"no {' or '.join(_JARS)} names metaindex-spark.jar", cure)
    jar, parts = one_line(jars[0]), urlsplit(jars[0])
    if parts.scheme not in ("", "file", "local"):
        return lacking(about, f"{jar} is not on this machine: not looked at", "name a file of this machine")
    try:
        digest = digest_in(unquote(parts.path) if parts.scheme else jars[0])
    except OSError as error:
        return wrong(about, f"{jar} cannot be read: {one_line(str(error))}", cure)
    if digest is None:
        return wrong(about, f"{jar} is no jar of metaindex, or of an older one", cure)
    if version is None:
        return lacking(about, f"{jar} is there; whether it fits is not known", "see the Python, below")
    if digest != version.split()[1]:
        return wrong(about, f"{jar} is of another metaindex than its Python ({one_line(version.split()[0])})", cure)
    return right(about, f"{jar}, of the metaindex of its Python")


def _python(conf: Mapping[str, str], environ: Mapping[str, str]) -> tuple[str | None, Symptom]:
    """Return what identifies the Python that the JVM would start beside it (None if it cannot run), and the symptom."""
    about, cure = "switch: Python", "spark.metaindex.python: a Python 3.11 or newer with metaindex[spark]"
    named = next((conf[name] for name in _PYTHONS if conf.get(name)), environ.get("PYSPARK_PYTHON") or "python3")
    program = shutil.which(named, path=environ.get("PATH"))
    if program is None:
        return None, wrong(about, f"there is no {one_line(named)}", cure)
    own = {name: value for name, value in environ.items() if name not in _FOREIGN}
    printed, why = asked([program, "-P", "-c", _ASK], own)
    said = (printed or "").split()[-2:]
    if len(said) < 2:
        return None, wrong(about, f"{one_line(program)} cannot be the switch's: {why or 'it says nothing'}", cure)
    return " ".join(said), right(about, f"{one_line(program)}, metaindex {one_line(said[0])}")

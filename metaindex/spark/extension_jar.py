"""The jar by which Spark's configuration alone switches metaindex on (`metaindex.spark.Extensions`): written by
`python -m metaindex.spark extension -o metaindex-spark.jar`.

Its classes (`extension/*.java`, and `java/Delegates.java` under their package) are compiled by the Janino inside the
Spark that is installed; they call nothing that differs among the Sparks that metaindex knows, so that one jar serves
them all, on Java 8 and newer. The same sources give the same bytes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import tempfile
import zipfile
import zlib
from importlib.resources import files
from pathlib import Path
from typing import Final

from metaindex.core import MissingDependencyError, SparkDriver, SparkRelease, UnsupportedFeatureError, first_line

from .runtime import find_java

EXTENSION: Final = "metaindex.spark.Extensions"
_PACKAGE: Final = "metaindex.spark"
_SHARED: Final = ("Delegates",)  # of all rooms
_MANIFEST: Final = "META-INF/MANIFEST.MF"
_DIGEST: Final = "Metaindex-Sources"
_MANIFEST_BYTES: Final = 1 << 16  # at most, of a jar that anybody may have written
_PROVIDER: Final = "META-INF/services/org.apache.spark.sql.SparkSessionExtensionsProvider"
_CLASS_FILES: Final = 6
"""Of this Java: Janino errs in the frames that later ones have beside their code, and of these no JVM needs any."""
_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)


def extension_sources() -> dict[str, str]:
    """Return the sources by the names of their classes."""
    sources = {
        source.name.removesuffix(".java"): source.read_text("utf-8")
        for source in files(_PACKAGE).joinpath("extension").iterdir()
        if source.name.endswith(".java")
    }
    for name in _SHARED:
        text = files("metaindex.core.jvm").joinpath("java", f"{name}.java").read_text("utf-8")
        sources[name] = text.replace("package metaindex;", f"package {_PACKAGE};", 1)
    return sources


def digest() -> str:
    """Return the digest of the sources, which their jar carries, too, so that the two are known to fit."""
    said = hashlib.sha256()
    for name, text in sorted(extension_sources().items()):
        said.update(f"{name}\0{text}\0".encode())
    return said.hexdigest()[:32]


def digest_in(jar: str | Path) -> str | None:
    """Return a jar's digest; None if it is not metaindex's, or has no digest. Raises OSError if it cannot be read."""
    if not Path(jar).is_file():  # one that is a pipe would be waited for
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(jar))
    try:
        with zipfile.ZipFile(jar) as opened, opened.open(_MANIFEST) as stream:
            lines = stream.read(_MANIFEST_BYTES).decode("utf-8", "replace").splitlines()
    except (zipfile.BadZipFile, KeyError, ValueError, RuntimeError, zlib.error, EOFError):
        return None  # whatever Python's reader makes of a file that is no jar, or a damaged one
    return next((line.partition(": ")[2] for line in lines if line.startswith(f"{_DIGEST}: ")), None)


def write_jar(path: str | Path) -> Path:
    """Write the jar, replacing what is there. Raises MissingDependencyError without pyspark or Java,
    UnsupportedFeatureError if the installed Spark has other internals, OSError if it cannot be written."""
    path = Path(path)
    with tempfile.TemporaryDirectory(prefix="metaindex-") as folder:
        classes = _compiled(Path(folder))
        entries = {
            _MANIFEST: f"Manifest-Version: 1.0\r\n{_DIGEST}: {digest()}\r\n\r\n".encode(),
            _PROVIDER: f"{EXTENSION}\n".encode(),
            **{file.relative_to(classes).as_posix(): file.read_bytes() for file in sorted(classes.rglob("*.class"))},
        }
    draft = path.with_name(f".{path.name}.draft")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as jar:
        for name, content in entries.items():
            jar.writestr(zipfile.ZipInfo(name, _LONG_AGO), content, zipfile.ZIP_DEFLATED)
    draft.replace(path)
    return path


def _compiled(folder: Path) -> Path:
    """Compile in a JVM of its own, which ends with this call."""
    try:
        import pyspark
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
        from py4j.protocol import Py4JJavaError
    except ImportError as error:
        raise MissingDependencyError.lacking("the jar for Spark, which Spark compiles,", "pyspark") from error
    sources, classes = folder / "sources", folder / "classes"
    for name, text in extension_sources().items():
        file = sources / _PACKAGE.replace(".", "/") / f"{name}.java"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    jars = Path(pyspark.__file__).parent / "jars"
    port, token, process = launch_gateway(
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        classpath=str(jars / "*"),
        java_path=str(find_java().home / "bin" / "java"),
        die_on_exit=True,
        enable_auth=True,
        redirect_stdout=subprocess.DEVNULL,
        redirect_stderr=subprocess.DEVNULL,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    try:
        with SparkDriver.interrupts_first():
            jvm = gateway.jvm
            janino = jvm.org.codehaus.janino
            finder = jvm.org.codehaus.commons.compiler.util.resource.MapResourceFinder(jvm.java.util.HashMap())
            loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
            compiler = janino.Compiler(finder, janino.ClassLoaderIClassLoader(loader))
            compiler.setDestinationDirectory(jvm.java.io.File(str(classes)), False)
            compiler.setTargetVersion(_CLASS_FILES)
            written = sorted(sources.rglob("*.java"))
            array = gateway.new_array(jvm.java.io.File, len(written))
            for at, file in enumerate(written):
                array[at] = jvm.java.io.File(str(file))
            compiler.compile(array)
    except Py4JJavaError as error:
        said = first_line(Exception(str(error.java_exception)))
        raise UnsupportedFeatureError(
            f"the jar is compiled against Spark {SparkRelease.known_names()}; the installed one has other insides:"
            f" {said}; install one of these"
        ) from error
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(timeout=60)
    return classes

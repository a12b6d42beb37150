"""Classes of the rooms' Java in a session's JVM: compiled by the Janino inside Spark, which needs no JDK, and loaded
from class files by each later process that has the same sources, Java and jars (`class_files.py`).

What is kept under a key is one value of Java's: a map of sources and class files, of which Janino's own caching loader
takes the class file where there is one. A class without one (its format's jar is not there) is compiled when it is
first asked for, as all are where nothing can be kept.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname
from weakref import WeakKeyDictionary

from metaindex.core.records import dataclass

from . import class_files
from .interrupts import interrupts_first

logger = logging.getLogger("metaindex")
ROOMS: Final[WeakKeyDictionary[Any, dict[str, JavaClasses]]] = WeakKeyDictionary()
"""By gateway, of which a JVM has one, and by package: py4j remembers methods by the name of their class, so a class is
loaded once a JVM."""
_TAIL: Final = 1 << 14
"""Bytes at the end of a jar, with its directory: where each file begins there, which moves with the sizes of all before
it, and digests of the last."""
_PACKAGES: Final = ("org", "scala", "metaindex")
"""Folders of a folder on the class path that has classes of Spark's, Scala's, a format's or ours."""
_JDK: Final = ("jdk.internal.loader.", "sun.misc.Launcher$")


@dataclass(frozen=True, slots=True)
class JavaClasses:
    """The compiled classes of some sources, under the package `metaindex`."""

    jvm: Any
    loader: Any
    key: str | None
    """Of what may be kept of them; None: nothing."""

    def named(self, name: str) -> Any:
        """Py4JJavaError where it cannot be compiled in this Spark."""
        return self.loader.loadClass(_qualified(name))

    def new(self, name: str, *arguments: object) -> Any:
        """Make an instance by reflection, since py4j's own class look-up does not see the loader. A list takes Python's
        objects, an array does not."""
        values = self.jvm.java.util.ArrayList()
        for argument in arguments:
            values.add(argument)
        return self.named(name).getConstructors()[0].newInstance(values.toArray())


def java_classes(jvm: Any, sources: Mapping[str, str], parent: JavaClasses | None = None) -> JavaClasses:
    """Compile sources, by class name, or load cached class files. `parent`: classes that they refer to."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader() if parent is None else parent.loader
    above = _class_path_digest(jvm, loader) if parent is None else parent.key
    key = None if above is None else _sources_digest(above, sources)
    files = None if key is None else _kept(jvm, loader, sources, key)
    if files is None:
        files = _of_sources(jvm, sources)
    return JavaClasses(jvm, _loader(jvm, loader, files, jvm.java.util.HashMap()), key)


def _kept(jvm: Any, parent: Any, sources: Mapping[str, str], key: str) -> Any | None:
    """Sources and class files, which are kept from now on. None where nothing can be."""
    from py4j.protocol import Py4JJavaError

    try:
        with interrupts_first(), class_files.opened_folder() as folder:
            content = class_files.read(folder, key)
            if content is not None:
                packed = jvm.java.util.zip.InflaterInputStream(jvm.java.io.ByteArrayInputStream(content))
                return jvm.java.io.ObjectInputStream(packed).readObject()
            files = _compiled(jvm, parent, sources)
            packed = jvm.java.io.ByteArrayOutputStream()
            out = jvm.java.io.ObjectOutputStream(jvm.java.util.zip.DeflaterOutputStream(packed))
            out.writeObject(files)
            out.close()
            class_files.write(folder, key, packed.toByteArray())
            return files
    except (OSError, Py4JJavaError) as error:
        logger.debug("Java is compiled in memory: %s", error)
        return None


def _compiled(jvm: Any, parent: Any, sources: Mapping[str, str]) -> Any:
    """Compile the sources whose dependencies this Spark has, and return their class files."""
    from py4j.protocol import Py4JJavaError

    files = _of_sources(jvm, sources)
    loader = _loader(jvm, parent, files, files)
    for name in sorted(sources):
        try:
            with interrupts_first():
                loader.loadClass(_qualified(name))
        except Py4JJavaError as error:
            logger.debug("%s.java is not compiled: %s", name, error.java_exception)
            loader = _loader(jvm, parent, files, files)  # one that failed would be compiled again with each other
    return files


def _of_sources(jvm: Any, sources: Mapping[str, str]) -> Any:
    files = jvm.java.util.HashMap()
    for name, text in sources.items():
        files.put(f"{_qualified(name).replace('.', '/')}.java", bytearray(text.encode()))
    return files


def _loader(jvm: Any, parent: Any, files: Any, compiled: Any) -> Any:
    """`compiled`: the map into which class files are put."""
    resource = jvm.org.codehaus.commons.compiler.util.resource
    sources, classes = resource.MapResourceFinder(files), resource.MapResourceFinder(files)
    classes.setLastModified(1)  # a class file is taken where it is newer than its source, which has 0
    put = resource.MapResourceCreator(compiled)
    return jvm.org.codehaus.janino.CachingJavaSourceClassLoader(parent, sources, "UTF-8", classes, put)


def _qualified(name: str) -> str:
    return f"metaindex.{name}"


def _sources_digest(above: str, sources: Mapping[str, str]) -> str:
    said = hashlib.sha256(above.encode())
    for name, text in sorted(sources.items()):
        said.update(f"\0{name}\0{text}".encode())
    return said.hexdigest()


def _class_path_digest(jvm: Any, loader: Any) -> str | None:
    """Digest of the running Java and of every jar that a loader finds classes in: Spark's, Scala's, Janino's and the
    formats'. None if classes come from elsewhere too."""
    with interrupts_first():
        system = jvm.java.lang.System
        said = hashlib.sha256(str(system.getProperty("java.version")).encode())
        paths = [Path(path) for path in str(system.getProperty("java.class.path")).split(os.pathsep)]
        urls = jvm.java.lang.Class.forName("java.net.URLClassLoader")
        while loader is not None:
            if urls.isInstance(loader):
                parts = [urlsplit(str(url.toString())) for url in loader.getURLs()]
                if any(part.scheme != "file" for part in parts):
                    return None
                paths += [Path(url2pathname(part.path)) for part in parts]
            elif not str(loader.getClass().getName()).startswith(_JDK):
                return None
            loader = loader.getParent()
    try:
        for path in paths:
            if path.is_dir():
                if any((path / package).exists() for package in _PACKAGES):
                    return None
            elif path.is_file():
                said.update(_jar_digest(path))
    except OSError as error:
        logger.debug("Java is compiled in memory: %s", error)
        return None
    return said.hexdigest()


def _jar_digest(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TAIL, 0))
        return hashlib.sha256(f"{path.name}\0{size}\0".encode() + file.read()).digest()

"""The jars that Spark needs for Delta and Iceberg, pinned by checksum and fetched once into the user's cache.

Spark could resolve them itself (`spark.jars.packages`), but then a JVM does the downloading, with a trust store of its
own that knows neither the proxy nor the certificates that Python and pip are set up with; and it resolves dozens of
companions that Spark already has. A file that stands in the cache under its final name has passed its checksum.

`python -m metaindex.spark jars` fetches what is missing and checks what is there.
"""

import hashlib
import http.client
import os
import re
import ssl
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, TypeAlias

from metaindex.core import MetaIndexError, SparkRelease

from .pins import EVERY, PINS

REPOSITORY_VARIABLE = "METAINDEX_MAVEN_REPOSITORY"
"""Names the repository to fetch from: any http(s) or file address with the usual Maven layout. Without it, the one that
Spark itself fetches packages from."""

_RESOLVER = "org/apache/ivy/plugins/resolver/IBiblioResolver.class"
_TIMEOUT_SECONDS = 60.0
_TRIES = 3
_CHUNK_BYTES = 1 << 20
# Beside SSL_CERT_FILE and SSL_CERT_DIR, which Python's ssl reads by itself, these name a company's own authority.
_CERTIFICATE_VARIABLES = ("METAINDEX_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")

Progress: TypeAlias = Callable[["Jar", int], None]


class JarError(MetaIndexError, OSError):
    """A jar could not be fetched, or what was fetched is not what the pin says."""


class JarGroup(StrEnum):
    """The purpose of a set of jars."""

    DELTA = "delta"
    ICEBERG = "iceberg"
    SQLITE = "sqlite"
    """The JDBC driver for an Iceberg catalog kept in an SQLite file; only taken when asked for."""
    S3 = "s3"
    """Hadoop's connector to S3, by which Spark itself reads a store (metaindex does without); only taken when asked
    for."""


_ARTIFACTS = {
    JarGroup.DELTA: "io.delta:delta-spark_{}_2.13",
    JarGroup.ICEBERG: "org.apache.iceberg:iceberg-spark-runtime-{}_2.13",
}
"""Of a format for a line of Spark."""


def default_repository() -> str:
    """The repository that `spark.jars.packages` resolves from by default: a constant of the resolver among Spark's own
    jars, so that both fetch from one place."""
    import pyspark

    for jar in sorted(Path(pyspark.__file__).parent.glob("jars/ivy-*.jar")):
        with zipfile.ZipFile(jar) as archive:
            repository = re.search(rb"https://[\w./-]+/maven2/", archive.read(_RESOLVER))
        if repository:
            return repository[0].decode().rstrip("/")
    raise JarError(f"Spark's own jars name a package repository; this installation does not; set {REPOSITORY_VARIABLE}")


@dataclass(frozen=True, slots=True)
class Jar:
    """A pinned artifact."""

    group: JarGroup
    coordinate: str
    size_bytes: int
    sha256: str

    @property
    def file_name(self) -> str:
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"

    @property
    def repository_path(self) -> str:
        group_id, artifact, version = self.coordinate.split(":")
        return f"{group_id.replace('.', '/')}/{artifact}/{version}/{self.file_name}"


def jars_of(release: SparkRelease, scala: str | None = None) -> tuple[Jar, ...]:
    """Return all jars pinned for a Spark, of the Scala that PySpark has it with on PyPI, or of this one. They complete
    what a resolver would bring beside Spark's own jars."""
    other = f"{release.name}, Scala {scala}"
    name = other if any(other in pins for pins in PINS.values()) else release.name
    return tuple(
        Jar(JarGroup(group), *pin) for group, pins in PINS.items() for pin in pins.get(name, pins.get(EVERY, ()))
    )


def is_pinned(group: JarGroup, release: SparkRelease | None) -> bool:
    """Return whether there are jars of a group for a Spark; for an unknown one there are none."""
    return release is not None and release.name in PINS[group]


def jar_paths(
    groups: Iterable[JarGroup],
    *,
    environ: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    verify: bool = False,
    release: SparkRelease | None = None,
    catalog: Iterable[Jar] | None = None,
) -> list[Path]:
    """The files of these groups for a Spark, by default the installed one, fetched when missing. `verify` also reads
    what is already there and replaces damage. Raises JarError for a group that has no jars for that Spark.

    Safe when several processes do it at once: each writes a draft of its own, and the last rename wins, with equal
    bytes.
    """
    environ = os.environ if environ is None else environ
    release = release or SparkRelease.installed()
    catalog = jars_of(release, SparkRelease.installed_scala(environ)) if catalog is None else tuple(catalog)
    wanted = frozenset(groups)
    for group in sorted(wanted - {jar.group for jar in catalog}):
        raise JarError(
            f"jars are pinned for each Spark; there are none of {group} for Spark {release.name}"
            f"{not_published(group, release)}; leave them out, and name jars of your own in spark.jars"
        )
    folder = SparkRelease.cache_dir(environ) / "jars"
    paths: list[Path] = []
    for jar in catalog:
        if jar.group in wanted:
            path = folder / jar.file_name
            if not _is_whole(path, jar, verify):
                _fetch(jar, path, environ, progress)
            paths.append(path)
    return paths


def awaited(group: JarGroup, release: SparkRelease) -> str:
    """Return the artifact of a format for a Spark, of which a pin is all that is missing; "" for another group."""
    return _ARTIFACTS.get(group, "").format(release.name)


def not_published(group: JarGroup, release: SparkRelease) -> str:
    """Return what is waited for, in brackets."""
    name = awaited(group, release)
    return name and f" ({name} is not published yet)"


def _is_whole(path: Path, jar: Jar, verify: bool) -> bool:
    try:
        if path.stat().st_size != jar.size_bytes:
            return False
        if not verify:
            return True
        with path.open("rb") as data:
            return hashlib.file_digest(data, "sha256").hexdigest() == jar.sha256
    except OSError:
        # Not there, or not readable: fetching it says which, with the cure.
        return False


def _fetch(jar: Jar, path: Path, environ: Mapping[str, str], progress: Progress | None) -> None:
    repository = environ.get(REPOSITORY_VARIABLE) or default_repository()
    if not repository.startswith(("https://", "http://", "file://")):
        raise JarError(
            f"a Maven repository is an http, https or file address; METAINDEX_MAVEN_REPOSITORY is {repository!r}; "
            "give the address of a mirror, or unset it"
        )
    url = f"{repository.rstrip('/')}/{jar.repository_path}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{jar.file_name}-")
    except OSError as error:
        raise JarError(
            f"jars are kept in a cache; cannot write in {path.parent}: {error.strerror}; "
            "set METAINDEX_CACHE to a folder that you can write"
        ) from error
    try:
        with os.fdopen(handle, "wb") as out:
            digest = _download(jar, url, out, environ, progress)
            size_bytes = out.tell()
        if digest != jar.sha256:
            raise JarError(
                f"{jar.coordinate} must have the pinned SHA-256 {jar.sha256[:12]}...; got {digest[:12]}... "
                f"({size_bytes:,} bytes) from {url}; a proxy or mirror changed it: check METAINDEX_MAVEN_REPOSITORY"
            )
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    finally:
        Path(draft).unlink(missing_ok=True)


def _download(jar: Jar, url: str, out: IO[bytes], environ: Mapping[str, str], progress: Progress | None) -> str:
    """Write the body to `out` and answer its SHA-256. A connection that breaks is tried again from the start."""
    tries = 1
    while True:
        out.seek(0)
        out.truncate()
        digest = hashlib.sha256()
        try:
            # Python's opener honours http_proxy, https_proxy and no_proxy.
            with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS, context=_certificates(environ)) as body:  # noqa: S310 - the scheme is checked above
                while chunk := body.read(_CHUNK_BYTES):
                    out.write(chunk)
                    digest.update(chunk)
                    if progress is not None:
                        progress(jar, out.tell())
            # A body that ends early without an error is a broken connection, not a changed file.
            if out.tell() >= jar.size_bytes or tries == _TRIES:
                return digest.hexdigest()
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500 or tries == _TRIES:
                raise JarError(_unreachable(jar, url, f"the server answered {error.code} {error.reason}")) from error
        except (OSError, http.client.HTTPException) as error:
            if tries == _TRIES:
                reason = error.reason if isinstance(error, urllib.error.URLError) else error
                raise JarError(_unreachable(jar, url, str(reason) or type(error).__name__)) from error
        tries += 1


def _unreachable(jar: Jar, url: str, reason: str) -> str:
    return (
        f"{jar.coordinate} is fetched once from a Maven repository; {url}: {reason}; check the network, proxy and "
        "certificate variables (https_proxy, SSL_CERT_FILE), or name a mirror in METAINDEX_MAVEN_REPOSITORY"
    )


def _certificates(environ: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    for variable in _CERTIFICATE_VARIABLES:
        bundle = environ.get(variable)
        if bundle and Path(bundle).is_file():
            context.load_verify_locations(cafile=bundle)
    return context

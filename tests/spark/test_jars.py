"""Fetching pinned jars: from a folder, over HTTP, through a proxy, beside other processes, and when it goes wrong."""

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from metaindex.core import SparkRelease
from metaindex.spark.jars import Jar, JarError, JarGroup, is_pinned, jar_paths, jars_of
from tests.each_spark import PINNED, RELEASES
from tests.processes import serving

CONTENT = bytes(range(256)) * 9000
JAR = Jar(JarGroup.DELTA, "org.example.lake:thing_2.13:1.2.3", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
OTHER = Jar(JarGroup.ICEBERG, "org.example:other:1", 3, hashlib.sha256(b"abc").hexdigest())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    for jar, content in ((JAR, CONTENT), (OTHER, b"abc")):
        path = root / jar.repository_path
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return root


@pytest.fixture
def environ(tmp_path: Path, repository: Path) -> dict[str, str]:
    return {"METAINDEX_CACHE": str(tmp_path / "cache"), "METAINDEX_MAVEN_REPOSITORY": repository.as_uri()}


def fetch(environ: dict[str, str], *, verify: bool = False) -> list[Path]:
    return jar_paths([JarGroup.DELTA], environ=environ, verify=verify, catalog=[JAR, OTHER])


def leftovers(environ: dict[str, str]) -> list[str]:
    return sorted(path.name for path in (Path(environ["METAINDEX_CACHE"]) / "jars").iterdir())


@contextmanager
def server(respond: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            respond(self)

    with serving(Handler) as uri:
        yield uri


def send(handler: BaseHTTPRequestHandler, content: bytes, length: int | None = None) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content) if length is None else length))
    handler.end_headers()
    handler.wfile.write(content)


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the machine that runs the tests stands between them and their own server."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_only_the_groups_asked_for_are_fetched_and_progress_ends_at_the_size(environ: dict[str, str]) -> None:
    seen: list[tuple[str, int]] = []
    (path,) = jar_paths(
        [JarGroup.DELTA],
        environ=environ,
        progress=lambda jar, done: seen.append((jar.coordinate, done)),
        catalog=[JAR, OTHER],
    )
    assert path.read_bytes() == CONTENT
    assert leftovers(environ) == ["thing_2.13-1.2.3.jar"]
    assert seen[-1] == (JAR.coordinate, len(CONTENT))
    assert seen == sorted(seen)


def test_a_jar_in_the_cache_is_not_fetched_again(environ: dict[str, str]) -> None:
    paths = fetch(environ)
    gone = environ | {"METAINDEX_MAVEN_REPOSITORY": "http://127.0.0.1:1/nothing-listens-here"}
    assert fetch(gone) == paths
    assert fetch(gone, verify=True) == paths


@pytest.mark.parametrize(("damage", "verify"), [(CONTENT[:-1], False), (b"x" + CONTENT[1:], True)])
def test_a_damaged_jar_is_fetched_again(environ: dict[str, str], damage: bytes, verify: bool) -> None:
    (path,) = fetch(environ)
    path.write_bytes(damage)
    fetch(environ, verify=verify)
    assert path.read_bytes() == CONTENT


def test_content_that_is_not_the_pinned_is_refused_and_leaves_nothing(
    environ: dict[str, str], repository: Path
) -> None:
    (repository / JAR.repository_path).write_bytes(CONTENT + b"!")
    with pytest.raises(JarError, match=r"must have the pinned SHA-256 .*METAINDEX_MAVEN_REPOSITORY"):
        fetch(environ)
    assert leftovers(environ) == []


def test_a_missing_jar_names_coordinate_address_and_cure(environ: dict[str, str], repository: Path) -> None:
    (repository / JAR.repository_path).unlink()
    with pytest.raises(JarError, match=r"org\.example\.lake:thing_2\.13:1\.2\.3 .*file://.*https_proxy"):
        fetch(environ)
    assert leftovers(environ) == []


def test_an_address_that_is_no_repository_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(JarError, match="http, https or file address"):
        fetch(environ | {"METAINDEX_MAVEN_REPOSITORY": "/some/folder"})


def test_a_cache_that_cannot_be_made_is_a_clear_error(environ: dict[str, str]) -> None:
    Path(environ["METAINDEX_CACHE"]).write_text("a file where the folder should be")
    with pytest.raises(JarError, match=r"cannot write in .*set METAINDEX_CACHE"):
        fetch(environ)


@pytest.mark.slow
def test_many_at_once_all_get_whole_jars(environ: dict[str, str]) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: fetch(environ)[0].read_bytes(), range(16)))
    assert set(answers) == {CONTENT}
    assert leftovers(environ) == ["thing_2.13-1.2.3.jar"]


@pytest.mark.usefixtures("direct")
def test_an_ailing_server_is_tried_again(environ: dict[str, str]) -> None:
    requests: list[str] = []

    def respond(handler: BaseHTTPRequestHandler) -> None:
        requests.append(handler.path)
        match len(requests):
            case 1:
                handler.send_error(503)
            case 2:
                send(handler, CONTENT[:1000], length=len(CONTENT))
            case _:
                send(handler, CONTENT)

    with server(respond) as address:
        (path,) = fetch(environ | {"METAINDEX_MAVEN_REPOSITORY": f"{address}/maven/"})
    assert path.read_bytes() == CONTENT
    assert requests == [f"/maven/{JAR.repository_path}"] * 3


@pytest.mark.usefixtures("direct")
def test_a_jar_the_server_does_not_have_is_not_asked_for_twice(environ: dict[str, str]) -> None:
    requests: list[str] = []

    def respond(handler: BaseHTTPRequestHandler) -> None:
        requests.append(handler.path)
        handler.send_error(404)

    with server(respond) as address, pytest.raises(JarError, match="the server answered 404"):
        fetch(environ | {"METAINDEX_MAVEN_REPOSITORY": address})
    assert len(requests) == 1


@pytest.mark.usefixtures("direct")
def test_the_proxy_variable_is_honoured(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[str] = []

    def respond(handler: BaseHTTPRequestHandler) -> None:
        requests.append(handler.path)
        send(handler, CONTENT)

    with server(respond) as address:
        monkeypatch.setenv("http_proxy", address)
        fetch(environ | {"METAINDEX_MAVEN_REPOSITORY": "http://repository.invalid/maven"})
    assert requests == [f"http://repository.invalid/maven/{JAR.repository_path}"]


def test_the_cache_folder_follows_its_variables(tmp_path: Path) -> None:
    assert SparkRelease.cache_dir({"METAINDEX_CACHE": str(tmp_path), "XDG_CACHE_HOME": "/elsewhere"}) == tmp_path
    assert SparkRelease.cache_dir({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "metaindex"
    assert SparkRelease.cache_dir({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "metaindex"


@pytest.mark.parametrize(
    ("release", "scala"),
    [*((release, None) for release in RELEASES), (RELEASES[0], "2.13")],
    ids=lambda one: one.name if isinstance(one, SparkRelease) else str(one),
)
def test_every_pin_is_whole_and_named_once(release: SparkRelease, scala: str | None) -> None:
    jars = jars_of(release, scala)
    assert len({jar.file_name for jar in jars}) == len(jars)
    for jar in jars:
        assert len(jar.coordinate.split(":")) == 3
        assert jar.size_bytes > 0
        assert len(bytes.fromhex(jar.sha256)) == 32
    formats = {group for group in (JarGroup.DELTA, JarGroup.ICEBERG) if is_pinned(group, release)}
    assert {jar.group for jar in jars} - formats == {JarGroup.SQLITE, *((JarGroup.S3,) if release is PINNED else ())}
    assert release is not PINNED or len(formats) == 2


def test_the_jars_are_of_the_scala_that_a_session_would_have(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    home = {"SPARK_HOME": str(tmp_path)}
    assert SparkRelease.installed_scala(home) is None
    for scala in ("2.12", "2.13"):
        (tmp_path / "jars" / f"scala-library-{scala}.8.jar").touch()
        assert SparkRelease.installed_scala(home) == scala
        (tmp_path / "jars" / f"scala-library-{scala}.8.jar").unlink()
        files = " ".join(jar.file_name for jar in jars_of(RELEASES[0], scala))
        assert f"_{scala}-" in files
        assert f"_{'2.13' if scala == '2.12' else '2.12'}-" not in files
    assert SparkRelease.installed_scala({}) in ("2.12", "2.13")
    assert jars_of(PINNED, "2.13") == jars_of(PINNED)


def test_one_file_name_has_one_content_whatever_spark_it_is_for() -> None:
    every = {jar for release in RELEASES for scala in (None, "2.13") for jar in jars_of(release, scala)}
    assert len({jar.file_name for jar in every}) == len(every)


def test_a_group_without_jars_for_a_spark_is_refused_in_a_line(environ: dict[str, str]) -> None:
    with pytest.raises(JarError, match=r"none of s3 for Spark 3\.5; leave them out"):
        jar_paths([JarGroup.S3], environ=environ, release=RELEASES[0])


def test_a_format_that_is_not_published_for_a_spark_is_named(environ: dict[str, str]) -> None:
    """With it, a pin is all that is missing."""
    with pytest.raises(
        JarError, match=r"delta for Spark 9\.0 \(io\.delta:delta-spark_9\.0_2\.13 is not published yet\)"
    ):
        jar_paths([JarGroup.DELTA], environ=environ, release=replace(PINNED, name="9.0"))

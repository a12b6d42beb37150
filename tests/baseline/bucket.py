"""A bucket in this process: objects in memory behind as much of S3 as metaindex asks of it. What an object was, it is
wherever its bytes come from: its sign is a digest of them, and each was last changed at one and the same time."""

import hashlib
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

from tests.processes import serving

NAME = "golden"
CHANGED = "2026-01-01T00:00:00.000Z"
CHANGED_HTTP = "Thu, 01 Jan 2026 00:00:00 GMT"


@dataclass
class Bucket:
    """`objects`: by key. `options`: the storage options with which it is opened."""

    objects: dict[str, bytes]
    options: Mapping[str, str] = field(default_factory=dict)

    def uri(self, key: str) -> str:
        return f"s3://{NAME}/{key}"


@contextmanager
def served(objects: Mapping[str, bytes]) -> Iterator[Bucket]:
    """The objects as a bucket; what is put into it is gone in the end."""
    bucket = Bucket(dict(objects))
    with serving(_Handler, objects=bucket.objects) as uri:
        bucket.options = {
            "endpoint": uri,
            "allow_http": "true",
            "region": "us-east-1",
            "access_key_id": "golden",
            "secret_access_key": "golden",
        }
        yield bucket


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


class _Handler(BaseHTTPRequestHandler):
    objects: ClassVar[dict[str, bytes]]
    lock: ClassVar[threading.Lock] = threading.Lock()
    protocol_version = "HTTP/1.1"
    timeout = 5
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        key = self._key()
        if not key:
            return self._list({name: values[0] for name, values in parse_qs(parts.query).items()})
        data = self.objects.get(key)
        if data is None:
            return self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        first, last = 0, len(data) - 1
        asked = self.headers.get("Range", "").removeprefix("bytes=")
        if asked:
            start, _, end = asked.partition("-")
            first = int(start) if start else max(0, len(data) - int(end))
            last = min(last, int(end)) if start and end else last
            if first > last:
                return self._answer(416, b"<Error><Code>InvalidRange</Code></Error>")
        more = {"ETag": _etag(data), "Last-Modified": CHANGED_HTTP}
        if asked:
            more["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return self._answer(206 if asked else 200, data[first : last + 1], more)

    do_HEAD = do_GET  # noqa: N815 - the base's word

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.lock:
            if self.headers.get("If-None-Match") == "*" and self._key() in self.objects:
                return self._answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            self.objects[self._key()] = data
        return self._answer(200, b"", {"ETag": _etag(data)})

    def do_POST(self) -> None:
        """Of several objects at once, the one thing that is asked by POST: their removal."""
        asked = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        keys = [unescape(key) for key in re.findall(r"<Key>(.*?)</Key>", asked)]
        for key in keys:
            self.objects.pop(key, None)
        told = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        self._answer(200, f"<DeleteResult>{told}</DeleteResult>".encode(), {"Content-Type": "application/xml"})

    def do_DELETE(self) -> None:
        self.objects.pop(self._key(), None)
        self._answer(204, b"")

    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).removeprefix(f"/{NAME}").lstrip("/")

    def _list(self, asked: Mapping[str, str]) -> None:
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        entries, folders = [], {}
        for key, data in sorted(self.objects.items()):
            if not key.startswith(prefix) or key <= asked.get("start-after", ""):
                continue
            inner, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else (key, "", "")
            if found:
                folders[prefix + inner + delimiter] = None
                continue
            entries.append(
                f"<Contents><Key>{escape(key)}</Key><LastModified>{CHANGED}</LastModified>"
                f"<ETag>{escape(_etag(data))}</ETag><Size>{len(data)}</Size></Contents>"
            )
        told = [f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in folders]
        body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(entries + told)}</ListBucketResult>"
        self._answer(200, body.encode(), {"Content-Type": "application/xml"})

    def _answer(self, status: int, data: bytes, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
        self.wfile.flush()

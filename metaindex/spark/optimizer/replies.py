"""The format of replies to the optimizer's rule (`Reply.java`): lists of texts, and one spelling of a file's name for
every engine."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.formats import FileTable


def packed(texts: Sequence[str]) -> str:
    """Separated by NUL, gzip in base64: a list of a million names has to cross to the JVM. The same texts are the same
    bytes, whatever the time is."""
    return base64.b64encode(gzip.compress("\0".join(texts).encode("utf-8", "surrogatepass"), 1, mtime=0)).decode()


def signs(files: FileTable) -> pa.ChunkedArray:
    """Return what tells each file from others of its path, as far as Spark's own lists have it (`Scan.listed`): size
    and time, for Iceberg size and data sequence number. Of plain files inode and time of change stand behind, or the
    store's tag (`Facts`)."""
    size, time, etag = (files.table.column(name).cast(pa.string()) for name in ("size_bytes", "modified_ms", "etag"))
    if time.null_count:
        time = pc.coalesce(time, pc.replace_substring_regex(etag, "-.*$", ""))
    signed = pc.binary_join_element_wise(size, time, ":").fill_null("unknown")
    if etag.null_count == len(etag) or files.table.column("modified_ms").null_count:
        return signed
    return pc.binary_join_element_wise(signed, etag.fill_null(""), ":")


def normal(files: FileTable, root: str) -> pa.ChunkedArray:
    """Return one spelling of a file for every engine: an absolute local path, or //bucket/key (`Nodes.normal`)."""
    paths, root = files.paths, _spelled(pa.scalar(root)).as_py().rstrip("/")
    inside = pc.invert(pc.match_substring_regex(paths, "^(/|[A-Za-z][A-Za-z0-9+.-]*:/)"))
    below = pc.binary_join_element_wise(root, paths, "/")
    return below if pc.all(inside).as_py() else pc.if_else(inside, below, _spelled(paths))


def signed(files: FileTable, root: str, *more: pa.Array) -> list[str]:
    """Return name and sign of each file, and what `more` has of it, with a NUL between."""
    return list(pc.binary_join_element_wise(normal(files, root), signs(files), *more, "\0").to_pylist())


def _spelled(paths: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    paths = pc.replace_substring_regex(paths, "^file:/*", "/")
    return pc.replace_substring_regex(paths, "^[A-Za-z][A-Za-z0-9+.-]*://", "//")

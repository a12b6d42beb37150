"""Tables of several roots: a path with patterns, a list of paths, or a path with `basePath`.

    /data/2024-*/part-*.parquet     what fits, files and folders alike; a folder counts with all that is below it
    [/lake/a, /lake/b]              both folders as one table
    /t/day=1, basePath=/t           the one folder, with the partitions that lie between

All paths of such a table are relative to one folder, its base: `basePath` where it is given, else the deepest folder
above everything that can fit. As in Spark, partitions are looked for below each root, or below `basePath`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from metaindex.core import NotATableError, StorageError, UnsupportedFeatureError
from metaindex.storage import LocalStorage, Storage, local_path, storage_for

from .globs import escape, expand, has_pattern, literal, matcher


@dataclass(frozen=True, slots=True)
class Roots:
    """The folder that paths are relative to, and the patterns of the table's files and folders below it."""

    storage: Storage
    patterns: tuple[str, ...]
    path: str  # as errors name the table


def roots_of(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    base_path: str | None,
    storage_options: Mapping[str, str] | None,
) -> Roots | None:
    """None: the path is one file or folder, by its own name. What exists by a name with pattern characters is meant by
    it."""
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not given:
        raise NotATableError("a table has at least one path; the list is empty; name a folder or a file")
    texts = [os.fspath(given_path) for given_path in given]
    named = [_absolute(text) for text in texts]
    patterned = [has_pattern(name) and not _exists(name, storage_options) for name in named]
    if len(named) == 1 and not patterned[0] and base_path is None:
        return None
    patterns = [name if is_pattern else escape(name) for name, is_pattern in zip(named, patterned, strict=True)]
    parts = [_split(spelled) for pattern in patterns for spelled in expand(pattern)]
    base = _base(parts) if base_path is None else _split(escape(_absolute(base_path)))
    for split in parts:
        if [literal(part) for part in split[: len(base)]] != [literal(part) for part in base]:
            where = f"basePath {base_path!r}" if base_path is not None else "one store"
            raise UnsupportedFeatureError(
                f"all paths of a table lie below its base; {_joined(split)!r} is not below {where}; name another"
                " basePath"
            )
    storage, _ = storage_for(_joined([literal(part) or part for part in base]), storage_options)
    relative = sorted({"/".join(_split(pattern)[len(base) :]) for pattern in patterns})
    if len(relative) < len(patterns):
        raise UnsupportedFeatureError(
            f"a path is named once, as its files would be read twice; got {', '.join(texts)}; leave out the repetition"
        )
    return Roots(storage, tuple(relative), texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


def match(storage: Storage, pattern: str) -> list[tuple[str, bool]]:
    """Return the matches of a pattern: paths relative to the storage's root, in order, and whether each is a folder.
    Raises NotATableError if there is none."""
    fits = [fit for spelled in expand(pattern) for fit in _matches(storage, spelled)]
    if not fits:
        raise NotATableError(
            f"every path of a table names something; there is nothing at {storage.uri(pattern)!r}; check the path"
        )
    return sorted(fits)


def _matches(storage: Storage, pattern: str) -> list[tuple[str, bool]]:
    matches: list[tuple[str, bool]] = [("", True)]
    for part in pattern.split("/") if pattern else ():
        name = literal(part)
        inside = [above for above, is_folder in matches if is_folder]
        if name is not None:
            matches = [
                (f"{above}/{name}".lstrip("/"), kind) for above in inside for kind in _kinds(storage, above, name)
            ]
            continue
        fits = matcher(part).fullmatch
        matches = [
            (f"{above}/{name}".lstrip("/"), is_folder)
            for above in inside
            for name, is_folder in _children(storage, above)
            if fits(name)
        ]
    return matches


def _absolute(text: str) -> str:
    """Local paths absolute and without dots; patterns stay as they are."""
    local = local_path(text)
    return local if local is not None else text.rstrip("/")


def _exists(name: str, storage_options: Mapping[str, str] | None) -> bool:
    """Return whether a file or folder of exactly this name exists."""
    if "://" not in name:
        return os.path.lexists(name)
    return bool(_kinds(storage_for(name, storage_options)[0], "", ""))


def _split(text: str) -> list[str]:
    """The parts of an absolute path or URI; the first is "" or scheme and bucket."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text.split("/") if text != "/" else [""]
    bucket, *parts = rest.split("/")
    return [f"{scheme}://{bucket}", *parts]


def _joined(parts: Sequence[str]) -> str:
    return "/".join(parts) or "/"


def _base(parts: Sequence[Sequence[str]]) -> list[str]:
    """The longest beginning that all share, without patterns, above each of them."""
    base: list[str] = []
    for together in zip(*(split[:-1] for split in parts), strict=False):
        if len(set(together)) > 1 or literal(together[0]) is None:
            break
        base.append(together[0])
    return base


def _kinds(storage: Storage, folder: str, name: str) -> list[bool]:
    """Return whether the name is a folder; empty if it does not exist. On object stores it may be both."""
    path = f"{folder}/{name}".strip("/")
    if isinstance(storage, LocalStorage):
        where = storage.uri(path)
        return [os.path.isdir(where)] if os.path.exists(where) else []
    is_folder = next(iter(storage.list(path)), None) is not None
    try:
        storage.head(path)
    except StorageError:
        return [True] if is_folder else []
    return [False, True] if is_folder else [False]


def _children(storage: Storage, folder: str) -> Iterator[tuple[str, bool]]:
    if isinstance(storage, LocalStorage):
        where = storage.uri(folder)
        try:
            with os.scandir(where) as entries:
                yield from ((entry.name, entry.is_dir()) for entry in entries)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise LocalStorage.unlisted(error, error.filename or where) from error
        return
    yield from ((name, True) for name in storage.folders(folder))
    yield from ((info.path.rpartition("/")[2], False) for info in storage.list(folder, recursive=False))

"""Location of an index: beside its table, outside of its data.

Delta, Iceberg   <table>/_metaindex/<index>/           engines, VACUUM and orphan removal pass over folders that start
                                                       with "_"
plain folders    <parent>/_metaindex/<folder>/<index>/ because an overwrite of the folder empties it
several roots    <parent>/_metaindex/<base>-<hash of the patterns>/<index>/, where <parent>/<base> is the deepest folder
                 above all roots, or basePath
elsewhere        <location>/<folder>-<hash of the table's path>/<index>/ when a location is configured

The indexes of a namespace lie in `_namespaces/<namespace>/` of that folder: whoever does not name it does not see them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import xxhash

from metaindex.core import ArgumentError, DamagedIndexError, IndexNotFoundError, dataclass
from metaindex.formats import above, name_of
from metaindex.storage import Storage, is_remote, own_folder

FOLDER = "_metaindex"
NAMESPACES = "_namespaces"
_NAMESPACED = re.compile(rf"/{NAMESPACES}(/[^/]+)?\Z")
_RUN = "run="
INTEGERS = "_int"
"""Behind the folder's name of keys that are integers: the parts of a folder have one schema, so that engines can read
all of them as one table."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")


def check_name(name: str) -> None:
    """ArgumentError unless the name is safe as a folder's name on every store."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise ArgumentError(
            "an index name has 1 to 128 of the characters A-Z a-z 0-9 _ . - and starts with a letter or digit;"
            f" {name!r} does not; choose another"
        )


def check_asked(name: str) -> None:
    """IndexNotFoundError for a name that could never be an index's."""
    try:
        check_name(name)
    except ArgumentError as error:
        raise IndexNotFoundError(f"{error}") from error


def indexes_folder(table_root: str, beside: bool, location: str | None = None, patterns: Sequence[str] = ()) -> str:
    """The folder that holds all indexes of a table: absolute path or URI. `beside`: it lies beside the table, not
    inside; `patterns`: of plain files with several roots."""
    root = table_root.rstrip("/")
    last = name_of(root, patterns)
    if location is not None:
        return f"{location.rstrip('/')}/{last}-{xxhash.xxh64_hexdigest(root.encode())}"
    if beside:
        return f"{above(root)}/{FOLDER}/{last}"
    return f"{root}/{FOLDER}"


def namespace_folder(folder: str, namespace: str | None) -> str:
    """The folder of the indexes of a namespace (None: the common one), below that of the table's indexes. ArgumentError
    for a name that no folder may have."""
    if namespace is None:
        return folder
    check_name(namespace)
    return f"{folder}/{NAMESPACES}/{namespace}"


def list_namespaces(folder: str, options: dict[str, str] | None = None) -> list[str]:
    """Names of the namespaces that have, or had, indexes of the table. One call."""
    return list_names(f"{folder}/{NAMESPACES}", options)


def list_names(folder: str, options: dict[str, str] | None = None) -> list[str]:
    """Names that may be indexes: the folders there whose name an index may have. One call; each has an operation log or
    is ignored."""
    storage = own_folder(folder, _home(folder), options=_for(folder, options))
    return [name for name in storage.folders("") if _NAME.match(name)]


def run_folder(kind: str, run: str) -> str:
    """The folder of a run's parts of a metadata partition. Engines that know Hive's partitions take the run for a
    column."""
    return f"{kind}/{_RUN}{run}"


def run_of(kind: str, path: str) -> str:
    """Return the run in whose folder a part of a metadata partition is."""
    return path.removeprefix(f"{kind}/").partition("/")[0].removeprefix(_RUN)


def manifest_path(run: str) -> str:
    return f"_manifests/{run}.json"


def index_storage(folder: str, name: str, options: dict[str, str] | None = None, table: str = "") -> Storage:
    """The storage rooted at the index's folder. `table`: the root of the table, whose permissions are those of its
    indexes. IndexNotFoundError for a name that could never be an index's."""
    check_asked(name)
    return own_folder(f"{folder}/{name}", _home(folder), table, _for(folder, options))


def _home(folder: str) -> str:
    """The folder of all indexes of the table, from that of a namespace."""
    return _NAMESPACED.sub("", folder)


def _for(folder: str, options: dict[str, str] | None) -> dict[str, str] | None:
    """Return the table's storage options, if the indexes are on a store and not on a local disk."""
    return options if is_remote(folder) else None


@dataclass(frozen=True, slots=True)
class PartInfo:
    """A Parquet file of a run, as the manifest states it."""

    kind: str  # metadata partition: "files", "file_ids", "partitions", or that of a kind
    path: str  # relative to the index folder
    rows: int
    size_bytes: int
    footer_bytes: int  # with the 8 bytes behind it, and the page index before it if there is one: one exact read
    footer_digest: str  # sha256 hex of those bytes
    first_key: int | None = None  # of the leading sort column; None for binary keys
    last_key: int | None = None
    # Of the second sort column, where it is one by which parts are found: digits, or hex of the bytes.
    least: str | None = None
    greatest: str | None = None


def bound_number(part: PartInfo, text: str | None) -> int:
    """A bound of a part, in digits. DamagedIndexError where its manifest says no whole number of 64 bits."""
    number = int(text) if text is not None and _NUMBER.fullmatch(text) else None
    if number is None or not -(2**63) <= number < 2**63:
        raise _no_bound(part, text)
    return number


def bound_key(part: PartInfo, text: str | None) -> bytes:
    """A bound of a part, in hex of its bytes. DamagedIndexError where its manifest says something else."""
    try:
        return bytes.fromhex(str(text))
    except ValueError:
        raise _no_bound(part, text) from None


def _no_bound(part: PartInfo, text: str | None) -> DamagedIndexError:
    return DamagedIndexError(
        f"a bound of a part is a whole number of 64 bits, or the hex of a key; that of {part.path[-120:]!r} is"
        f" {str(text)[:40]!r}; refresh the index with mode='full'"
    )


_NUMBER = re.compile(r"-?[0-9]{1,20}")

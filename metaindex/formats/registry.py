"""The format of a table, by its name or by its folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial

from metaindex.core import Cure, EmptyFilesError, MetaIndexError, NotATableError, StorageError, UnsupportedFeatureError
from metaindex.storage import Storage, both_at, is_remote, parent_of, storage_for

from .format import Format, TableRef
from .glimpse import Glimpse
from .names import FILES, FORMATS, PLAIN


def formats_with_logs() -> Iterator[Format]:
    return (Format.named(name) for name in FORMATS if name != FILES)


def detect(ref: TableRef) -> Format:
    """The format of the table at a path, or an error that says what was looked for."""
    seen = Glimpse.of(ref.storage)
    for table_format in formats_with_logs():
        told = None if seen is None else table_format.recognized(ref, seen)
        if told or (told is None and table_format.detect(ref)):
            return table_format

    from .files.owners import refuse_owned
    from .files.table import FilesFormat
    from .files.walk import Passed

    files, passed = FilesFormat(), Passed()
    root = ref.storage.root

    def owned() -> MetaIndexError | None:
        try:
            refuse_owned(ref.storage, alone=True)
        except MetaIndexError as error:
            return error
        return None

    beside = partial(both_at, root, owned, partial(files.see_indexes, ref))
    is_table, (refusal, _) = both_at(root, partial(files.detect, ref, passed), beside)
    if is_table and refusal is not None:
        raise refusal
    if is_table:
        return files
    _refuse_log_of_nothing(ref)
    if passed.empty:
        what = f"holds data files without a byte, such as {passed.empty!r}; check the path"
    else:
        what = "is empty or holds no data files; check the path" if passed.anything else _nothing_at(ref)
    raise (EmptyFilesError if passed.empty else NotATableError)(
        "a table is a folder with _delta_log (Delta), metadata (Iceberg), .hoodie (Hudi), or Parquet, CSV, JSON files;"
        f" {ref.path!r} {what}"
    )


def open_ref(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str | None = None,  # noqa: A002 - the word that users know from Spark
    storage_options: Mapping[str, str] | None = None,
    **options: object,
) -> tuple[Format, TableRef]:
    """The format of a table and where it is. `format`: "delta", "iceberg", "hudi", "files", or "parquet", "csv", "json"
    for plain files of that kind. A list of paths, a path with patterns and `basePath` are plain files; see
    `files.roots`."""
    catalog = options.get("catalog")
    if catalog is None:
        several = _several(path, format, storage_options, options)
        if several is not None:
            return Format.named(FILES), several
    if not isinstance(path, str | os.PathLike):
        (path,) = path  # a list of one
    path = os.fspath(path)
    if catalog is not None:
        if format not in (None, "iceberg"):
            raise UnsupportedFeatureError(
                f"{Cure('argument', 'catalog')} opens Iceberg tables; got {Cure('argument', 'format', format)}; leave"
                " one of them out"
            )
        # The path is a name in the catalog, which alone knows where the table is.
        return Format.named("iceberg"), TableRef(_storage_of(catalog, path, storage_options), path, dict(options))
    from .files.owners import refuse_owned
    from .iceberg.finding import METADATA_ENDS

    storage, root = storage_for(path, storage_options)
    if path.endswith(METADATA_ENDS) and (format is None or format.lower() == "iceberg"):
        # One metadata file names a table, whose files lie below the folder above its own.
        return Format.named("iceberg"), TableRef(
            storage_for(parent_of(parent_of(root)), storage_options)[0], root, dict(options)
        )
    if format is None:
        ref = TableRef(storage, root, dict(options))
        return detect(ref), ref
    wanted = format.lower()
    ref = TableRef(storage, root, {**options, "format": wanted} if wanted in PLAIN else dict(options))
    if wanted in PLAIN or wanted == FILES:
        refuse_owned(storage, alone=True)
        return Format.named(FILES), ref
    table_format = Format.named(wanted)
    if not table_format.detect(ref):
        _refuse_log_of_nothing(ref)
        said = Cure("argument", "format")
        raise NotATableError(f"there is no table of format {wanted} at {root!r}; check the path, or leave {said} out")
    return table_format, ref


def _several(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    format: str | None,  # noqa: A002
    storage_options: Mapping[str, str] | None,
    options: Mapping[str, object],
) -> TableRef | None:
    """A table of several roots; None where the path is one folder or file."""
    from .files.owners import refuse_owned
    from .files.roots import roots_of

    wanted = None if format is None else format.lower()
    base_path = next((str(value) for name, value in options.items() if name.lower() == "basepath" and value), None)
    roots = roots_of(path, base_path, storage_options)
    if roots is None:
        return None
    if wanted not in (None, FILES, *PLAIN):
        raise UnsupportedFeatureError(
            f"patterns, lists of paths and basePath are for plain files; {roots.path!r} is opened as {wanted}; name the"
            " one folder of the table"
        )
    ref = TableRef(
        roots.storage, roots.path, {**options, "format": wanted} if wanted in PLAIN else dict(options), roots.patterns
    )
    table_format = Format.named(FILES)
    if not table_format.detect(ref):
        raise NotATableError(
            f"a table of plain files has Parquet, CSV or JSON files; {roots.path!r} fits none; check the pattern, or"
            " leave basePath out"
        )
    refuse_owned(ref.storage, alone=False)
    return ref


def _storage_of(catalog: object, name: str, storage_options: Mapping[str, str] | None) -> Storage:
    """Return the storage of a catalog's table. The format reports a wrong name or catalog when it asks again."""
    from .iceberg.configured import table_in

    table = table_in(catalog, name)
    location = "/" if table is None else str(table.location())
    return storage_for(location, storage_options if "://" in location and not location.startswith("file:") else None)[0]


def _nothing_at(ref: TableRef) -> str:
    """A store has no empty folders: there it is one and the same."""
    if not is_remote(ref.path) and os.path.isdir(ref.storage.root):
        return "is an empty folder; check the path"
    try:
        info = ref.storage.head("")
    except StorageError:
        return "does not exist; check the path"
    if not info.size_bytes:
        return "is a file without a byte; check the path"
    said = Cure("argument", "format")
    return f"is a file whose name ends as none of those (*.parquet, *.csv, *.json); say {said} where it is one"


def _refuse_log_of_nothing(ref: TableRef) -> None:
    from .delta.log_segment import log_of_nothing, without_commits

    with suppress(StorageError):  # a file, or what nobody may look into: that is said of it
        if log_of_nothing(ref.storage):
            raise NotATableError(without_commits(ref.path))

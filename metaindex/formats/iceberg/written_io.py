"""The storage of an export as pyiceberg's FileIO: what is written goes the way of everything else, to a local folder or
to a store, with the options and the credentials of the target."""

from __future__ import annotations

import io
import posixpath
from typing import cast

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream

from metaindex.formats.storage import Storage, exists
from metaindex.formats.storage_opening import is_remote


def location_of(target: Storage, path: str) -> str:
    """A path below the target as Iceberg's metadata name it."""
    root = target.root if is_remote(target.root) else f"file://{target.root}"
    return posixpath.join(root.rstrip("/"), path)


class StorageIO(FileIO):
    """Of the files below one target."""

    def __init__(self, target: Storage) -> None:
        super().__init__({})
        self._target = target

    def new_input(self, location: str) -> InputFile:
        return _Input(self._target, location)

    def new_output(self, location: str) -> OutputFile:
        return _Output(self._target, location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        where = location if isinstance(location, str) else location.location
        self._target.delete(_path(self._target, where))


def _path(target: Storage, location: str) -> str:
    root = location_of(target, "")
    assert location.startswith(root), f"{location} is below {root}"
    return location.removeprefix(root)


class _Object:
    """What inputs and outputs have in common."""

    def __init__(self, target: Storage, location: str) -> None:
        super().__init__(location)  # type: ignore[call-arg]  # pyiceberg's class, which stands behind this one
        self._target, self._path = target, _path(target, location)

    def __len__(self) -> int:
        return self._target.head(self._path).size_bytes

    def exists(self) -> bool:
        return exists(self._target, self._path)


class _Input(_Object, InputFile):
    def open(self, seekable: bool = True) -> InputStream:
        return cast("InputStream", self._target.open_input(self._path))


class _Output(_Object, OutputFile):
    def to_input_file(self) -> InputFile:
        return _Input(self._target, self.location)

    def create(self, overwrite: bool = False) -> OutputStream:
        return cast("OutputStream", _Written(self._target, self._path, overwrite))


class _Written(io.BytesIO):
    """Put when it is closed, whole; manifests are small."""

    def __init__(self, target: Storage, path: str, overwrite: bool) -> None:
        super().__init__()
        self._target, self._path, self._overwrite = target, path, overwrite

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None:
            super().close()  # half a file is none
        self.close()

    def close(self) -> None:
        if not self.closed:
            put = self._target.put if self._overwrite else self._target.put_if_absent
            put(self._path, self.getvalue())
        super().close()

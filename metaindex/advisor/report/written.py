"""The page as a file: it appears whole or not at all, and never in the place of somebody's other file."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from metaindex.advisor.figures import GENERATOR
from metaindex.core import ArgumentError, Cure, Plain, Shown, StorageError, dataclass
from metaindex.storage import is_path

_HEAD = 4096


@dataclass(frozen=True, slots=True, repr=False)
class Reported(Shown, Plain):
    """A page that was written. `notes`: what is missing from it, and why."""

    table: str
    path: str
    size_bytes: int
    notes: tuple[str, ...] = ()

    def _printed(self) -> str:
        line = f"{self.table}: {self.path} written, {self.size_bytes:,} bytes"
        return "\n".join([line, *(f"  missing: {note}" for note in self.notes)])


def check_page(given: object, forbidden: Sequence[str], *, overwrite: bool) -> Path:
    """Return where a page goes, before anything is read. Raises ArgumentError for a path that is no local file, a link,
    or in one of the `forbidden` folders, and for an existing file that is no page of ours, unless `overwrite`;
    StorageError for a folder that takes no new files."""
    if not isinstance(given, str | os.PathLike) or not os.fspath(given) or "://" in os.fspath(given):
        raise ArgumentError(f"a report is written to a local file; got {given!r}; name one, such as 'report.html'")
    path = Path(os.path.abspath(os.fspath(given)))
    if not is_path(str(path)):
        raise ArgumentError(f"a report is written to a file that can have its name; got {str(path)!r}; name another")
    folder = path.parent
    if not folder.is_dir():
        raise ArgumentError(f"the folder of a report must exist; {str(folder)!r} does not; create it first")
    real = os.path.join(os.path.realpath(folder), path.name)
    for root in forbidden:
        top = os.path.realpath(root)
        if real == top or real.startswith(top.rstrip("/") + "/"):
            raise ArgumentError(
                f"a report is written outside of the table and its indexes; {str(path)!r} is in {root}; choose another"
                " folder"
            )
    _check_file(path, overwrite=overwrite)
    try:
        check_folder(path)
    except OSError as error:
        raise _unwritten(path, error) from error
    return path


def _check_file(path: Path, *, overwrite: bool) -> None:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    except OSError as error:  # a name that is too long
        raise _unwritten(path, error) from error
    if not stat.S_ISREG(mode):
        raise ArgumentError(f"a report replaces no link, folder or device; {str(path)!r} is one; choose another name")
    if not overwrite and not _is_ours(path):
        raise ArgumentError(
            f"a report replaces reports alone; {str(path)!r} is another file; choose another name, or say"
            f" {Cure('argument', 'overwrite', True)}"
        )


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return f'content="{GENERATOR}"'.encode() in file.read(_HEAD)


def write_page(path: Path, text: str) -> int:
    """Writes the file; returns its size. On an error nothing is left. Raises StorageError if it cannot be written."""
    data = text.encode()
    try:
        with draft_of(path) as draft:
            return draft.write_bytes(data)
    except OSError as error:
        raise _unwritten(path, error) from error


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Make a hidden file beside `path` that takes its place at the end; an error leaves nothing. It has the rights that
    any new file has there: the system applies the umask, which a process can only ask by changing it for all its
    threads."""
    draft = _new_draft(path)
    try:
        yield draft
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def check_folder(path: Path) -> None:
    """Check that the folder of `path` takes new files, before there is anything to write. Raises OSError."""
    _new_draft(path).unlink()


def _new_draft(path: Path) -> Path:
    draft = path.parent / f".{path.name[:100]}.{secrets.token_hex(8)}"
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    return draft


def _unwritten(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"a report is written beside its file first; {str(path.parent)!r} takes no new file ({error.strerror}); choose"
        " another folder, change its mode, or free some space"
    )

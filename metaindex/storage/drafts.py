"""A file of the user's is written beside its place and then takes it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def new_draft(path: Path) -> tuple[int, Path]:
    """A new hidden file in the folder of `path`, open for writing, with the rights that any new file has there: the
    system applies the umask, which a process can only ask by changing it for all its threads. Raises OSError."""
    draft = path.parent / f".{path.name[:100]}.{secrets.token_hex(8)}"
    return os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), draft


def check_folder(path: Path) -> None:
    """Check that the folder of `path` takes new files, before there is anything to write. Raises OSError."""
    handle, draft = new_draft(path)
    os.close(handle)
    draft.unlink()

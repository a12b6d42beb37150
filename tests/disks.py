"""Disks that are full, read-only, not ours, or that take no more than so many bytes a file; and their clocks, which
tick coarsely."""

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(kilobytes: int) -> Iterator[Path]:
    """A file system of its own that holds so much; the test is skipped where nobody may mount one."""
    folder = Path(tempfile.mkdtemp())
    try:
        _mount("-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder))
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
    finally:
        folder.rmdir()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder as a mount that takes no writes."""
    _mount("--bind", str(folder), str(folder))
    try:
        _mount("-o", "remount,bind,ro", str(folder))
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"needs the right to mount: {done.stderr.strip()}")


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def someone_elses_folder() -> Iterator[Path]:
    """A folder that this process may write to, and from then on as a user without privileges, whose permissions
    count."""
    folder = Path(tempfile.mkdtemp())
    nobody = 65534
    root = os.geteuid() == 0
    try:
        if root:
            os.chown(folder, nobody, nobody)
            os.setegid(nobody)
            os.seteuid(nobody)
        yield folder
    finally:
        if root:
            os.seteuid(0)
            os.setegid(0)
        for base, _, _ in os.walk(folder):
            with suppress(OSError):
                os.chmod(base, 0o700)
        shutil.rmtree(folder, ignore_errors=True)


def until_the_clock_ticks(*paths: Path) -> None:
    """Returns once a change of these files would be at another time than their last one was."""
    then = max(path.stat().st_ctime_ns for path in paths)
    with tempfile.NamedTemporaryFile(dir=paths[0].parent, prefix="_clock") as probe:
        while os.stat(probe.name).st_ctime_ns <= then:
            os.utime(probe.name)

"""Builds the S3 server of the tests: `make s3-server`. Needs Go once; the program is kept in the user's cache
(`SparkRelease.cache_dir`), by its version.

Without Go nothing is built and the tests that need the server are skipped.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from metaindex.core import SparkRelease
from tests.processes import say

MODULE, VERSION = "github.com/versity/versitygw/cmd/versitygw", "v1.8.0"


def program() -> Path:
    """Where the program is, built or not."""
    return SparkRelease.cache_dir() / "bin" / f"versitygw-{VERSION}"


def missing() -> str | None:
    """Why there is no server; None: there is one."""
    if program().exists():
        return None
    cure = "run make s3-server" if shutil.which("go") else "install Go and run make s3-server"
    return f"needs a real S3 server, which is not built on this machine: {cure}"


def build() -> None:
    """Makes the program whole, or leaves nothing."""
    target = program()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as made:
        environ = {**os.environ, "GOBIN": made, "GOFLAGS": "-trimpath", "CGO_ENABLED": "0"}
        subprocess.run(["go", "install", f"{MODULE}@{VERSION}"], env=environ, check=True)
        os.replace(Path(made) / "versitygw", target)


def main() -> int:
    if program().exists():
        say(f"s3-server: {program()}")
    elif shutil.which("go") is None:
        say("s3-server: Go is not installed; the tests that need a real S3 server will be skipped")
    else:
        say(f"s3-server: building versitygw {VERSION}, once; some minutes")
        try:
            build()
        except subprocess.CalledProcessError as error:
            # A module proxy that is out of reach fails no other test; every test that is skipped says why.
            say(f"s3-server: go install failed ({error}); the tests that need a real S3 server will be skipped")
        else:
            say(f"s3-server: {program()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

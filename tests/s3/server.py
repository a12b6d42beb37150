"""A real S3 server on loopback, over a temporary folder: versitygw with its POSIX backend."""

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.processes import ended, free_port

from .build import program

_TRIES = 5  # a free port may be taken before the server has it


@dataclass(frozen=True)
class S3Server:
    """A running server. Buckets are the folders of `root`; `environment` is what a user would set."""

    port: int
    root: Path
    log: Path
    access_key: str
    secret_key: str

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    @property
    def options(self) -> dict[str, str]:
        """The same as storage options."""
        return {
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "endpoint": self.endpoint,
            "region": "us-east-1",
            "allow_http": "true",
        }

    def make_bucket(self, name: str) -> Path:
        """The folder of a new bucket; what is put there is an object at once."""
        folder = self.root / name
        folder.mkdir()
        return folder


@contextmanager
def running(folder: Path) -> Iterator[S3Server]:
    """Starts a server of its own and ends it. Nobody else knows its keys."""
    root, sidecar = folder / "buckets", folder / "sidecar"
    root.mkdir()
    sidecar.mkdir()
    for _ in range(_TRIES):
        server = S3Server(
            free_port(), root, folder / "server.log", "AKIA" + secrets.token_hex(8).upper(), secrets.token_hex(20)
        )
        with open(server.log, "wb") as log:
            process = subprocess.Popen(
                [
                    program(),
                    "--port",
                    f"127.0.0.1:{server.port}",
                    "--quiet",
                    "posix",
                    "--sidecar",
                    sidecar,
                    root,
                ],
                env={
                    **os.environ,
                    "ROOT_ACCESS_KEY_ID": server.access_key,
                    "ROOT_SECRET_ACCESS_KEY": server.secret_key,
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        if _answers(server.port, process):
            break
    else:
        raise RuntimeError(f"the S3 server did not start: {server.log.read_text(errors='replace')[-2000:]}")
    try:
        yield server
    finally:
        process.terminate()
        ended(process, 10)


def _answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Waits until the server takes connections; False where it ended, or still does not after half a minute."""
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return True
    process.kill()
    process.wait()
    return False

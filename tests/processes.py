"""What a test asks of a process."""

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


def peak_bytes() -> int:
    """The most memory that this process itself has held. `ru_maxrss` would begin with what the process held that
    started it: a worker that ran some thousand tests."""
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text()).group(1)) << 10


def terminal() -> tuple[int, int]:
    """Both ends of a terminal that is none; the test is skipped where the system gives none."""
    try:
        return os.openpty()
    except OSError as error:
        pytest.skip(f"no terminals here (is /dev/pts mounted?): {error}")


def say(line: str) -> None:
    """At once, whoever reads."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], **attributes: object) -> Iterator[str]:
    """The address of a server on this host, which answers as this class does, and quietly."""
    quiet = type("Quiet", (handler,), {"log_message": lambda *_: None, **attributes})
    with ThreadingHTTPServer(("127.0.0.1", 0), quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def python(*words: object, **how: Any) -> str:
    """What another Python says, run with these words; it ends well."""
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, check=False, **how)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def ended(process: subprocess.Popen[Any], seconds: float = 60) -> bool:
    """Does it end by itself in so long? Else it is killed."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False
    return True


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])

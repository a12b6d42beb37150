"""A real browser, where the machine has one: Debian's chromium (`apt-get install chromium`) or Google Chrome, asked
over two pipes by its own protocol. Without a driver, a port or a package."""

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ended, say

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # of a page that the test wrote, in a container whose user is root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
)

_MOVED = """
import fcntl, os, sys
from tests.processes import say
high = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 50) for number in sys.argv[1:3]]
for number, wanted in zip(high, (3, 4)):  # where the protocol is
    os.dup2(number, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""


def program() -> str | None:
    """The browser that `METAINDEX_BROWSER` names, or that is on the path."""
    named = os.environ.get("METAINDEX_BROWSER")
    return shutil.which(named) if named else next((path for name in NAMES if (path := shutil.which(name))), None)


needs_browser = pytest.mark.skipif(
    program() is None, reason="no chromium or google-chrome on this machine: make browser installs one where it may"
)


def main() -> int:
    """`make browser`: Debian's chromium, where this user may install it; says so where not, and is no error."""
    if program() is None and shutil.which("apt-get") and os.geteuid() == 0:
        say("browser: installing chromium")
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update"], ["install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"]):
            done = subprocess.run(
                ["apt-get", "--quiet", "--quiet", *words], env=quiet, check=False, capture_output=True
            )
            if done.returncode:
                say(f"browser: apt-get {words[0]} failed: {done.stderr.decode(errors='replace').strip()[-200:]}")
                break
    found = program()
    say(f"browser: {found}" if found else "browser: none here, and none can be installed; its tests will be skipped")
    return 0


class Browser:
    """One page at a time. Since it was opened: `requests`, those of them that the page's policy `refused`, and
    `complaints` of the console."""

    def __init__(self, process: subprocess.Popen[bytes], write: int, read: int) -> None:
        self._process, self._write, self._read = process, write, read
        self._left, self._number, self._session = b"", 0, ""
        self.requests: list[str] = []
        self.refused: list[str] = []
        self._asked: dict[str, str] = {}
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for room in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{room}.enable")

    def open(self, url: str, *, width: int = 1280, dark: bool = False) -> None:
        """The page as a person sees it at this width."""
        self.requests.clear()
        self.complaints.clear()
        self.refused.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        phone = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=phone)
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def run(self, script: str) -> Any:
        """What an expression of JavaScript gives, told from outside: the page's policy is not asked."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, path: Path) -> None:
        """The whole page as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16_000), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))

    def printed(self) -> bytes:
        """The page as a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def until(self, true: Callable[[], bool]) -> None:
        """Listens to the browser until something has come true."""
        while not true():
            self._next()

    def wait(self, event: str) -> None:
        while self._next().get("method") != event:
            pass

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            data = os.read(self._read, 1 << 20)
            assert data, "the browser has ended"
            self._left += data
        line, self._left = self._left.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(line)
        self._note(answer.get("method", ""), answer.get("params", {}))
        return answer

    def _note(self, method: str, told: Mapping[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])
                self._asked[told["requestId"]] = told["request"]["url"]
            case "Network.loadingFailed" if told.get("blockedReason") == "csp":
                self.refused.append(self._asked[told["requestId"]])
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(told)[:500])
            case "Log.entryAdded":
                self.complaints.append(told["entry"]["text"])


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """`folder`: for what it keeps of a user."""
    name = program()
    assert name is not None
    to_it, write = os.pipe()
    read, from_it = os.pipe()
    words = [name, *_FLAGS, f"--user-data-dir={folder}", "about:blank"]
    moved = [sys.executable, "-c", _MOVED, str(to_it), str(from_it), *words]
    with (folder.parent / "browser.log").open("wb") as log:
        process = subprocess.Popen(moved, pass_fds=(to_it, from_it), stdout=log, stderr=log)
    os.close(to_it)
    os.close(from_it)
    try:
        yield Browser(process, write, read)
    finally:
        os.close(write)  # its end
        ended(process)
        os.close(read)


if __name__ == "__main__":
    sys.exit(main())

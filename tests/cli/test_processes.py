"""What only a process shows: pipes, terminals, what is loaded."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import terminal

pytestmark = pytest.mark.slow
METAINDEX = [sys.executable, "-m", "metaindex"]


def test_a_reader_that_stops_reading_is_no_error(indexed: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*METAINDEX, "prune", str(indexed), "id > 0", "--paths"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def said(stderr: str) -> list[str]:
    """The lines, but for the progress that is told where something takes long: on a busy machine anything may."""
    return [line for line in stderr.splitlines() if not re.fullmatch(r"metaindex: .*, \d+ (s|min.*)", line)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words",
    [
        ["id > 0", "--json"],
        *(pytest.param(one, marks=pytest.mark.slow) for one in (["nope = 1", "--json"], ["id > 0"])),
    ],
    ids=str,
)
def test_an_answer_that_cannot_be_written_is_one_line_and_a_code(indexed: Path, words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*METAINDEX, "scan", str(indexed), *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, len(said(done.stderr))) == (1, 1), done.stderr


def test_a_failure_that_nobody_reads_is_a_failure(indexed: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    words = [*METAINDEX, "scan", str(indexed), "nope = 1", "--json"]
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, len(said(done.stderr))) == (1, 1), done.stderr


@pytest.mark.parametrize("closed", [*(pytest.param(one, marks=pytest.mark.slow) for one in "120"), "1 2 0"])
def test_closed_streams_are_ones_to_nowhere(indexed: Path, closed: str) -> None:
    """What libraries print to them would else go into the first file that is opened."""
    shut = " ".join(f"{number}{'<' if number == '0' else '>'}&-" for number in closed.split())
    code = (
        "import os, sys; from metaindex.cli import main\n"
        f"codes = main(['scan', {str(indexed)!r}, 'id = 112']), main(['scan', {str(indexed)!r}, 'nope = 1',"
        " '--json'])\n"
        "places = [os.readlink(f'/proc/self/fd/{n}') for n in map(int, sys.argv[1:])] if os.path.isdir('/proc/self/fd')"
        " else []\n"
        "os._exit(0 if codes == (0, 1) and all(place == '/dev/null' for place in places) else 9)\n"
    )
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" {closed} {shut}', sys.executable, code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_looking_up_loads_no_spark(indexed: Path) -> None:
    code = (
        "import sys\n"
        "from metaindex.cli import main\n"
        f"t = {str(indexed)!r}\n"
        "codes = [main(['prune', t, 'id = 112']), main(['scan', t, 'id = 112']), main(['indexes', t]), main(['explain',"
        " t, 'id = 1'])]\n"
        "loaded = {'pyspark', 'py4j'} & set(sys.modules)\n"
        "sys.exit(f'{codes} {loaded}' if any(codes) or loaded else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert said(done.stderr)[-1] == "1 row; 1 of 6 files may hold such rows"


def test_a_terminal_gets_a_drawn_table(indexed: Path) -> None:
    leader, follower = terminal()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "60", "PYTHONUTF8": "1"}
    with subprocess.Popen([*METAINDEX, "indexes", str(indexed)], stdout=follower, env=env) as process:
        os.close(follower)
        written = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # Linux says so when the other side is closed
                break
            if not chunk:
                break
            written += chunk
    os.close(leader)
    assert process.returncode == 0
    assert "─" in written.decode()
    assert "stats" in written.decode()


def test_a_terminal_that_knows_ascii_only_gets_escapes(indexed: Path) -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(
        [*METAINDEX, "scan", str(indexed), "id = 103", "--columns", "name"], capture_output=True, env=env, check=False
    )
    assert done.returncode == 0
    assert b"\\xfc\\U0001f600" in done.stdout

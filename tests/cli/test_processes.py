"""What only a process shows: pipes, terminals, what is loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_looking_up_loads_no_spark(indexed: Path) -> None:
    code = (
        "import sys\n"
        "from metaindex.cli import main\n"
        f"t = {str(indexed)!r}\n"
        "codes = [main(['prune', t, 'id = 112']), main(['scan', t, 'id = 112']), main(['indexes', t]), main(['explain', t, 'id = 1'])]\n"
        "loaded = {'pyspark', 'py4j'} & set(sys.modules)\n"
        "sys.exit(f'{codes} {loaded}' if any(codes) or loaded else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "1 row; 1 of 6 files had to be looked at")


def test_a_terminal_gets_a_drawn_table(indexed: Path) -> None:
    try:
        leader, follower = os.openpty()
    except OSError:
        pytest.skip("no terminals here: /dev/pts is not mounted")
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

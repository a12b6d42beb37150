"""A workload may come through a pipe; it is said what is waited for, and what has no end is refused."""

import logging
import os
import socket
import threading
from pathlib import Path
from typing import TextIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.advisor.workloads import text_files
from metaindex.cli import output as progress
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.patience import LONGEST
from tests.processes import terminal


class WhenSaid(logging.Handler):
    """Writes to the pipe once it was said that it is waited for."""

    def __init__(self, pipe: Path, text: str) -> None:
        super().__init__()
        self.pipe, self.text, self.said = pipe, text, list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
        threading.Thread(target=self.pipe.write_text, args=(self.text,)).start()


def test_a_pipe_is_read_and_what_is_waited_for_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "PATIENCE_SECONDS", 0.01)
    os.mkfifo(pipe := tmp_path / "p\x1b[31mipe")
    writing = WhenSaid(pipe, "select * from t where a = 1\nselect * from t where a = 2\n")
    logging.getLogger("metaindex").addHandler(writing)
    try:
        found = mi.workload(pipe)
    finally:
        logging.getLogger("metaindex").removeHandler(writing)
    assert found.seen == 2
    (said,) = writing.said
    assert said.startswith("waiting for what is written to ")
    assert said.isprintable()


def test_a_pipe_that_is_written_to_at_once_is_read_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    reading, writing = os.pipe()
    try:
        os.write(writing, b"select * from t where a = 1\n")
        os.close(writing)
        assert mi.workload(Path(f"/dev/fd/{reading}")).seen == 1
    finally:
        os.close(reading)
    assert caplog.text == ""


def test_a_terminal_is_read_as_it_is_typed_into() -> None:
    keyboard, screen = terminal()
    try:
        os.write(keyboard, b"select * from t where a = 1\n\x04\x04")  # Ctrl-D: no more, and again
        assert mi.workload(Path(os.ttyname(screen))).seen == 1
    finally:
        os.close(screen)
        os.close(keyboard)


def test_nothing_is_an_empty_workload() -> None:
    assert mi.workload(Path(os.devnull)).seen == 0


@pytest.mark.parametrize("word", ["recommend", "sql"])
def test_what_has_no_end_and_what_is_no_file_is_refused(tmp_path: Path, call: Call, word: str) -> None:
    words = ["recommend", tmp_path, "--queries"] if word == "recommend" else ["sql", "--file"]
    device = call(*words, "/dev/zero")
    assert device.code == 1
    assert "this is a device" in device.err
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s"))
        refused = call(*words, tmp_path / "s")
    assert refused.code == 1
    assert "cannot be read: " in refused.err
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize("word", ["recommend", "whatif"])
def test_reading_that_lasts_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call, word: str) -> None:
    told, show = threading.Event(), progress.show

    def shown(text: str, file: TextIO) -> None:
        show(text, file)
        told.set()

    monkeypatch.setattr(progress, "show", shown)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "0.parquet")
    reading, writing = os.pipe()

    def late() -> None:
        told.wait(LONGEST)
        os.write(writing, b"select * from t where a = 1\n")
        os.close(writing)

    writer = threading.Thread(target=late)
    writer.start()
    try:
        more = [] if word == "recommend" else ["--column", "a"]
        answer = call(word, tmp_path, "--queries", f"/dev/fd/{reading}", "--as", "t", *more)
    finally:
        writer.join()
        os.close(reading)
    assert answer.code == 0, answer.err
    assert "reading the queries" in answer.err

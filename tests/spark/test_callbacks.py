"""PySpark's callback server answers whoever can reach its port; what is called there answers its JVM alone. Asked as
any process of the host may: by a socket."""

import ast
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import CallbackServer, CallbackServerParameters, GatewayProperty, PythonProxyPool, server_started

import metaindex
from metaindex.core import SparkDriver


class Client:
    """What py4j's server wants of a gateway to a JVM that is not there."""

    address, port, is_connected, gateway_parameters = "127.0.0.1", 0, True, None

    def __init__(self, pool: PythonProxyPool) -> None:
        self.gateway_property = GatewayProperty(True, pool, True)


class Door:
    """A callback server as PySpark starts it, with one thing behind it."""

    def __init__(self, thing: Any) -> None:
        pool = PythonProxyPool()
        self._number = pool.put(thing)
        parameters = CallbackServerParameters(port=0, eager_load=True, daemonize=True, daemonize_connections=True)
        assert parameters.auth_token is None
        self.server = CallbackServer(pool, Client(pool), callback_server_parameters=parameters)
        listening = threading.Event()
        server_started.connect(lambda *_, **__: listening.set(), sender=self.server, unique_id=id(self))
        self.server.start()
        assert listening.wait(60)
        self._port = self.server.server_socket.getsockname()[1]

    def ask(self, method: str, *texts: str, of: str = "") -> str:
        said = "".join(f"s{text}\n" for text in texts)
        with socket.create_connection(("127.0.0.1", self._port), timeout=600) as caller:
            caller.sendall(f"c\n{of or self._number}\n{method}\n{said}e\n".encode())
            return caller.recv(100_000).decode()


ASKED: list[str] = []


@pytest.fixture
def door() -> Iterator[tuple[str, Door]]:
    ASKED.clear()

    def answer(request: str) -> str:
        ASKED.append(request)
        return "ANSWER"

    token, function = SparkDriver.java_function(answer)
    made = Door(function)
    yield token, made
    made.server.shutdown()


def test_the_jvm_is_answered(door: tuple[str, Door]) -> None:
    token, there = door
    assert "ANSWER" in there.ask("apply", token + "\\n{}")  # py4j escapes the line's end
    assert ASKED == ["{}"]


@pytest.mark.parametrize("said", ["{}", "\\n{}", "0" * 64 + "\\n{}", "é\\n{}"])
def test_nobody_else_is(door: tuple[str, Door], said: str) -> None:
    _, there = door
    assert "ANSWER" not in there.ask("apply", said)
    assert ASKED == []


@pytest.mark.parametrize(
    ("method", "texts"),
    [
        ("__getattribute__", ["apply"]),
        ("__setattr__", ["apply", "x"]),
        ("__init__", []),
        ("__reduce_ex__", []),
        ("__dir__", []),
        ("__repr__", []),
        ("answer", ["{}"]),
    ],
)
def test_nothing_else_can_be_asked(door: tuple[str, Door], method: str, texts: list[str]) -> None:
    token, there = door
    found = there.ask(method, *texts)
    assert found.startswith("!x")  # an error
    assert token not in found
    assert "ANSWER" in there.ask("apply", token + "\\n{}")


def test_another_of_its_class_answers_no_more(door: tuple[str, Door]) -> None:
    token, there = door
    made = there.ask("__class__")
    assert token not in made
    number = made.removeprefix("!yf").partition(";")[0]
    assert "ANSWER" not in there.ask("apply", "{}", of=number)
    assert "ANSWER" not in there.ask("__getattribute__", "apply", of=number)


def test_each_has_a_token_of_its_own() -> None:
    assert SparkDriver.java_function(str)[0] != SparkDriver.java_function(str)[0]


@pytest.mark.slow
def test_nothing_else_is_given_to_the_jvm_to_call() -> None:
    """A class with py4j's `implements`, or one that PySpark makes one of, can be called by any process of the host."""
    found = []
    for path in sorted(Path(metaindex.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            named = [one.id for one in getattr(node, "targets", []) if isinstance(one, ast.Name)]
            imported = [one.name for one in getattr(node, "names", []) if isinstance(one, ast.alias)]
            if "implements" in named or "StreamingQueryListener" in imported:
                found.append(path.name)
    assert found == ["callbacks.py"]


def test_answers_begin_with_the_proof_which_nobody_else_is_told() -> None:
    """Whoever has taken the port hears the token, and not the proof."""
    token, asked = SparkDriver.java_function(str.upper, "proof\n")
    assert asked.apply(f"{token}\nwhat") == "proof\nWHAT"
    assert asked.apply("another\nwhat") == ""


@pytest.fixture
def asked() -> tuple[list[str], Callable[[str], str]]:
    """What was asked whole, and how a piece is said by who knows the token."""
    requests: list[str] = []

    def answer(request: str) -> str:
        requests.append(request)
        return f"<{request}>"

    token, function = SparkDriver.java_function(answer, "proof ", in_pieces=True)
    return requests, lambda text: str(function.apply(f"{token}\n{text}"))


def test_a_long_request_comes_in_pieces_and_is_answered_once(asked: tuple[list[str], Callable[[str], str]]) -> None:
    """Two at a time, and an empty piece: what comes is told apart by its number (`Callback.java`)."""
    requests, say = asked
    assert [say("+1\n{a\n"), say("+2\n{b"), say("+1\n\U0001f600+")] == ["proof +"] * 3
    assert not requests
    assert say("=2 1\n}") == "proof <{b}>"
    assert say("=1 2\n") == "proof <{a\n\U0001f600+>"
    assert requests == ["{b}", "{a\n\U0001f600+"]


def test_a_request_that_lacks_a_piece_is_none(asked: tuple[list[str], Callable[[str], str]]) -> None:
    """Who stands between may answer in Python's place: what is left could be a request for less."""
    requests, say = asked
    say("+1\n[1, ")  # and `2, ` never comes
    assert say("=1 2\n3]") == "proof "
    assert say("=1 1\n3]") == "proof "  # it is over
    assert [say("=2 1\n[3]"), say("=3\n[3]"), say("=x\n[3]")] == ["proof "] * 3
    assert not requests


def test_requests_whose_end_never_comes_are_not_kept(asked: tuple[list[str], Callable[[str], str]]) -> None:
    requests, say = asked
    for number in range(1_000):
        say(f"+{number}\npiece")
    assert [say("=0 1\nend"), say("=999 1\n")] == ["proof ", "proof <piece>"]
    assert requests == ["piece"]


def test_what_comes_whole_is_no_piece() -> None:
    """Names of tables, as hooks are told them, may begin with any sign."""
    token, function = SparkDriver.java_function(str)
    assert [function.apply(f"{token}\n{name}") for name in ("+1\nt", "=1 0\nt")] == ["+1\nt", "=1 0\nt"]

"""What goes wrong for good: one line each, with the cure, below the root error, and never a secret in it."""

import logging
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable

import pytest

import metaindex as mi
from metaindex.core import MetaIndexError, StorageError, StoragePermissionError
from metaindex.storage import storage_for

from .proxy import Fault, Proxy
from .server import S3Server

SECRETS = {
    "AWS_ACCESS_KEY_ID": "AKIAOPENSESAME01",
    "AWS_SECRET_ACCESS_KEY": "hush/secret+key==",
    "AWS_SESSION_TOKEN": "FwoGtoken//hush==",
}

Change = Callable[[pytest.MonkeyPatch, S3Server], str]
"""Makes the environment wrong, and says the table to open."""


def _no_bucket(patch: pytest.MonkeyPatch, s3: S3Server) -> str:
    return "s3://no-such-bucket-here/t"


def _no_credentials(patch: pytest.MonkeyPatch, s3: S3Server) -> str:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        patch.delenv(name)
    # An address of this machine where nothing listens stands for that of a cloud's machine.
    patch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
    return "s3://errors/t"


def _wrong_key(patch: pytest.MonkeyPatch, s3: S3Server) -> str:
    patch.setenv("AWS_ACCESS_KEY_ID", SECRETS["AWS_ACCESS_KEY_ID"])
    return "s3://errors/t"


def _wrong_secret(patch: pytest.MonkeyPatch, s3: S3Server) -> str:
    patch.setenv("AWS_SECRET_ACCESS_KEY", SECRETS["AWS_SECRET_ACCESS_KEY"])
    return "s3://errors/t"


def _wrong_region(patch: pytest.MonkeyPatch, s3: S3Server) -> str:
    patch.setenv("AWS_REGION", "eu-west-1")
    return "s3://errors/t"


def _http_not_allowed(patch: pytest.MonkeyPatch, s3: S3Server) -> str:
    patch.delenv("AWS_ALLOW_HTTP")
    return "s3://errors/t"


def _nobody_there(patch: pytest.MonkeyPatch, s3: S3Server) -> str:
    patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    return "s3://errors/t"


def _in_the_uri(patch: pytest.MonkeyPatch, s3: S3Server) -> str:
    return f"s3://{SECRETS['AWS_ACCESS_KEY_ID']}:hushhush@errors/t"


def _signed(patch: pytest.MonkeyPatch, s3: S3Server) -> str:
    return "s3://errors?X-Amz-Signature=hushhush"


WRONG: dict[str, tuple[Change, type[MetaIndexError], str]] = {
    "bucket missing": (_no_bucket, StorageError, r"no bucket 'no-such-bucket-here'.*create the bucket"),
    "no credentials": (_no_credentials, StorageError, r"no credentials were found.*set AWS_ACCESS_KEY_ID"),
    "access key": (_wrong_key, StoragePermissionError, r"does not know the access key.*check"),
    "secret": (_wrong_secret, StoragePermissionError, r"does not belong to the access key.*check"),
    "region": (_wrong_region, StorageError, r"its own region.*set AWS_REGION"),
    "http": (_http_not_allowed, StorageError, r"AWS_ALLOW_HTTP=true"),
    "nobody": (_nobody_there, StorageError, r"does not answer after 2 attempts.*AWS_ENDPOINT_URL"),
    "in the URI": (_in_the_uri, StorageError, r"holds no credentials"),
    "signed": (_signed, StorageError, r"holds no credentials"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_one_line_with_the_cure(s3: S3Server, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    (s3.root / "errors").mkdir(exist_ok=True)
    change, kind, said = WRONG[what]
    path = change(monkeypatch, s3)
    with pytest.raises(kind, match=said) as caught:
        mi.open_table(path, storage_options={"max_retries": "1"})
    assert "\n" not in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value))
    for secret in (*SECRETS.values(), s3.secret_key, "hushhush"):
        assert secret not in shown


REFUSALS = {
    "AccessDenied": (403, "do not allow it"),
    "ExpiredToken": (400, "have expired; renew AWS_SESSION_TOKEN"),
    "InvalidToken": (400, "renew AWS_SESSION_TOKEN"),
    "RequestTimeTooSkewed": (403, "clock is wrong"),
    "SignatureDoesNotMatch": (403, "does not belong"),
    "SomethingElse": (403, "permission denied"),
}


@pytest.mark.parametrize("code", REFUSALS)
@pytest.mark.parametrize("call", ["list", "read", "write", "delete"])
def test_a_refusal_is_told_by_its_code_and_echoes_nothing(proxy: Proxy, bucket: str, code: str, call: str) -> None:
    """Amazon's answers repeat the access key, the string to sign and the signature."""
    status, said = REFUSALS[code]
    echo = (
        "<AWSAccessKeyId>AKIAECHO</AWSAccessKeyId><StringToSign>hushhush</StringToSign>"
        "<SignatureProvided>hushhush</SignatureProvided>"
    )
    storage, _ = storage_for(f"s3://{bucket}")
    storage.put_if_absent("a", b"x")
    calls: dict[str, Callable[[], object]] = {
        "list": lambda: list(storage.list("")),
        "read": lambda: storage.read("a"),
        "write": lambda: storage.put_if_absent("b", b""),
        "delete": lambda: storage.delete("a"),
    }
    proxy.fail_always(Fault(acts=False, status=status, code=code, more=echo))
    with pytest.raises(StoragePermissionError, match=f"cannot {call}.*{said}") as caught:
        calls[call]()
    shown = "".join(traceback.format_exception(caught.value))
    assert "hushhush" not in shown
    assert "AKIAECHO" not in shown
    assert "\n" not in str(caught.value)


def test_the_region_that_the_store_names_is_said(proxy: Proxy, bucket: str) -> None:
    storage, _ = storage_for(f"s3://{bucket}")
    more = "<Region>eu-central-1</Region>"
    proxy.fail_always(Fault(acts=False, status=400, code="AuthorizationHeaderMalformed", more=more))
    with pytest.raises(StorageError, match="it is in eu-central-1; set AWS_REGION"):
        storage.read("a")


def test_no_secret_is_in_any_log_repr_warning_or_error(
    proxy: Proxy, bucket: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    caplog.set_level(logging.DEBUG)
    options = {"aws_session_token": "token/in/options", "max_retries": "0"}
    storage, _ = storage_for(f"s3://{bucket}/t", options)
    shown = [repr(storage), str(storage)]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for call in (
            lambda: list(storage.list("")),
            lambda: storage.read("a"),
            lambda: storage.put_if_absent("a", b""),
            lambda: storage.open_input("a"),
            lambda: mi.open_table(f"s3://{bucket}/t", storage_options=options),
        ):
            with pytest.raises(MetaIndexError) as caught:
                call()
            shown += ["".join(traceback.format_exception(caught.value)), repr(caught.value)]
    shown += [record.getMessage() for record in caplog.records] + [str(one.message) for one in warned]
    assert len(proxy.requests) >= 5  # the secrets were used
    for secret in (*SECRETS.values(), "token/in/options"):
        assert not [text for text in shown if secret in text]


def test_the_command_line_says_one_line_and_no_secret(s3: S3Server, bucket: str) -> None:
    environ = {**os.environ, **SECRETS, "RUST_LOG": "debug", "PYTHONWARNINGS": "default"}
    done = subprocess.run(
        [sys.executable, "-m", "metaindex", "prune", f"s3://{bucket}/t", "a = 1"],
        env=environ,
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 1
    assert "renew AWS_SESSION_TOKEN" in done.stderr
    assert done.stderr.count("\n") == 1
    for secret in SECRETS.values():
        assert secret not in done.stdout + done.stderr


def test_a_session_token_is_sent_and_an_option_wins_over_the_environment(
    proxy: Proxy, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "from the environment")
    for options, token in (({}, "from the environment"), ({"aws_session_token": "an option"}, "an option")):
        proxy.reset()
        proxy.fail_always(Fault(acts=False, status=403, code="AccessDenied"))
        with pytest.raises(StoragePermissionError):
            storage_for(f"s3://{bucket}/t", options)[0].read("a")
        assert proxy.requests[0].headers["x-amz-security-token"] == token


def test_an_option_that_is_none_names_the_options_and_not_their_values(s3: S3Server, bucket: str) -> None:
    with pytest.raises(StorageError, match="aws_secret_access_kye") as caught:
        storage_for(f"s3://{bucket}/t", {"aws_secret_access_kye": "hushhush"})
    assert "hushhush" not in str(caught.value)
    with pytest.raises(StorageError, match="max_retries is a count"):
        storage_for(f"s3://{bucket}/t", {"max_retries": "many"})

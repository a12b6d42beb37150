"""Turns errors of an object store's client into one line: rule, fact, cure.

The client's own texts hold URLs, request headers' echoes and whole answers of the server; nothing of them is passed on
but the HTTP status and the store's error code, so that no credential, signature or token can stand in a message or a
log.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from metaindex.core import (
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoragePermissionError,
    StorageUnavailableError,
)

from .protocol import back_off

_T = TypeVar("_T")
_BREAKS = 6
_QUERY = re.compile(r"\?[^\s'\"]*")
_USER = re.compile(r"://[^/:@\s]*+:(?!\d{1,5}+/)[^@\s'\"`]*+@")
"""With a password, in which a slash may stand; what is behind a host's port is a path."""
_asked_by: set[int] = set()  # this process, once it has asked anything; in a forked one, the one above it
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w{1,64})</Code>")
_CODE_OF_KEY = re.compile(r"\(code: (\w{1,64})\)")  # one object of a request for many, whose own status is 200
_TRANSPORT = re.compile(r"HTTP error")
_REGION = re.compile(r"<Region>([\w-]{1,32})</Region>")
_RETRIES = re.compile(r"after (\d+) retries")
_ROLE = re.compile(
    r"/latest/(api/token|meta-data)|//169\.254\."
)  # where machines and containers are asked for their role
_KEYS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"

_REFUSED = {
    **dict.fromkeys(
        ("InvalidAccessKeyId", "XAdminUserNotFound"),
        f"the store does not know the access key; check {_KEYS}, and that the endpoint is the right one",
    ),
    "SignatureDoesNotMatch": f"the secret does not belong to the access key; check {_KEYS}",
    "RequestTimeTooSkewed": "this machine's clock is wrong; set it",
    "ExpiredToken": "the session's credentials have expired; renew AWS_SESSION_TOKEN and the keys that belong to it",
    "InvalidToken": "the session token is not valid; renew AWS_SESSION_TOKEN and the keys that belong to it",
    "AccessDenied": "the credentials do not allow it; ask for the right to list, read, write and delete there",
}
_ABSENT = frozenset({None, "NoSuchKey", "NoSuchVersion", "NotFound", "NoSuchBucket"})
_UNABLE = frozenset({"InternalError", "SlowDown", "ServiceUnavailable", "RequestTimeout"})
_WRONG_REGION = frozenset(
    {
        "AuthorizationHeaderMalformed",
        "PermanentRedirect",
        "IncorrectEndpoint",
        "InvalidRegion",
        "IllegalLocationConstraintException",
    }
)


def clean(text: str) -> str:
    """A path or URI without what may be secret: user and password, query strings (signed URLs)."""
    return _QUERY.sub("?...", _USER.sub("://...@", text))


def without_user(text: str) -> str:
    """A URI without user and password, so that it is the same place for everybody."""
    return _USER.sub("://", text) if "@" in text else text


@contextmanager
def storage_errors(where: str, verb: str) -> Iterator[None]:
    """Whatever the client raises inside leaves as a StorageError. `where`: the object's URI."""
    _refuse_forked(where, verb)
    try:
        yield
    except StorageError:
        raise
    except Exception as error:  # noqa: BLE001 - the client's errors share no useful class
        raise mapped(error, where, verb) from None  # the cause would print the client's own debug text


def _refuse_forked(where: str, verb: str) -> None:
    """The client's threads do not live on in a forked process: its calls would wait for ever."""
    process = os.getpid()
    if _asked_by and process not in _asked_by:
        raise StorageError(
            f"cannot {verb} {clean(where)!r}: object stores were used before this process was forked, and their client"
            " does not survive that; start processes by spawn (multiprocessing.get_context('spawn')), or use stores in"
            " the children only"
        )
    _asked_by.add(process)


def whole(call: Callable[[], _T]) -> _T:
    """The call's answer; a call without effect beyond its first time, made again where its answer broke off (the client
    does that for objects only), or where the store was not able to do it for the one object (the client asks again for
    whole requests only)."""
    for attempt in range(_BREAKS):
        try:
            return call()
        except Exception as error:
            text = str(error)
            if attempt == _BREAKS - 1 or not ("body error" in text or _found(_CODE_OF_KEY, text) in _UNABLE):
                raise
            back_off(attempt, 0.1)
    raise AssertionError


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error of the client reports."""
    status = _STATUS.search(str(error))
    return int(status[1]) if status else None


def is_of_transport(error: BaseException) -> bool:
    """Return whether the client got no complete response after all its tries."""
    return _TRANSPORT.search(str(error)) is not None


def mapped(error: Exception, where: str, verb: str) -> StorageError:
    """The error as this project's own."""
    from obstore import exceptions as obs

    text = str(error)
    code = _found(_CODE, text) or _found(_CODE_OF_KEY, text)
    cannot = f"cannot {verb} {clean(where)!r}"
    if (
        status_of(error) == 404 and code not in _ABSENT
    ):  # to some stores an unknown access key is a 404: nothing is said of the object
        return _answered(error, text, code, cannot, where)
    if code == "NoSuchBucket" or (verb == "list" and status_of(error) == 404):
        return StorageError(
            f"{cannot}: the store has no bucket {_bucket(where)!r}; check the name, or create the bucket"
        )
    if status_of(error) is None and code in _ABSENT - {None}:
        return ObjectNotFoundError(f"{cannot}: there is no such object")
    match error:
        case FileNotFoundError():
            return ObjectNotFoundError(f"{cannot}: there is no such object")
        case obs.AlreadyExistsError():
            return ObjectExistsError(f"{cannot}: the object is there already")
        case obs.NotSupportedError():
            return StorageError(f"{cannot}: the store does not support this call")
        case obs.InvalidPathError() | ValueError() if "path" in text.lower():
            return StorageError(
                f"{cannot}: an object's name has no empty part, no '.' or '..', and no control characters; rename it"
            )
    return _answered(error, text, code, cannot, where)


def _answered(error: Exception, text: str, code: str | None, cannot: str, where: str) -> StorageError:
    """Return the error for a server's response, or for none."""
    from obstore import exceptions as obs

    status = status_of(error)
    said = " ".join(str(part) for part in (status, code) if part) or type(error).__name__
    if code in _WRONG_REGION or "configured region" in text:
        region = f"it is in {match[1]}" if (match := _REGION.search(text)) else "the store says it is in another one"
        return StorageError(f"{cannot}: a bucket is asked in its own region; {region}; set AWS_REGION")
    if _ROLE.search(text):
        return StoragePermissionError(
            f"{cannot}: no credentials were found in the environment and this machine has no role; set {_keys(where)}"
        )
    if code in _REFUSED:
        return StoragePermissionError(f"{cannot}: permission denied ({said}): {_REFUSED[code]}")
    if isinstance(error, PermissionError | obs.PermissionDeniedError | obs.UnauthenticatedError) or status in (
        401,
        403,
    ):
        return StoragePermissionError(f"{cannot}: permission denied ({said}); check the credentials in the environment")
    tried = f" after {int(match[1]) + 1} attempts" if (match := _RETRIES.search(text)) else ""
    if (status is not None and (status >= 500 or status in (408, 429))) or (status is None and code in _UNABLE):
        return StorageUnavailableError(
            f"{cannot}: the store was not able to answer{tried} (the last answer was {said}); try again later"
        )
    if status is not None:
        return StorageError(
            f"{cannot}: the store refused the request ({said}); check the endpoint, AWS_REGION and the name"
        )
    if "builder error" in text:
        return StorageError(
            f"{cannot}: the endpoint cannot be used; it is an https:// URL, or http:// with AWS_ALLOW_HTTP=true in the"
            " environment"
        )
    if is_of_transport(error):
        return StorageUnavailableError(
            f"{cannot}: the store does not answer{tried}; check AWS_ENDPOINT_URL, the network, and that the server runs"
        )
    return StorageError(
        f"{cannot}: the store's client failed ({type(error).__name__}); check the name, the endpoint and the network"
    )


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1] if match else None


def _keys(where: str) -> str:
    """The variables that name a store's credentials."""
    scheme = where.partition("://")[0].lower()
    if scheme in ("gs", "gcs"):
        return "GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SERVICE_ACCOUNT"
    if scheme in ("az", "azure", "abfs", "abfss", "adl"):
        return "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
    return _KEYS


def _bucket(where: str) -> str:
    return clean(where).partition("://")[2].partition("/")[0]

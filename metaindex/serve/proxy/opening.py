"""Opens the tables that a catalog's answer to LoadTable names, with the credentials of that answer.

An answer is what the caller was given, and no more is read than what it names: the metadata file in the table's own
folder, and what lies below that folder. On this machine, or with the server's own credentials, only tables below the
prefixes that the operator named are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from metaindex.core import Config, CorruptTableError, Cure, UnsupportedFeatureError
from metaindex.formats import TableRef
from metaindex.query import Handle
from metaindex.serve.clients import JAVA
from metaindex.serve.in_place import IcebergTable
from metaindex.serve.served import Json
from metaindex.storage import is_remote, local_path

_MOST_METADATA: Final = 256 << 20
_KEYS: Final = ("aws_access_key_id", "aws_secret_access_key")


class Opener:
    """Opens tables. `allowed`: prefixes that are read with `storage_options`, the server's own."""

    def __init__(
        self, allowed: Sequence[str], config: Config | None, storage_options: Mapping[str, str] | None
    ) -> None:
        self._allowed = [_real(_whole(prefix)) for prefix in allowed]
        self._config, self._options = config or Config(), dict(storage_options or {})

    def table(self, answer: Json) -> tuple[IcebergTable, bool]:
        """Open the table of an answer to LoadTable, and tell whether clients that obey its config are to plan here.
        Raises MetaIndexError, with the reason, if no plan can be made of it."""
        metadata = answer.get("metadata")
        file, said = answer.get("metadata-location"), metadata if isinstance(metadata, dict) else {}
        location = said.get("location")
        if not isinstance(file, str) or not isinstance(location, str):
            raise UnsupportedFeatureError(
                "a table is planned by its metadata file; the catalog names none; let the client plan it"
            )
        place = _whole(location)
        table = open_metadata(file, self._config, lambda _: self._how(place, answer), place)
        loaded = table.load(JAVA)
        if any(loaded.metadata.get(key) != said.get(key) for key in ("table-uuid", "location")):
            raise CorruptTableError(
                "a metadata file is of the table that names it; this one is another's; load it anew"
            )
        if why_not := table.why_not():
            raise UnsupportedFeatureError(why_not)
        return table, loaded.config["scan-planning-mode"] == "server"

    def _how(self, place: str, answer: Json) -> dict[str, str]:
        """Return the storage options for a table: those of the answer, if it has credentials."""
        vended = TableRef.options_of(place, _properties(place, answer)) if is_remote(place) else {}
        whole = "aws_session_token" in vended or "AWS_SESSION_TOKEN" not in os.environ
        if all(vended.get(key) for key in _KEYS) and whole:  # else the environment's would be mixed in
            return vended
        real = _real(place)
        if any(real == prefix or real.startswith(f"{prefix.rstrip('/')}/") for prefix in self._allowed):
            return self._options
        raise UnsupportedFeatureError(
            "tables are read with credentials that the catalog gives for them (S3), or below the prefixes of"
            f" {Cure('argument', 'allow_locations')}; {place} is neither; let the client plan it"
        )


def open_metadata(
    file: str, config: Config, options: Callable[[str], Mapping[str, str]], place: str | None = None
) -> IcebergTable:
    """Open the table that a catalog's metadata file is of, confined to the folder above it: `place`, if that is known,
    and whatever the file itself says. `options`: of the store, by the folder. Raises MetaIndexError."""
    file = _whole(file)
    folder, _, name = file.rpartition("/")
    above = folder.removesuffix("/metadata")
    if above == folder or above != (place or above) or not above or not name or {"..", "."} & set(file.split("/")):
        raise UnsupportedFeatureError(
            "a metadata file lies in metadata/ of the table's own folder; the catalog names one elsewhere; let the"
            " client plan it"
        )
    handle = Handle.open(file, config=replace(config, confine=True), storage_options=options(above))
    size = handle.ref.storage.head(file).size_bytes
    if size > _MOST_METADATA:
        raise UnsupportedFeatureError(
            f"a metadata file of at most {_MOST_METADATA:,} bytes is read; {name} has {size:,}; expire snapshots"
        )
    table = IcebergTable(handle)
    if place is None and _whole(str(table.document()[1].get("location"))) != above:
        raise UnsupportedFeatureError(
            "a table lies in the folder that its metadata name; these lie in another one; let the client plan it"
        )
    return table


def _whole(location: str) -> str:
    """Return a URI, or the path on this machine, as it will be opened, without a slash at its end."""
    return (local_path(location) or location).rstrip("/")


def _real(place: str) -> str:
    """Return a place with its links resolved."""
    return place if is_remote(place) else os.path.realpath(place)


def _properties(place: str, answer: Json) -> dict[str, str]:
    """Return what an answer says of the store: its config, then the credentials of the longest prefix."""
    listed = answer.get("storage-credentials")
    fitting = [
        given
        for given in (listed if isinstance(listed, list) else ())
        if isinstance(given, dict) and place.startswith(str(given.get("prefix")))
    ]
    fitting.sort(key=lambda given: len(str(given["prefix"])))
    properties: dict[str, str] = {}
    for said in (answer.get("config"), *(given.get("config") for given in fitting)):
        if isinstance(said, dict):
            properties.update({key: value for key, value in said.items() if isinstance(value, str)})
    return properties

"""A catalog by its name, as pyiceberg is configured for it: in .pyiceberg.yaml, by the environment, by properties.

What pyiceberg says of one that it does not know is in words of its own command line. Here it is in ours.
So is storage: endpoint, region and credentials, by keys of Iceberg's FileIO configuration (its "FileIO" page)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

from metaindex.core import ArgumentError, Cure, ExpressionError, MissingDependencyError, first_line, one_line
from metaindex.expressions import column_sql, parse_path

_MOST_SAID = 200
_MOST_NAMES = 12
_IN_THE_ENVIRONMENT = re.compile(r"[a-z0-9-]+", re.IGNORECASE)
"""The environment spells no other names: pyiceberg takes its `_` for `-`, and its capitals for small letters."""

_BY_URI = ("rest", "hive", "sql")
"""Types of catalog that have a uri: the others are found without one."""


def identifier_of(name: object) -> Any:
    """Return the identifier by which pyiceberg loads a table. Its own reading of a text parts it at each dot; here a
    part of which a dot is a letter stands between backticks, as in SQL."""
    if isinstance(name, str) and "`" in name:
        with suppress(ExpressionError):  # else it is a letter of the name
            return parse_path(name)
    return name


def table_in(catalog: object, name: str) -> Any:
    """Return pyiceberg's table; None if there is none, or no catalog."""
    load = getattr(catalog, "load_table", None)
    if load is None:
        return None
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    with suppress(ValueError, NoSuchTableError, NoSuchNamespaceError):
        return load(identifier_of(name))
    return None


def said_name(names: tuple[str, ...]) -> str:
    """A table or a namespace, as it is told and named: another text for each. A part that a dot or a backtick is in
    stands between backticks, as in SQL; as does one that would be taken for all tables (`*`)."""
    return ".".join(column_sql((part,)) if not part or part == "*" or set(part) & set(".`") else part for part in names)


@dataclass(frozen=True, slots=True)
class ConfiguredCatalog:
    """A catalog by its name. `properties`: those that go before what is configured; None where none can be given. Asks
    no catalog. Raises ArgumentError where nothing says what kind of catalog it is, nor where: it cannot be there later
    either, as pyiceberg reads its configuration once. MissingDependencyError without pyiceberg."""

    said_name: ClassVar = staticmethod(said_name)

    name: str | None
    properties: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        catalogs = _pyiceberg()
        try:
            known = catalogs._ENV_CONFIG
            name = self.name or known.get_default_catalog_name()
            said = {**(known.get_catalog_config(name) or {}), **(self.properties or {})}
            names = sorted(known.get_known_catalogs())
        except Exception:  # noqa: BLE001 - what is wrong with the configuration is said where it is loaded
            return
        if (lacking := _lacking_file(str(said.get("uri", "")))) is not None:  # pyiceberg would create it
            raise ArgumentError(
                f"a SQL catalog is in a file that is there; {lacking!r} of {name!r} is not; check its uri"
            )
        if "uri" in said or "py-catalog-impl" in said or str(said.get("type", "sql")).lower() not in _BY_URI:
            return
        ways = [f"below 'catalog: {name}:' of ~/.pyiceberg.yaml"]
        if _IN_THE_ENVIRONMENT.fullmatch(name):
            ways.insert(0, f"in PYICEBERG_CATALOG__{name.upper().replace('-', '_')}__URI")
        if self.properties is not None:
            ways.append(f"by {Cure('catalog_uri')}")
        there = ", ".join([*names[:_MOST_NAMES], *(["..."] if len(names) > _MOST_NAMES else [])])
        known_name = "type" in said or name.lower() in names
        what = "has no uri" if known_name else f"is not (those that are: {there or 'none'})"
        raise ArgumentError(
            one_line(
                f"a catalog is one that pyiceberg is configured for; {name!r} {what}; say its uri"
                f" {', '.join(ways[:-1])}{' or ' if len(ways) > 1 else ''}{ways[-1]}"
            )
        )

    def load(self) -> Any:
        """Return pyiceberg's catalog. ArgumentError where pyiceberg cannot load it."""
        try:
            # Who reads makes no tables in a database, whatever is in it.
            return _pyiceberg().load_catalog(self.name, **{**(self.properties or {}), "init_catalog_tables": "false"})
        except Exception as error:
            said = re.sub(r"//\S*@", "//", " ".join(first_line(error).split()))  # a uri may have a password
            raise ArgumentError(
                "a catalog is loaded by pyiceberg, from what it is configured for and by its properties; of"
                f" {self.name or 'the default one'!r} it says: {one_line(said[:_MOST_SAID])}; check them"
            ) from error


def _lacking_file(uri: str) -> str | None:
    """Return the file that a SQL catalog is in, if there is none of that name."""
    file = None
    with suppress(Exception):  # who opens it is told
        if uri.startswith("sqlite"):
            from sqlalchemy import make_url

            file = make_url(uri).database
    return file if file and not file.startswith((":memory:", "file:")) and not os.path.exists(file) else None


def _pyiceberg() -> Any:
    try:
        import pyiceberg.catalog
    except ImportError as error:
        raise MissingDependencyError.lacking("a catalog", "pyiceberg") from error
    except Exception as error:  # noqa: BLE001 - it reads its configuration as it is imported, and says lines of it
        raise ArgumentError(
            f"pyiceberg reads .pyiceberg.yaml, YAML without flow style; it cannot ({type(error).__name__}); correct it"
        ) from None
    return pyiceberg.catalog


_S3 = {
    "s3.endpoint": "endpoint",
    "client.region": "region",
    "s3.region": "region",
    "client.access-key-id": "aws_access_key_id",
    "s3.access-key-id": "aws_access_key_id",
    "client.secret-access-key": "aws_secret_access_key",
    "s3.secret-access-key": "aws_secret_access_key",
    "client.session-token": "aws_session_token",
    "s3.session-token": "aws_session_token",
    "s3.force-virtual-addressing": "virtual_hosted_style_request",
}
"""The later one wins."""


def storage_options(location: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Options for the store of `location`; none for what is not S3, or where the catalog leaves it to the
    environment."""
    if location.partition("://")[0] not in ("s3", "s3a", "s3n"):
        return {}
    options = {option: str(properties[key]) for key, option in _S3.items() if properties.get(key)}
    if options.get("endpoint", "").startswith("http://"):
        options["allow_http"] = "true"
    return options

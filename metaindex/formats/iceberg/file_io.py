"""Storage options from an Iceberg catalog: endpoint, region and credentials, including those that a REST catalog hands
out for one table.

Keys are those of Iceberg's FileIO configuration (pyiceberg's "FileIO" page).
"""

from __future__ import annotations

from collections.abc import Mapping

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

"""Spark's own connector to S3 is told what the environment tells metaindex. That it then reads a store is shown on a
cluster: `test_cluster`."""

import pytest

from metaindex.spark.session import s3_settings

PREFIX = "spark.hadoop.fs.s3a."
IMPL = {"spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem"}


@pytest.mark.parametrize(
    ("environment", "settings"),
    [
        ({}, {}),
        ({"AWS_REGION": "eu-west-1"}, {"endpoint.region": "eu-west-1"}),
        ({"AWS_DEFAULT_REGION": "eu-west-2"}, {"endpoint.region": "eu-west-2"}),
        (
            {"AWS_ENDPOINT_URL": "http://s3:7070", "AWS_SECRET_ACCESS_KEY": "secret"},
            {"endpoint": "http://s3:7070", "path.style.access": "true", "connection.ssl.enabled": "false"},
        ),
        (
            {"AWS_ENDPOINT": "https://s3:3", "AWS_ENDPOINT_URL": ""},
            {"endpoint": "https://s3:3", "path.style.access": "true", "connection.ssl.enabled": "true"},
        ),
        (
            {"AWS_ENDPOINT_URL": "http://all:1", "AWS_ENDPOINT_URL_S3": "https://s3:2"},
            {"endpoint": "https://s3:2", "path.style.access": "true", "connection.ssl.enabled": "true"},
        ),
    ],
)
def test_what_the_connector_is_told(environment: dict[str, str], settings: dict[str, str]) -> None:
    assert s3_settings(environment) == IMPL | {PREFIX + name: value for name, value in settings.items()}

"""What was parsed is let go after the last test of this folder."""

from collections.abc import Iterator

import pytest

from tests.architecture.sources import nodes, package, parsed


@pytest.fixture(scope="package", autouse=True)
def _let_go() -> Iterator[None]:
    yield
    for kept in (parsed, nodes, package):
        kept.cache_clear()

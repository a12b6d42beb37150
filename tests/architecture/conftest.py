"""What was parsed is let go after the last test of this folder."""

from collections.abc import Iterator

import pytest

from tests.architecture.sources import parsed


@pytest.fixture(scope="package", autouse=True)
def _let_go() -> Iterator[None]:
    yield
    parsed.cache_clear()

"""Polars plans by pyiceberg, which asks the server."""

import pytest


@pytest.fixture(autouse=True)
def planned_by_pyiceberg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")

"""The contract of Storage on a real S3 server."""

from __future__ import annotations

import pytest

from formats.storage import Storage, storage_for
from tests.contract.storage_contract import StorageContract


class TestS3(StorageContract):
    @pytest.fixture
    def storage(self, bucket: str) -> Storage:
        return storage_for(f"s3://{bucket}")[0]


class TestS3BelowAPrefix(StorageContract):
    @pytest.fixture
    def storage(self, bucket: str) -> Storage:
        storage_for(f"s3://{bucket}/tables/mine2")[0].put("file", b"not ours")
        return storage_for(f"s3://{bucket}/tables/mine")[0]

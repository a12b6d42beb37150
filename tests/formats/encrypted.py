"""Parquet files with a plaintext footer and encrypted columns, as pyarrow writes them: the keys are wrapped in
themselves."""

import base64
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe


class _Kms(pe.KmsClient):
    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)


def write_encrypted(path: Path, table: pa.Table, *columns: str, plaintext_footer: bool = True) -> None:
    """`columns` with a key of their own."""
    how = pe.EncryptionConfiguration(
        footer_key="footer", column_keys={"own": list(columns)}, plaintext_footer=plaintext_footer
    )
    factory = pe.CryptoFactory(lambda _: _Kms())
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), how)
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as out:
        out.write_table(table)

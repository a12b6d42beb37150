"""The jars that are fetched, pinned for each thing that needs them and for each Spark, and for its Scala where it has
two: coordinate, size and SHA-256, as `jars.Jar` has them. Delta and Iceberg are the newest that there are for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from .s3_jars import PINS as _S3_OF_HADOOP_3_4_2

_Pins: TypeAlias = tuple[tuple[str, int, str], ...]

# fmt: off
_DELTA_4_4: _Pins = (
    ("io.delta:delta-storage:4.4.0", 113_863, "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc"),
    ("io.delta:delta-kernel-api:4.4.0", 2_838_619, "ee9b5a14ac3b7efdff4d61a58478fe8eb0e5a3fbca43889dca7290795fe79a11"),
    ("io.delta:delta-kernel-defaults:4.4.0", 227_185, "225c975199e4718b38ee5b7e6da7f19e9585024262b2cec2656b32151a856b0b"),
    ("io.delta:delta-kernel-unitycatalog:4.4.0", 43_048, "cea22dfb4ac562b3cd27bf652697750e8336009d73fb06631363aaaad5345ffa"),
    ("io.unitycatalog:unitycatalog-client:0.6.0", 564_136, "48257499a86b801a3e2372cec55ac226ca1c1c7eabe5c118e7302f29a1fdbc19"),
    ("io.unitycatalog:unitycatalog-hadoop:0.6.0", 78_389, "c47b63c961c87102b9e1d63809a0915ba4c86b7652f57c8d39ca3a05b441a150"),
    ("org.locationtech.jts:jts-core:1.20.0", 1_239_978, "6a783d8f9dba3d3cf7265435f134402f63c05838aa6cbcc4297ad3a5b2842baf"),
)
_SQLITE: _Pins = (
    ("org.xerial:sqlite-jdbc:3.51.1.0", 14_394_828, "29eda0d1e5ab235b0f1baad05c531106c59c4a72c92a51a4b9c1a4e4c84abffe"),
)
PINS: Final[Mapping[str, Mapping[str, _Pins]]] = {
    "delta": {
        "3.5": (
            ("io.delta:delta-spark_2.12:3.3.3", 7_123_349, "4912bf902a1c453aba3bd838ff212dedd357155212f9bb37a6b47d97f2827ebc"),
            ("io.delta:delta-storage:3.3.3", 32_289, "45ad193053fd30cebe6d9ab1889873cde39b223a0f210e00ebee8b6642476901"),
        ),
        "3.5, Scala 2.13": (
            ("io.delta:delta-spark_2.13:3.3.3", 7_234_705, "a1f5eab2a22efd66c8073e09648e1f346dbbf2f73a22babdf5cfc963afa73c69"),
            ("io.delta:delta-storage:3.3.3", 32_289, "45ad193053fd30cebe6d9ab1889873cde39b223a0f210e00ebee8b6642476901"),
        ),
        "4.0": (
            ("io.delta:delta-spark_4.0_2.13:4.4.0", 9_469_662, "49e899667168b9412f83cbe894ce264107d7b896d6c5e12edca4e216845c1104"),
            *_DELTA_4_4,
        ),
        "4.1": (
            ("io.delta:delta-spark_4.1_2.13:4.4.0", 9_471_929, "75a9400986853c061f5109f012547de2545a5759e5e752e5ef633dabe16a4f10"),
            *_DELTA_4_4,
        ),
    },
    "iceberg": {
        "3.5": (
            ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0", 48_252_525, "8dd8c90e54ed1a20f2461309d047a255ee56382eb7c0a46162b27a4936fd86dc"),
        ),
        "3.5, Scala 2.13": (
            ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.13:1.11.0", 47_973_808, "86e763a4f1b1b83f47306a1ec34c8b719002f08bb4b1adcaea520888234f1c81"),
        ),
        "4.0": (
            ("org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0", 47_926_285, "63c3b812549dc232c1920865ff42436df8604a9bbacd693930985c06bd97e6dc"),
        ),
        "4.1": (
            ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0", 48_309_426, "3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82"),
        ),
    },
    "sqlite": {
        "3.5": _SQLITE,
        "3.5, Scala 2.13": _SQLITE,
        "4.0": _SQLITE,
        "4.1": _SQLITE,
    },
    "s3": {
        "4.1": _S3_OF_HADOOP_3_4_2,
    },
}
# fmt: on

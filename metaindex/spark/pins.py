"""The jars that are fetched, pinned for each thing that needs them and for each Spark, and for its Scala where it has
two: coordinate, size and SHA-256, as `jars.Jar` has them. Delta and Iceberg are the newest that there are for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

_Pins: TypeAlias = tuple[tuple[str, int, str], ...]

EVERY: Final = "every Spark"
"""For which the pins of a group are."""

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
_S3_OF_HADOOP_3_4_2: _Pins = (
    ("org.apache.hadoop:hadoop-aws:3.4.2", 936_997, "d2d24e6b715b5656b9d238bf13b6682a07e2004dd36aad74a73aeb854319f4d9"),
    ("org.reactivestreams:reactive-streams:1.0.4", 11_640, "f75ca597789b3dac58f61857b9ac2e1034a68fa672db35055a8fb4509e325f28"),
    ("software.amazon.awssdk:annotations:2.29.52", 13_763, "8cd8bd8afd7eca5a367f69fd87427f6d9f3e7d359962122da24d71f1963f00cd"),
    ("software.amazon.awssdk:apache-client:2.29.52", 77_005, "c96494be30ecac6f0ab7a35fdd91a4c77ca8a5daf62f3d9d84644ef0f0524dc6"),
    ("software.amazon.awssdk:arns:2.29.52", 15_823, "f5a4d1d9b4e4fc63c9bda49bcf1c59d23fd876b276c6b43aaca12969337303a6"),
    ("software.amazon.awssdk:auth:2.29.52", 234_084, "4d8143b6198dc7a530c2ccdd813129c132b96736086c0d4fea85480b9bdbc5fe"),
    ("software.amazon.awssdk:aws-core:2.29.52", 180_664, "eb560c064fbaac7e2e7f4a77ac343d3083bea0d7f6e2c69ba022d3f3e859be90"),
    ("software.amazon.awssdk:aws-query-protocol:2.29.52", 69_396, "1b117672963ee5059c45f2aadb110f191b578d108d8f08d7c7a59e6c0b098a8e"),
    ("software.amazon.awssdk:aws-xml-protocol:2.29.52", 102_275, "daf87b429373ad586d165003b5b1d4fe498c6472eb65ec9a9e2aa7d56f3917dd"),
    ("software.amazon.awssdk:checksums:2.29.52", 69_428, "bca99ff25c9b917d6be03e5dce78ad5328e7dca485e96024fa8476e4192a800a"),
    ("software.amazon.awssdk:checksums-spi:2.29.52", 8_046, "21193b9b648843dcaff493f0dd80abab9ee6871b203b9218120554698d8f7b8a"),
    ("software.amazon.awssdk:crt-core:2.29.52", 17_776, "4e1f33de21b688695fec91b977ddfa99e9d376edcbad06a62b0c138c60b37de4"),
    ("software.amazon.awssdk:endpoints-spi:2.29.52", 13_171, "e54f246c668d70b55cffe0c8fad18d4465e74e22db75139918bd30610093d1e6"),
    ("software.amazon.awssdk:http-auth:2.29.52", 17_475, "d8aa3bd376aaec7196396e65fe8755f1fdd169e51357f8128ecdc7d23a687450"),
    ("software.amazon.awssdk:http-auth-aws:2.29.52", 158_970, "7ae124e81ac0c2860bb61fdde34a388dbe823fef8509dd46a6bec805ada90308"),
    ("software.amazon.awssdk:http-auth-aws-eventstream:2.29.52", 8_707, "565a4aacce955c5ffaed551f6faaaa958e9e92b2f8514c8482f664edb2bab576"),
    ("software.amazon.awssdk:http-auth-spi:2.29.52", 45_764, "7a2168c5a7baa856d7ae9f9c4f7522d2db9f1361108c38f5b6ece66f249e6a2d"),
    ("software.amazon.awssdk:http-client-spi:2.29.52", 87_344, "8ea61ce3b527779fbfe119e0775c4b7cfdf274a979b1e50596a634685a5b6542"),
    ("software.amazon.awssdk:identity-spi:2.29.52", 30_965, "85104635abf9e5c044aaf7f8951b63efc2ef82051b5ee303571ee2e1fd8b46d0"),
    ("software.amazon.awssdk:json-utils:2.29.52", 33_224, "2652cdb3668311bcff6e643c8612b9fea266423ae1ce33743c84dd7f77904311"),
    ("software.amazon.awssdk:metrics-spi:2.29.52", 27_264, "1db2e3da338148ee40a716e1733c9a5b99e9e6daa4db3aa8bd7e718adafa2510"),
    ("software.amazon.awssdk:netty-nio-client:2.29.52", 287_867, "07238668c9cf54531ee269fd6e2a1e2650fb75d6774d401f406c2a14f26af654"),
    ("software.amazon.awssdk:profiles:2.29.52", 49_837, "fef84619d101838ba45f48d0caddb09a85d9ed8bf869095bd7d2064796856cf7"),
    ("software.amazon.awssdk:protocol-core:2.29.52", 44_336, "7b32e41a3743b422d2edec1670f60b4c1e512fcd5ab7a53fef20742d6b9104d1"),
    ("software.amazon.awssdk:regions:2.29.52", 904_015, "5ee0e26277c679ffa70d83923b0d5f77a53066ecde8610f28be1856947d60eaf"),
    ("software.amazon.awssdk:retries:2.29.52", 66_310, "ca3752ba31399721980c6398992921ff5aa164e084b4c14484333df58c76a353"),
    ("software.amazon.awssdk:retries-spi:2.29.52", 31_489, "a4218ea742fc9e07a620629d7a258bfd92b8ea3ef75f1b99193d0898ca3efe99"),
    ("software.amazon.awssdk:s3:2.29.52", 3_835_574, "abaedea7e68063e9c4ab090f80d14b9884c57b50953bfe6e5acaa23025609efa"),
    ("software.amazon.awssdk:s3-transfer-manager:2.29.52", 249_191, "0c9e654637247187a7e2494eb7a8799477a772a7d554cd3ae787cd3e3bae3c55"),
    ("software.amazon.awssdk:sdk-core:2.29.52", 977_550, "ea8e9856569f85075a8a806d0481c4bd848c98b24fd6d706fc0b5883fc4604dc"),
    ("software.amazon.awssdk:third-party-jackson-core:2.29.52", 535_001, "eaece3eb60beb8ec09d8a4f48d5bff4110010b03cc23688bdcf2af2eb075cac6"),
    ("software.amazon.awssdk:utils:2.29.52", 226_880, "f150a38f2fec14ced2de6459bfe804f647c88baa573b218646ef89b436a29d42"),
    ("software.amazon.eventstream:eventstream:1.0.1", 30_193, "0c37d8e696117f02c302191b8110b0d0eb20fa412fce34c3a269ec73c16ce822"),
    ("software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.2.1", 2_299_678, "11029552e37408e41e689b20150f4b372e0b4f232de321ccafd0fcf443cdfb5a"),
)
"""The modules that S3A uses, of the version of Spark's own Hadoop, which names a bundle of all that AWS has, of several
hundred megabytes. What else they need Spark has."""
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
        "4.2": (
            ("io.delta:delta-spark_4.2_2.13:4.4.0", 9_515_916, "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead"),
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
        EVERY: _SQLITE,
    },
    "s3": {
        "4.1": _S3_OF_HADOOP_3_4_2,
    },
}
# fmt: on

"""Arrow tables as DataFrames and back, without a Python object a row, whatever Spark it is: PySpark can from 4.0 on.
For Spark 3.5 the same is done here, by the pieces that PySpark 4.0 has it from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def sent(spark: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame."""
    from pyspark.sql import DataFrame

    return spark.createDataFrame(table) if hasattr(DataFrame, "toArrow") else _sent(spark, table)


def collected(frame: DataFrame) -> pa.Table:
    """The rows of a DataFrame, all of them in this process."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    schema = _to_arrow(frame)
    batches = cast(Any, frame)._collect_as_arrow()
    return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()


def spark_schema(schema: pa.Schema) -> Any:
    """The StructType of an Arrow schema; times without a zone have none in Spark either."""
    from pyspark.sql import DataFrame
    from pyspark.sql import types as t

    if hasattr(DataFrame, "toArrow"):
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(schema, prefer_timestamp_ntz=True)
    return t.StructType([t.StructField(field.name, _type(field.type), field.nullable) for field in schema])


def _sent(spark: SparkSession, table: pa.Table) -> DataFrame:
    from pyspark.sql import DataFrame
    from pyspark.sql.pandas.serializers import ArrowStreamSerializer
    from pyspark.sql.pandas.types import to_arrow_schema

    session = cast(Any, spark)
    schema = spark_schema(table.schema)
    batches = table.cast(to_arrow_schema(schema)).to_batches(session._jconf.arrowMaxRecordsPerBatch())
    jvm = session._jvm
    sent = session._sc._serialize_to_jvm(
        batches,
        ArrowStreamSerializer(),
        jvm.PythonSQLUtils.readArrowStreamFromFile,
        jvm.ArrowIteratorServer,
    )
    return DataFrame(jvm.PythonSQLUtils.toDataFrame(sent, schema.json(), session._jsparkSession), spark)


def _to_arrow(frame: DataFrame) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema)


def _type(arrow: pa.DataType) -> Any:
    """Return the Spark type of an Arrow type as PySpark 4 does, using only types that Spark 3.5 knows."""
    from pyspark.sql import types as t
    from pyspark.sql.pandas.types import from_arrow_type

    is_ = pa.types
    if is_.is_dictionary(arrow):
        return _type(arrow.value_type)
    if is_.is_list(arrow) or is_.is_large_list(arrow) or is_.is_fixed_size_list(arrow):
        return t.ArrayType(_type(arrow.value_type), arrow.value_field.nullable)
    if is_.is_map(arrow):
        return t.MapType(_type(arrow.key_type), _type(arrow.item_type), arrow.item_field.nullable)
    if is_.is_struct(arrow):
        return t.StructType([t.StructField(field.name, _type(field.type), field.nullable) for field in arrow])
    if is_.is_fixed_size_binary(arrow):
        return t.BinaryType()
    return from_arrow_type(arrow, prefer_timestamp_ntz=True)

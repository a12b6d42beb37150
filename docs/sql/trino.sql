-- An index read by Trino alone. NOT RUN BY OUR TESTS: we have no Trino. It says the same as duckdb.sql and spark.sql, which are run.
-- ../reading.md says what each statement may conclude, and why.
--
-- Trino has no table function over a folder of Parquet: each folder is an external table of a Hive catalog (here `hive.lake`). The folders of runs (`run=<id>`) are its partitions; `run` is a varchar.
-- The catalog needs `hive.non-managed-table-writes-enabled` for nothing here, and `hive.parquet.use-column-names` (its default). Parts end in `.mix`, which Trino does not mind.

CREATE TABLE hive.lake.find_files (
  ordinal integer, partition_ord integer, partition varchar, path varchar, size_bytes bigint, modified_ms bigint, record_count bigint, etag varchar, file_id varbinary, run varchar)
WITH (format = 'PARQUET', external_location = 's3://lake/events/_metaindex/find/files', partitioned_by = ARRAY['run']);

CREATE TABLE hive.lake.find_column_stats (
  column_id bigint, partition_ord integer, ordinal integer, state tinyint, lower_int bigint, upper_int bigint, lower_double double, upper_double double, lower_bytes varbinary, upper_bytes varbinary,
  null_count bigint, nan_count bigint, value_count bigint, run varchar)
WITH (format = 'PARQUET', external_location = 's3://lake/events/_metaindex/find/column_stats', partitioned_by = ARRAY['run']);

CREATE TABLE hive.lake.find_values (key_id bigint, entry bigint, run varchar)
WITH (format = 'PARQUET', external_location = 's3://lake/events/_metaindex/find/values', partitioned_by = ARRAY['run']);

-- After each refresh: the new runs.
CALL hive.system.sync_partition_metadata('lake', 'find_files', 'FULL');
CALL hive.system.sync_partition_metadata('lake', 'find_column_stats', 'FULL');
CALL hive.system.sync_partition_metadata('lake', 'find_values', 'FULL');

-- From the latest entry (the object with the highest number in `_log/`; `stable_state` ACTIVE, `enabled` true) come, by hand or by a client: the live runs (those with the table's own `table_uuid`, and without `reader_needs`), the id of the column and the type it
-- had, and a key's id and layout. `live` has the table's live files, as in duckdb.sql.

-- id BETWEEN 3 AND 5
SELECT path FROM live EXCEPT
SELECT l.path
FROM live l
JOIN hive.lake.find_files f ON f.path = l.path AND f.size_bytes = l.size_bytes AND f.modified_ms IS NOT DISTINCT FROM l.modified_ms AND f.etag IS NOT DISTINCT FROM l.etag
JOIN hive.lake.find_column_stats s ON s.run = f.run AND s.ordinal = f.ordinal
WHERE f.run IN ('r0123456789abcdef', 'rfedcba9876543210') AND s.column_id = 6524628971699625766
  AND (s.state = 1 OR (s.state = 2 AND (s.upper_int < 3 OR s.lower_int > 5)));

-- f > 100: NaN is above every number for Spark; Trino says false for it, and keeps a file in vain at most
SELECT path FROM live EXCEPT
SELECT l.path
FROM live l
JOIN hive.lake.find_files f ON f.path = l.path AND f.size_bytes = l.size_bytes AND f.modified_ms IS NOT DISTINCT FROM l.modified_ms AND f.etag IS NOT DISTINCT FROM l.etag
JOIN hive.lake.find_column_stats s ON s.run = f.run AND s.ordinal = f.ordinal
WHERE f.run IN ('r0123456789abcdef', 'rfedcba9876543210') AND s.column_id = -3454900430794199475
  AND (s.state = 1 OR (s.state = 2 AND s.nan_count = 0 AND s.upper_double <= 100));

-- id = 3 by hash, in runs whose key has no unkeyed files (`unkeyed_files` is 0 in the entry), 40 hash bits, 11 unit bits, 2 group bits. xxhash64() of Trino has seed 0 and takes bytes:
-- those of the canonical form, here 8, little-endian. The shift is without a sign.
SELECT path FROM live EXCEPT
SELECT l.path
FROM live l
JOIN hive.lake.find_files f ON f.path = l.path AND f.size_bytes = l.size_bytes AND f.modified_ms IS NOT DISTINCT FROM l.modified_ms AND f.etag IS NOT DISTINCT FROM l.etag
WHERE f.run IN ('r0123456789abcdef')
  AND NOT EXISTS (
    SELECT 1 FROM hive.lake.find_values v
    WHERE v.run = f.run AND v.key_id = 5749957903781728378
      AND bitwise_right_shift_arithmetic(v.entry, 11) = bitwise_right_shift(from_big_endian_64(xxhash64(reverse(to_big_endian_64(3)))), 64 - 40)
      AND bitwise_right_shift(bitwise_and(v.entry, 2047), 2) = f.ordinal);

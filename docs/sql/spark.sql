-- An index read by Spark SQL (tried with 4.1) alone: which of a table's files can a query leave out?
-- ../reading.md says what each statement may conclude, and why. tests/docs/test_sql_spark.py runs this file, statement by statement.
-- An index without one of the kinds has no such folder: leave the view and its question out.
--
-- Write the index's folder for ${index}, and the table's own id (empty for plain files) for ${table_uuid}. `live` is yours: the files of the version that you ask, from the table's own log: the path below the table's root,
-- percent-decoded once, and what else tells a file, by format (../storage/index.md#ids). Delta: `modificationTime`, no etag. Iceberg: no time, `<sequence number>-<adding snapshot>`. Plain: time of change,
-- `<inode>-<change time in ns>`.
--
--   CREATE OR REPLACE TEMPORARY VIEW live AS SELECT path, size_bytes, modified_ms, etag FROM ...;
--
-- A question always has one shape: SELECT path FROM live EXCEPT SELECT path FROM <what is proved out>. What is not known is in no answer, and so is kept.

-- The latest entry, its digest checked, and its live runs. No runs: the index may not be used, and nothing is proved out.
CREATE OR REPLACE TEMPORARY VIEW entries USING text OPTIONS (path '${index}/_log/[0-9]*.json', wholetext 'true');

CREATE OR REPLACE TEMPORARY VIEW latest AS
SELECT CASE WHEN sha2(line, 256) = digest THEN line END AS line
FROM (SELECT substring_index(value, '\n', 1) AS line, get_json_object(split_part(value, '\n', 2), '$.sha256') AS digest, input_file_name() AS name FROM entries)
ORDER BY name DESC LIMIT 1;

CREATE OR REPLACE TEMPORARY VIEW entry AS
SELECT from_json(line,
  'format_version INT, id BIGINT, stable_state STRING, enabled BOOLEAN, content STRUCT<
     columns: ARRAY<ARRAY<STRUCT<stable: STRING, column_id: STRING, type: STRING, partition: BOOLEAN>>>,
     runs: ARRAY<STRUCT<run: STRING, table_uuid: STRING, reader_needs: ARRAY<STRING>, columns: INT, keys: ARRAY<STRUCT<kind: STRING, key_id: STRING, columns: ARRAY<STRUCT<stable: STRING, type: STRING>>,
       layout: STRUCT<hash_bits: INT, unit_bits: INT, group_bits: INT, key: STRING>, unkeyed_files: BIGINT>>>>>') AS entry
FROM latest;

CREATE OR REPLACE TEMPORARY VIEW runs AS
SELECT one.run, entry.content.columns[one.columns] AS columns, one.keys
FROM entry LATERAL VIEW explode(entry.content.runs) AS one
WHERE entry.format_version = 3 AND entry.stable_state = 'ACTIVE' AND entry.enabled AND one.table_uuid = '${table_uuid}' AND coalesce(size(one.reader_needs), 0) <= 0;

CREATE OR REPLACE TEMPORARY VIEW covered AS
SELECT run, c.stable AS name, CAST(c.column_id AS BIGINT) AS column_id, c.type, c.partition AS of_partition
FROM runs LATERAL VIEW explode(columns) AS c;

CREATE OR REPLACE TEMPORARY VIEW keys AS
SELECT run, k.kind, CAST(k.key_id AS BIGINT) AS key_id, array_join(k.columns.stable, ',') AS name, array_join(k.columns.type, ',') AS type, k.unkeyed_files,
       k.layout.hash_bits, k.layout.unit_bits, k.layout.group_bits, k.layout.key AS stored
FROM runs LATERAL VIEW explode(keys) AS k;

-- Live files that a run knows: by all of their identity. The folders of runs are partitions: a join with `runs` reads those of live runs only.
CREATE OR REPLACE TEMPORARY VIEW index_files USING parquet OPTIONS (path '${index}/files');

CREATE OR REPLACE TEMPORARY VIEW known AS
SELECT live.path, f.run, f.ordinal, f.partition_ord
FROM live JOIN index_files f ON f.path = live.path AND f.size_bytes = live.size_bytes AND f.modified_ms <=> live.modified_ms AND f.etag <=> live.etag
JOIN runs ON runs.run = f.run;

-- Statistics: one row for each live file that a run knows and each column that it covers. Those of partition columns are the partition's.
CREATE OR REPLACE TEMPORARY VIEW column_stats USING parquet OPTIONS (path '${index}/column_stats');
CREATE OR REPLACE TEMPORARY VIEW partition_stats USING parquet OPTIONS (path '${index}/partition_stats');

CREATE OR REPLACE TEMPORARY VIEW statistics AS
SELECT path, name, type, state, lower_int, upper_int, lower_double, upper_double, lower_bytes, upper_bytes, null_count, nan_count, value_count
FROM known JOIN covered USING (run) JOIN column_stats s USING (run, column_id, ordinal) WHERE NOT of_partition
UNION ALL
SELECT path, name, type, state, lower_int, upper_int, lower_double, upper_double, lower_bytes, upper_bytes, null_count, nan_count, value_count
FROM known JOIN covered USING (run) JOIN partition_stats s USING (run, column_id, partition_ord) WHERE of_partition;

-- Questions ---------------------------------------------------------------------------------------------------------
-- `type` is the type that the column has today, in Arrow's words: statistics of another type are left aside (reading.md says which of them may answer, too).
-- A literal stands as the type stores it: days, microseconds, unscaled decimals, bytes. Spark compares BINARY byte by byte, unsigned.

-- id BETWEEN 3 AND 5
SELECT path FROM live EXCEPT
SELECT path FROM statistics WHERE name = 'id' AND type = 'int64' AND (state = 1 OR (state = 2 AND (upper_int < 3 OR lower_int > 5)));

-- f > 100: NaN is above every number, so that files must be known to have none
SELECT path FROM live EXCEPT
SELECT path FROM statistics WHERE name = 'f' AND type = 'double' AND (state = 1 OR (state = 2 AND nan_count = 0 AND upper_double <= 100));

-- f = 12.5: bounds alone decide; without bounds all values are NaN
SELECT path FROM live EXCEPT
SELECT path FROM statistics WHERE name = 'f' AND type = 'double' AND (state = 1 OR (state = 2 AND (lower_double IS NULL OR upper_double < 12.5 OR lower_double > 12.5)));

-- s LIKE 's1%'
SELECT path FROM live EXCEPT
SELECT path FROM statistics WHERE name = 's' AND type = 'string' AND (state = 1 OR (state = 2 AND (upper_bytes < encode('s1', 'UTF-8') OR lower_bytes >= encode('s2', 'UTF-8'))));

-- s IS NULL
SELECT path FROM live EXCEPT
SELECT path FROM statistics WHERE name = 's' AND type = 'string' AND (null_count = 0 OR value_count = 0);

-- Keys: of an index of `Values`. Runs in which a key has unkeyed files are left aside here (duckdb.sql has the anti join with `unkeyed`, a folder that is there only where it is needed).
CREATE OR REPLACE TEMPORARY VIEW keyed AS
SELECT known.path, known.run, known.ordinal, k.kind, k.key_id, k.name, k.type, k.hash_bits, k.unit_bits, k.group_bits, k.stored
FROM known JOIN keys k USING (run) WHERE k.unkeyed_files = 0;

CREATE OR REPLACE TEMPORARY VIEW values_by_hash USING parquet OPTIONS (path '${index}/values');

-- id = 3 by hash. The number is the xxHash64 with seed 0 of the canonical form; Spark's xxhash64() has seed 42, so the client makes it. `>>>` is the shift without a sign.
SELECT path FROM live EXCEPT
SELECT path FROM keyed k
WHERE k.kind = 'values' AND k.name = 'id' AND k.type = 'int64'
  AND NOT EXISTS (SELECT 1 FROM values_by_hash v
                  WHERE v.run = k.run AND v.key_id = k.key_id AND shiftright(v.entry, k.unit_bits) = shiftrightunsigned(-8667152822649993151L, 64 - k.hash_bits)
                    AND shiftright(v.entry & (shiftleft(1L, k.unit_bits) - 1), k.group_bits) = k.ordinal);

CREATE OR REPLACE TEMPORARY VIEW value_keys_int USING parquet OPTIONS (path '${index}/value_keys_int');

-- id BETWEEN 3 AND 4 by value: needs an index of `Values(.., by="value")`. Keys that are integers are in `value_keys_int`, all others in `value_keys`.
SELECT path FROM live EXCEPT
SELECT path FROM keyed k
WHERE k.kind = 'value_keys' AND k.name = 'id' AND k.type = 'int64' AND k.stored = 'int64'
  AND NOT EXISTS (SELECT 1 FROM value_keys_int v WHERE v.run = k.run AND v.key_id = k.key_id AND v.key_int BETWEEN 3 AND 4 AND shiftright(v.unit, k.group_bits) = k.ordinal);

CREATE OR REPLACE TEMPORARY VIEW bloom_filters USING parquet OPTIONS (path '${index}/bloom_filters');

-- Of each class of filters the row that has the hash's block, and of it eight vectors of a bit a file, the lowest bit first, behind a check of 8 bytes (which SQL does not look at); a class of 16,384 files and more
-- has a check before each vector. The hash is the one above.
-- id = 3 by bloom filter: needs an index of `Bloom`.
WITH asked AS (SELECT -8667152822649993151L AS hash),
classes AS (
  SELECT run, key_id, blocks, ordinals, CASE WHEN size(ordinals) < 256 THEN size(ordinals) ELSE CAST(ceil(size(ordinals) / 8) AS BIGINT) * 8 END AS vector,
         shiftright(shiftrightunsigned(hash, 32) * blocks, 32) AS wanted
  FROM bloom_filters, asked WHERE block = 0),
places AS (
  SELECT c.run, c.key_id, c.blocks, any_value(c.ordinals) AS ordinals, any_value(c.vector) AS vector, any_value(c.wanted) - max(s.block) AS behind, max_by(s.bits, s.block) AS bits
  FROM classes c JOIN bloom_filters s ON s.run = c.run AND s.key_id = c.key_id AND s.blocks = c.blocks AND s.block <= c.wanted GROUP BY c.run, c.key_id, c.blocks),
members AS (SELECT run, key_id, vector, behind, bits, m.place, m.ordinal FROM places LATERAL VIEW posexplode(ordinals) m AS place, ordinal),
vectors AS (
  SELECT 32 * word + shiftright(((hash & 4294967295L) * (salt & 65535) + (((hash & 4294967295L) * shiftright(salt, 16)) & 65535) * 65536) & 4294967295L, 27) AS number
  FROM asked, VALUES (0, 1203114875L), (1, 1150766481L), (2, 2284105051L), (3, 2729912477L), (4, 1884591559L), (5, 770785867L), (6, 2667333959L), (7, 1550580529L) AS v (word, salt)),
found AS (
  SELECT run, key_id, ordinal, bits, CASE WHEN 32 * vector <= 524288 THEN 64 + behind * 256 * vector + number * vector + place ELSE number * (64 + vector) + 64 + place END AS spot
  FROM members, vectors),
filtered AS (
  SELECT run, key_id, ordinal FROM found GROUP BY run, key_id, ordinal
  HAVING bool_and(shiftright(CAST(conv(hex(substring(bits, CAST(spot DIV 8 + 1 AS INT), 1)), 16, 10) AS INT), CAST(spot % 8 AS INT)) % 2 = 1))
SELECT path FROM live EXCEPT
SELECT path FROM keyed k
WHERE k.kind = 'bloom_filters' AND k.name = 'id' AND k.type = 'int64'
  AND NOT EXISTS (SELECT 1 FROM filtered f WHERE f.run = k.run AND f.key_id = k.key_id AND f.ordinal = k.ordinal);

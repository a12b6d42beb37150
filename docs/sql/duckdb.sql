-- An index read by DuckDB (1.2 and newer) alone: which of a table's files can a query leave out?
-- ../reading.md says what each statement may conclude, and why. tests/docs/test_sql.py runs this file.
--
-- Two things are yours; say them first:
--
--   SET VARIABLE index = 'lake/events/_metaindex/find';
--   SET VARIABLE table_uuid = '';
--   CREATE OR REPLACE TEMP TABLE live (path VARCHAR, size_bytes BIGINT, modified_ms BIGINT, etag VARCHAR);
--
-- `table_uuid` is the table's own id, empty for plain files. `live` has the files of the version that you ask, from the table's own log: the path below the table's root, percent-decoded once, and what else tells a
-- file, by format (../storage/index.md#ids). Delta: `modificationTime`, no etag. Iceberg: no time, `<sequence number>-<adding snapshot>`. Plain: time of change, `<inode>-<change time in ns>`. Then run this file. A question is then asked by the macros at its end, always in one shape:
--
--   SELECT path FROM live EXCEPT SELECT path FROM <what is proved out>;
--
-- What is not known is in no macro's answer, and so is kept: files that no run knows, columns that are not covered, states that say nothing.

-- The latest entry, its digest checked, and its live runs. No runs: the index may not be used, and nothing is proved out.
CREATE OR REPLACE TEMP TABLE entry AS
SELECT CASE WHEN sha256(split_part(content, chr(10), 1)) = split_part(content, chr(10), 2)::JSON ->> 'sha256' THEN split_part(content, chr(10), 1)::JSON END AS entry
FROM read_text(getvariable('index') || '/_log/[0-9]*.json') ORDER BY filename DESC LIMIT 1;

CREATE OR REPLACE TEMP TABLE runs AS
SELECT run ->> 'run' AS run, (run ->> 'columns')::INTEGER AS column_set, run -> 'keys' AS keys
FROM (SELECT unnest((entry -> '$.content.runs')::JSON[]) AS run FROM entry
      WHERE (entry ->> 'format_version')::INTEGER = 3 AND entry ->> 'stable_state' = 'ACTIVE' AND (entry ->> 'enabled')::BOOLEAN)
WHERE run ->> 'table_uuid' = getvariable('table_uuid') AND coalesce(json_array_length(run -> 'reader_needs'), 0) = 0;

-- Covered columns of each run, and its keys. `name`: stable names, joined by a comma.
CREATE OR REPLACE TEMP TABLE covered AS
SELECT run, c ->> 'stable' AS name, (c ->> 'column_id')::BIGINT AS column_id, c ->> 'type' AS type, (c ->> 'partition')::BOOLEAN AS of_partition
FROM (SELECT run, unnest(((entry -> '$.content.columns')::JSON[])[column_set + 1]::JSON[]) AS c FROM runs, entry);

CREATE OR REPLACE TEMP TABLE keys AS
SELECT run, k ->> 'kind' AS kind, (k ->> 'key_id')::BIGINT AS key_id, array_to_string(k ->> '$.columns[*].stable', ',') AS name, array_to_string(k ->> '$.columns[*].type', ',') AS type,
       (k ->> '$.layout.hash_bits')::INTEGER AS hash_bits, (k ->> '$.layout.unit_bits')::INTEGER AS unit_bits, (k ->> '$.layout.group_bits')::INTEGER AS group_bits,
       k ->> '$.layout.key' AS stored
FROM (SELECT run, unnest(keys::JSON[]) AS k FROM runs);

-- The parts that the manifests name, by folder; `of_folder` has their rows, and the column `run`. A folder without parts is `none`.
SET VARIABLE manifests = (SELECT list(getvariable('index') || '/_manifests/' || run || '.json') FROM runs);

CREATE OR REPLACE TEMP TABLE parts AS
SELECT split_part(path, '/', 1) AS folder, path
FROM (SELECT unnest(content::JSON ->> '$.parts[*].path') AS path
      FROM query(CASE WHEN getvariable('manifests') IS NULL THEN 'SELECT ''{"parts": []}'' AS content' ELSE 'FROM read_text(getvariable(''manifests''))' END));

SET VARIABLE parts = (SELECT map_from_entries(list((folder, paths)))
                      FROM (SELECT folder, list(getvariable('index') || '/' || path) AS paths FROM parts GROUP BY folder));

CREATE OR REPLACE TEMP MACRO of_folder(folder, none) AS TABLE
FROM query(CASE WHEN getvariable('parts')[folder] IS NULL THEN 'SELECT ' || none || ', NULL::VARCHAR AS run WHERE false'
           ELSE 'FROM read_parquet(getvariable(''parts'')[''' || folder || '''], hive_partitioning = true)' END);

-- Live files that a run knows: by all of their identity. A file may be known by several runs, each of which may prove it out alone.
CREATE OR REPLACE TEMP TABLE known AS
SELECT live.path, f.run, f.ordinal, f.partition_ord
FROM live JOIN of_folder('files', 'NULL::INTEGER AS ordinal, NULL::INTEGER AS partition_ord, NULL::VARCHAR AS path, NULL::BIGINT AS size_bytes, NULL::BIGINT AS modified_ms, NULL::VARCHAR AS etag') f
  ON f.path = live.path AND f.size_bytes = live.size_bytes AND f.modified_ms IS NOT DISTINCT FROM live.modified_ms AND f.etag IS NOT DISTINCT FROM live.etag;

-- Statistics: one row for each live file that a run knows and each column that it covers. Those of partition columns are the partition's.
CREATE OR REPLACE TEMP MACRO _statistic() AS
  'NULL::BIGINT AS column_id, NULL::INTEGER AS ordinal, NULL::INTEGER AS partition_ord, NULL::TINYINT AS state, NULL::BIGINT AS lower_int, NULL::BIGINT AS upper_int, NULL::DOUBLE AS lower_double, NULL::DOUBLE AS upper_double, NULL::BLOB AS lower_bytes, NULL::BLOB AS upper_bytes, NULL::BIGINT AS null_count, NULL::BIGINT AS nan_count, NULL::BIGINT AS value_count';

CREATE OR REPLACE TEMP VIEW statistics AS
SELECT path, name, type, state, lower_int, upper_int, lower_double, upper_double, lower_bytes, upper_bytes, null_count, nan_count, value_count
FROM known JOIN covered USING (run) JOIN of_folder('column_stats', _statistic()) s USING (run, column_id, ordinal) WHERE NOT of_partition
UNION ALL
SELECT path, name, type, state, lower_int, upper_int, lower_double, upper_double, lower_bytes, upper_bytes, null_count, nan_count, value_count
FROM known JOIN covered USING (run) JOIN of_folder('partition_stats', _statistic()) s USING (run, column_id, partition_ord) WHERE of_partition;

-- Keys: each live file with the keys that know it. Unkeyed files are in none.
CREATE OR REPLACE TEMP VIEW keyed AS
SELECT known.path, known.run, known.ordinal, k.kind, k.key_id, k.name, k.type, k.hash_bits, k.unit_bits, k.group_bits, k.stored
FROM known JOIN keys k USING (run)
ANTI JOIN of_folder('unkeyed', 'NULL::BIGINT AS key_id, NULL::INTEGER AS ordinal') u ON u.run = known.run AND u.key_id = k.key_id AND u.ordinal = known.ordinal;

-- What is proved out ------------------------------------------------------------------------------------------------
-- `col`: the stable name; `now`: the type that the column has today, in Arrow's words: statistics of another type are left aside (reading.md says which of them may answer, too).
-- `low`, `high`: both ends belong to it; NULL is no end. A literal stands as the type stores it: days, microseconds, unscaled decimals, bytes.

-- No value from `low` to `high`: for =, <, <=, >, >=, BETWEEN. Without `high`, NaN counts as above every number.
CREATE OR REPLACE TEMP MACRO no_int_between(col, now, low, high) AS TABLE
SELECT path FROM statistics
WHERE name = col AND type = now AND (state = 1 OR (state = 2 AND (upper_int < low OR lower_int > high)));

CREATE OR REPLACE TEMP MACRO no_double_between(col, now, low, high) AS TABLE
SELECT path FROM statistics
WHERE name = col AND type = now AND (high IS NOT NULL OR nan_count = 0 OR state = 1)
  AND (state = 1 OR (state = 2 AND (lower_double IS NULL OR upper_double < low OR lower_double > high)));

-- Texts: `encode('text')`. All that begin with 'ab': from encode('ab') to encode('ac').
CREATE OR REPLACE TEMP MACRO no_bytes_between(col, now, low, high) AS TABLE
SELECT path FROM statistics
WHERE name = col AND type = now AND (state = 1 OR (state = 2 AND (upper_bytes < low OR lower_bytes > high)));

-- No NULL; no value; no NaN. In each state: the counts stand for themselves.
CREATE OR REPLACE TEMP MACRO no_null(col, now) AS TABLE
SELECT path FROM statistics WHERE name = col AND type = now AND (null_count = 0 OR value_count = 0);

CREATE OR REPLACE TEMP MACRO no_value(col, now) AS TABLE
SELECT path FROM statistics WHERE name = col AND type = now AND state = 1;

CREATE OR REPLACE TEMP MACRO no_nan(col, now) AS TABLE
SELECT path FROM statistics WHERE name = col AND type = now AND (state = 1 OR nan_count = 0);

-- No other value than this one (NaN is another one): for <> and NOT IN.
CREATE OR REPLACE TEMP MACRO no_other_int(col, now, value) AS TABLE
SELECT path FROM statistics
WHERE name = col AND type = now AND (state = 1 OR (state = 2 AND lower_int = value AND upper_int = value));

-- By hash: `hash` is the xxHash64 (seed 0) of the value's canonical form, as UBIGINT, made by the client: DuckDB has none.
CREATE OR REPLACE TEMP MACRO no_hash(col, now, hash) AS TABLE
SELECT path FROM keyed k
WHERE kind = 'values' AND name = col AND type = now
  AND NOT EXISTS (FROM of_folder('values', 'NULL::BIGINT AS key_id, NULL::BIGINT AS entry') v
                  WHERE v.run = k.run AND v.key_id = k.key_id AND v.entry >> k.unit_bits = (hash::UBIGINT >> (64 - k.hash_bits))::BIGINT
                    AND (v.entry & ((1::BIGINT << k.unit_bits) - 1)) >> k.group_bits = k.ordinal);

-- Bloom filters. The files in whose filter all eight bits of a hash are set: of each class the row that has the hash's block, and of it eight vectors of a bit a file.
CREATE OR REPLACE TEMP MACRO _filtered(hash) AS TABLE
WITH stored AS (FROM of_folder('bloom_filters', 'NULL::BIGINT AS key_id, NULL::INTEGER AS blocks, NULL::INTEGER AS block, NULL::BLOB AS bits, NULL::INTEGER[] AS ordinals')),
classes AS (
  SELECT run, key_id, blocks, ordinals, CASE WHEN len(ordinals) < 256 THEN len(ordinals) ELSE (len(ordinals) + 7) // 8 * 8 END AS vector,
         (((hash::UBIGINT >> 32) * blocks::UBIGINT) >> 32)::BIGINT AS asked
  FROM stored WHERE block = 0),
places AS (
  SELECT c.run, c.key_id, c.blocks, any_value(c.ordinals) AS ordinals, any_value(c.vector) AS vector, any_value(c.asked) - max(s.block) AS behind, arg_max(s.bits, s.block) AS bits
  FROM classes c JOIN stored s USING (run, key_id, blocks) WHERE s.block <= c.asked GROUP BY c.run, c.key_id, c.blocks),
members AS (SELECT run, key_id, vector, behind, bits, unnest(ordinals) AS ordinal, unnest(range(len(ordinals))) AS place FROM places),
vectors AS (
  SELECT 32 * word + ((((hash::UBIGINT & 4294967295) * salt::UBIGINT) & 4294967295) >> 27)::BIGINT AS number
  FROM (VALUES (0, 1203114875), (1, 1150766481), (2, 2284105051), (3, 2729912477), (4, 1884591559), (5, 770785867), (6, 2667333959), (7, 1550580529)) v (word, salt)),
-- The bit's place behind the check of 8 bytes; a class of 16,384 files and more has a check before each vector.
bits AS (
  SELECT run, key_id, ordinal, bits,
         CASE WHEN 32 * vector <= 524288 THEN 64 + behind * 256 * vector + number * vector + place ELSE number * (64 + vector) + 64 + place END AS spot
  FROM members, vectors)
SELECT run, key_id, ordinal FROM bits
GROUP BY run, key_id, ordinal HAVING bool_and(get_bit(array_slice(bits, spot // 8 + 1, spot // 8 + 1)::BIT, (7 - spot % 8)::INTEGER) = 1);

-- `hash`: as for no_hash. The check of a frame is not looked at: SQL has no xxHash.
CREATE OR REPLACE TEMP MACRO no_bloom(col, now, hash) AS TABLE
SELECT path FROM keyed k
WHERE kind = 'bloom_filters' AND name = col AND type = now
  AND NOT EXISTS (FROM _filtered(hash) f WHERE f.run = k.run AND f.key_id = k.key_id AND f.ordinal = k.ordinal);

-- By value. `kind_` is 'value_keys' or 'value_lists'.
CREATE OR REPLACE TEMP MACRO no_int_key(kind_, col, now, low, high) AS TABLE
SELECT path FROM keyed k
WHERE kind = kind_ AND name = col AND type = now AND stored = 'int64'
  AND NOT EXISTS (FROM of_folder(kind_ || '_int', 'NULL::BIGINT AS key_id, NULL::BIGINT AS key_int, NULL::BIGINT AS unit') v
                  WHERE v.run = k.run AND v.key_id = k.key_id AND v.key_int BETWEEN coalesce(low, v.key_int) AND coalesce(high, v.key_int) AND v.unit >> k.group_bits = k.ordinal);

-- Keys in bytes: at most 255 of them as they are; longer ones are not asked here.
CREATE OR REPLACE TEMP MACRO no_bytes_key(kind_, col, now, value) AS TABLE
SELECT path FROM keyed k
WHERE kind = kind_ AND name = col AND type = now AND stored IS NULL AND octet_length(value) <= 255
  AND NOT EXISTS (FROM of_folder(kind_, 'NULL::BIGINT AS key_id, NULL::BLOB AS key, NULL::BIGINT AS unit') v
                  WHERE v.run = k.run AND v.key_id = k.key_id AND v.key = value AND v.unit >> k.group_bits = k.ordinal);

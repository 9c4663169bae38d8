-- vector_models --
-- The models of which vectors are wanted somewhere. $1 text: model or null for all
-- Columns: model (text), collection (text, '' for every one), dimension (integer), apart, near, alias_excess (real).
SELECT m.model, m.collection, m.dimension, m.apart, m.near, m.alias_excess FROM kb_search.vector_model AS m
WHERE $1::text IS NULL OR m.model = $1::text
ORDER BY m.model, m.collection;

-- want_vectors --
-- Notes that vectors of a model are wanted. $1 text: model · $2 text: collection, '' for every one
-- $3 integer: numbers in a vector · $4 real, $5 real: usual cosines of a question with texts about
-- something else and with its answer · $6 real: what to take from an alias's. A row where that is new.
INSERT INTO kb_search.vector_model (model, collection, dimension, apart, near, alias_excess)
VALUES ($1::text, $2::text, $3::integer, $4::real, $5::real, $6::real)
ON CONFLICT DO NOTHING
RETURNING model;

-- pause_writers --
-- Waits for the writers that may not have seen what was just noted; new ones wait until the end of
-- the transaction, readers never.
LOCK TABLE kb_search.entry IN SHARE MODE;

-- queue_missing_vectors --
-- Queues the entries that have no vector of a model, and lets those that failed be tried at once.
-- $1 text: model · $2 text: collection, '' for every one
WITH again AS (
    UPDATE kb_search.vector_job AS j SET not_before = '-infinity'
    FROM (
        SELECT w.model, w.collection, w.entry_id FROM kb_search.vector_job AS w
        WHERE w.model = $1::text AND $2::text IN ('', w.collection) AND w.not_before > now()
        FOR UPDATE SKIP LOCKED
    ) AS waiting
    WHERE (j.model, j.collection, j.entry_id) = (waiting.model, waiting.collection, waiting.entry_id)
)
INSERT INTO kb_search.vector_job (model, collection, entry_id)
SELECT $1::text, e.collection, e.id FROM kb_search.entry AS e
WHERE $2::text IN ('', e.collection)
    AND NOT EXISTS (SELECT FROM kb_search.embedding AS v WHERE v.entry_id = e.id AND v.model = $1::text)
ORDER BY 1, 2, 3
ON CONFLICT DO NOTHING;

-- claim_vector_jobs --
-- Jobs for this worker alone, until its transaction ends; those of other workers are passed over.
-- $1 text: model · $2 text: collection or null for all · $3 integer: most entries
-- Columns: job_collection, id (bigint); of the entry, null where it is gone or stands in another
--   collection by now: title, heading_path, aliases, content; text_digest (text): of all these;
--   digests (text[]): of the vectors it has.
WITH claimed AS MATERIALIZED (
    SELECT j.collection, j.entry_id FROM kb_search.vector_job AS j
    WHERE j.model = $1::text AND ($2::text IS NULL OR j.collection = $2::text) AND j.not_before <= now()
    ORDER BY j.model, j.collection, j.entry_id
    LIMIT $3::integer
    FOR UPDATE SKIP LOCKED
)
SELECT c.collection AS job_collection, c.entry_id AS id, e.title, e.heading_path, e.aliases, e.content,
    kb_search.entry_digest(e.title, e.heading_path, e.aliases, e.content) AS text_digest,
    ARRAY(SELECT v.digest FROM kb_search.embedding AS v WHERE v.entry_id = e.id AND v.model = $1::text) AS digests
FROM claimed AS c LEFT JOIN kb_search.entry AS e ON e.id = c.entry_id AND e.collection = c.collection
ORDER BY c.collection, c.entry_id;

-- store_vectors --
-- Stores vectors of claimed entries and ends their jobs. An entry that changed meanwhile, or that a
-- writer holds, keeps its job; one that is gone loses it.
-- $1 text: model · $2 bigint[]: entries, with $3 text[]: their text_digest (null: gone)
-- $4 bigint[]: an entry a vector, with $5 text[]: part, $6 text[]: digest, and $7 real[]: all numbers,
--   one vector after the other · $8 integer: numbers in a vector
-- $9 bigint[] and $10 text[]: entry and digest of every vector that is to stay or to come
-- One row: entries (bigint): jobs ended; vectors (bigint): stored.
WITH given AS MATERIALIZED (
    SELECT g.id, g.text_digest FROM unnest($2::bigint[], $3::text[]) AS g (id, text_digest)
), held AS MATERIALIZED (
    SELECT e.id, e.collection, kb_search.entry_digest(e.title, e.heading_path, e.aliases, e.content) AS text_digest
    FROM kb_search.entry AS e WHERE e.id IN (SELECT g.id FROM given AS g)
    ORDER BY e.id
    FOR SHARE SKIP LOCKED
), same AS MATERIALIZED (
    SELECT h.id, h.collection FROM held AS h JOIN given AS g USING (id, text_digest)
), stale AS (
    DELETE FROM kb_search.embedding AS v USING same AS s
    WHERE v.entry_id = s.id AND v.model = $1::text AND NOT EXISTS (
        SELECT FROM unnest($9::bigint[], $10::text[]) AS k (id, digest)
        WHERE k.id = v.entry_id AND k.digest = v.digest)
), stored AS (
    INSERT INTO kb_search.embedding AS v (entry_id, model, digest, part, collection, numbers)
    SELECT n.id, $1::text, n.digest, n.part, s.collection,
        ($7::real[])[(n.nr - 1) * $8::integer + 1 : n.nr * $8::integer]
    FROM unnest($4::bigint[], $5::text[], $6::text[]) WITH ORDINALITY AS n (id, part, digest, nr)
    JOIN same AS s USING (id)
    ON CONFLICT (entry_id, model, digest) DO UPDATE SET part = excluded.part, collection = excluded.collection
    RETURNING 1
), ended AS (
    DELETE FROM kb_search.vector_job AS j USING given AS g
    WHERE j.model = $1::text AND j.entry_id = g.id
        AND (EXISTS (SELECT FROM same AS s WHERE s.id = g.id AND s.collection = j.collection)
            OR NOT EXISTS (
                SELECT FROM kb_search.entry AS e WHERE e.id = g.id AND e.collection = j.collection))
    RETURNING 1
)
SELECT (SELECT count(*) FROM ended) AS entries, (SELECT count(*) FROM stored) AS vectors;

-- note_failed_vectors --
-- Keeps claimed jobs that failed, to be tried again later: after 5 s, then twice as long each time,
-- an hour at most. $1 text: model · $2 bigint[]: entries · $3 text: what went wrong
UPDATE kb_search.vector_job AS j
SET attempts = j.attempts + 1, last_error = left($3::text, 500),
    not_before = clock_timestamp() + least(interval '1 hour', interval '5 seconds' * 2 ^ least(j.attempts, 10))
WHERE j.model = $1::text AND j.entry_id = ANY ($2::bigint[]);

-- vector_progress --
-- How far the vectors of a model are. $1 text: model · $2 text: collection or null for all
-- Columns, a row a collection with entries or jobs: collection (text), entries, waiting, failed
-- (bigint: of those waiting, tried before), vectors (bigint), last_error (text).
SELECT collection,
    coalesce(sum(entries), 0)::bigint AS entries, coalesce(sum(waiting), 0)::bigint AS waiting,
    coalesce(sum(failed), 0)::bigint AS failed, coalesce(sum(vectors), 0)::bigint AS vectors,
    max(last_error) AS last_error
FROM (
    SELECT c.collection, sum(c.entries) AS entries, 0 AS waiting, 0 AS failed, 0 AS vectors, NULL::text AS last_error
    FROM kb_search.entry_count AS c
    WHERE $2::text IS NULL OR c.collection = $2::text GROUP BY c.collection
    UNION ALL
    SELECT j.collection, 0, count(*), count(*) FILTER (WHERE j.attempts > 0), 0,
        (array_agg(j.last_error ORDER BY j.not_before DESC) FILTER (WHERE j.attempts > 0))[1]
    FROM kb_search.vector_job AS j
    WHERE j.model = $1::text AND ($2::text IS NULL OR j.collection = $2::text) GROUP BY j.collection
    UNION ALL
    SELECT v.collection, 0, 0, 0, count(*), NULL
    FROM kb_search.embedding AS v
    WHERE v.model = $1::text AND ($2::text IS NULL OR v.collection = $2::text) GROUP BY v.collection
) AS c
GROUP BY collection HAVING coalesce(sum(entries), 0) + sum(waiting) > 0
ORDER BY collection;

-- waiting_vectors --
-- Jobs of a model. $1 text: model · $2 text: collection or null for all
-- One row: waiting, due (those that may be tried now), failed (tried before): bigint.
SELECT count(*) AS waiting, count(*) FILTER (WHERE j.not_before <= now()) AS due,
    count(*) FILTER (WHERE j.attempts > 0) AS failed
FROM kb_search.vector_job AS j
WHERE j.model = $1::text AND ($2::text IS NULL OR j.collection = $2::text);

-- forget_collection_vectors --
-- No vectors of a collection are wanted any more (those of every collection aside).
-- $1 text: collection
DELETE FROM kb_search.vector_model AS m WHERE m.collection = $1::text;

-- forget_model --
-- Removes a model with its vectors and jobs. $1 text: model
-- One row: vectors (bigint): how many are gone.
WITH unwanted AS (
    DELETE FROM kb_search.vector_model AS m WHERE m.model = $1::text
), jobs AS (
    DELETE FROM kb_search.vector_job AS j WHERE j.model = $1::text
), gone AS (
    DELETE FROM kb_search.embedding AS v WHERE v.model = $1::text RETURNING 1
)
SELECT count(*) AS vectors FROM gone;

-- vector_index_state --
-- Whether the index of a model is worth making and how. $1 text: model · $2 integer: its dimension
-- $3 integer: vectors from which it is
-- One row: command (text, null where the server has no such index or there are too few vectors),
--   state (text): absent, valid, broken, or being made; drop_command (text): takes it away.
SELECT
    CASE WHEN (SELECT count(*) FROM (
        SELECT FROM kb_search.embedding AS v WHERE v.model = $1::text LIMIT $3::integer) AS few) >= $3::integer
    THEN kb_search.vector_index_command($1::text, $2::integer) END AS command,
    CASE
        WHEN i.indexrelid IS NULL THEN 'absent'
        WHEN i.indisvalid THEN 'valid'
        WHEN EXISTS (SELECT FROM pg_catalog.pg_stat_progress_create_index AS p WHERE p.index_relid = i.indexrelid)
            THEN 'being made'
        ELSE 'broken' END AS state,
    'DROP INDEX CONCURRENTLY IF EXISTS kb_search.' || wanted.name AS drop_command
FROM (SELECT 'vector_near_' || left(md5($1::text), 16)) AS wanted (name)
LEFT JOIN pg_catalog.pg_class AS c
    ON c.relname = wanted.name AND c.relnamespace = 'kb_search'::regnamespace
LEFT JOIN pg_catalog.pg_index AS i ON i.indexrelid = c.oid;

-- pgvector_version --
-- Column: version (text); no row where the database lacks pgvector.
SELECT e.extversion AS version FROM pg_catalog.pg_extension AS e WHERE e.extname = 'vector';

-- vector_state --
-- Whether a collection can be searched by meaning. $1 text: collection · $2 text: model
-- $3 integer: count the missing ones up to here
-- One row: dimension (integer), apart, near, alias_excess (real), all null where the model has no vector here;
--   entries (bigint); waiting (bigint, at most $3): entries whose vectors are to be made; others
--   (boolean): there are vectors here, of another model; pgvector (boolean): the database has it.
SELECT m.dimension, m.apart, m.near, m.alias_excess,
    (SELECT coalesce(sum(c.entries), 0)::bigint FROM kb_search.entry_count AS c
        WHERE c.collection = $1::text) AS entries,
    (SELECT count(*) FROM (SELECT FROM kb_search.vector_job AS j
        WHERE j.model = $2::text AND j.collection = $1::text LIMIT $3::integer) AS few) AS waiting,
    EXISTS (SELECT FROM pg_catalog.pg_extension AS e WHERE e.extname = 'vector') AS pgvector,
    m.model IS NULL AND EXISTS (
        SELECT FROM kb_search.embedding AS v WHERE v.collection = $1::text) AS others
FROM (SELECT) AS one
LEFT JOIN LATERAL (
    SELECT m.model, m.dimension, m.apart, m.near, m.alias_excess FROM kb_search.vector_model AS m
    WHERE m.model = $2::text
        AND EXISTS (SELECT FROM kb_search.embedding AS v WHERE v.collection = $1::text AND v.model = $2::text)
    LIMIT 1
) AS m ON true;

-- nearest_entries --
-- The entries nearest in meaning, each by its two nearest vectors, nearest first.
-- $1 text: collection · $2 text: model · $3 integer: dimension · $4 real[]: the question, length 1
-- $5 real: what to take from an alias's cosine · $6 text: section or null · $7 text[]: tags or null
-- $8 jsonb: metadata or null · $9 bigint[]: documents or null · $10 integer: rows
-- Columns: entry_id (bigint), cosine (real, -1..1).
SELECT n.entry_id, n.cosine FROM kb_search.nearest_entries(
    $1::text, $2::text, $3::integer, $4::real[], $5::real, $6::text, $7::text[], $8::jsonb, $9::bigint[],
    $10::integer) AS n;

-- scored_entries --
-- Entries by id, with what the words say for each (0 where it holds none); without those that do not
-- meet the demands, which the vectors know nothing of.
-- $1 bigint[]: entries · $2 text[]: words · $3 real[]: the weights of their stems
-- $4 real[]: of the words themselves · $5 real: average words of a content
-- $6 real: weight of the content · $7 real: of the weaker field · $8 real: length norm
-- $9 jsonb: demands or null, as in ranked_entries
-- Columns: as ranked_entries.
SELECT s.* FROM kb_search.scored_entries(
    $1::bigint[], $2::text[], $3::real[], $4::real[], $5::real, $6::real, $7::real, $8::real, $9::jsonb) AS s;

-- cosines --
-- How near entries are in meaning, each by its two nearest vectors.
-- $1 bigint[]: entries · $2 text: model · $3 integer: dimension · $4 real[]: the question, length 1
-- $5 real: what to take from an alias's cosine
-- Columns: entry_id (bigint), cosine (real, -1..1); no row for an entry without a vector.
SELECT c.entry_id, c.cosine
FROM kb_search.entry_cosines($1::bigint[], $2::text, $3::integer, $4::real[], $5::real) AS c;

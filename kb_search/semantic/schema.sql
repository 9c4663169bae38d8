-- Vectors: what the semantic part keeps beside the entries. Idempotent, applied after the main
-- schema; works without pgvector (a later `kb-search init` takes it up once it is there). Nothing
-- of the main schema refers to this file: dropping what it makes leaves a lexical knowledge base.

-- 1. pgvector, where the server has it ---------------------------------------------------------------

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'vector') THEN
        -- never into kb_search itself, which is dropped with what is in it
        IF to_regnamespace('public') IS NOT NULL AND has_schema_privilege('public', 'CREATE') THEN
            CREATE EXTENSION vector SCHEMA public;
        ELSE
            CREATE EXTENSION vector;
        END IF;
    END IF;
EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_file OR undefined_object THEN
    NULL; -- the doctor says what is lost
END
$$;

-- 2. Tables ------------------------------------------------------------------------------------------

-- The models whose vectors are wanted, by collection ('' stands for every one).
CREATE TABLE IF NOT EXISTS kb_search.vector_model (
    model text NOT NULL,
    collection text NOT NULL,
    dimension integer NOT NULL CHECK (dimension BETWEEN 1 AND 16000),
    apart real NOT NULL, -- a usual cosine of a question with a text about something else
    near real NOT NULL, -- and with its answer
    alias_excess real NOT NULL, -- by how much questions are nearer to each other than to texts
    PRIMARY KEY (model, collection)
);

-- A row a part of an entry: its title, its title with the content (a passage of it), each alias.
-- `digest` is md5 of the exact text, `numbers` has length 1. No foreign key: with one, TRUNCATE of
-- the entries would be refused; triggers keep vectors and entries together.
CREATE TABLE IF NOT EXISTS kb_search.embedding (
    entry_id bigint NOT NULL,
    model text NOT NULL,
    digest text NOT NULL,
    part text NOT NULL CHECK (part IN ('title', 'content', 'alias')),
    collection text NOT NULL,
    numbers real[] NOT NULL,
    PRIMARY KEY (entry_id, model, digest)
);
-- numbers do not compress, and trying costs time
ALTER TABLE kb_search.embedding ALTER COLUMN numbers SET STORAGE EXTERNAL;

-- Entries whose vectors are to be made. Workers lock rows while they make them; nobody else waits
-- for such a lock.
CREATE TABLE IF NOT EXISTS kb_search.vector_job (
    model text NOT NULL,
    collection text NOT NULL,
    entry_id bigint NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    last_error text,
    not_before timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (model, collection, entry_id)
);

-- search: the vectors of one collection, compared exactly
CREATE INDEX IF NOT EXISTS embedding_collection ON kb_search.embedding (collection, model, entry_id);
-- triggers: the jobs of an entry
CREATE INDEX IF NOT EXISTS vector_job_entry ON kb_search.vector_job (entry_id);

-- 3. Vectors follow their entries ----------------------------------------------------------------------

-- What the vectors of an entry are made from, as one digest.
CREATE OR REPLACE FUNCTION kb_search.entry_digest(
    title text, heading_path text[], aliases text[], content text
) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_catalog.md5(ROW(title, heading_path, aliases, content)::text);

CREATE OR REPLACE FUNCTION kb_search.queue_added_vectors() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO kb_search.vector_job (model, collection, entry_id)
    SELECT DISTINCT m.model, r.collection, r.id
    FROM changed_rows AS r JOIN kb_search.vector_model AS m ON m.collection IN ('', r.collection)
    ORDER BY 1, 2, 3
    ON CONFLICT DO NOTHING;
    IF FOUND THEN -- NOTIFY makes commits take turns: only where somebody may listen
        PERFORM pg_notify('kb_search_vectors', '');
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION kb_search.queue_changed_vectors() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM kb_search.vector_model) THEN
        RETURN NULL;
    END IF;
    WITH changed AS MATERIALIZED (
        SELECT o.id, n.id IS NULL AS gone, n.collection, n.aliases,
            o.title IS DISTINCT FROM n.title AS other_title,
            (o.title, o.heading_path, o.content) IS DISTINCT FROM (n.title, n.heading_path, n.content)
                AS other_content
        FROM old_rows AS o LEFT JOIN new_rows AS n USING (id)
        WHERE (o.collection, o.title, o.heading_path, o.aliases, o.content)
            IS DISTINCT FROM (n.collection, n.title, n.heading_path, n.aliases, n.content)
    ), stale AS (
        DELETE FROM kb_search.embedding AS v USING changed AS c
        WHERE v.entry_id = c.id AND (c.gone
            OR v.part = 'title' AND c.other_title
            OR v.part = 'content' AND c.other_content
            OR v.part = 'alias' AND v.digest NOT IN (SELECT md5(btrim(a)) FROM unnest(c.aliases) AS a))
    )
    UPDATE kb_search.embedding AS v SET collection = c.collection
    FROM changed AS c
    WHERE v.entry_id = c.id AND NOT c.gone AND v.collection <> c.collection
        AND NOT (v.part = 'title' AND c.other_title OR v.part = 'content' AND c.other_content
            OR v.part = 'alias' AND v.digest NOT IN (SELECT md5(btrim(a)) FROM unnest(c.aliases) AS a));

    INSERT INTO kb_search.vector_job (model, collection, entry_id)
    SELECT DISTINCT m.model, n.collection, n.id
    FROM new_rows AS n
    LEFT JOIN old_rows AS o USING (id)
    JOIN kb_search.vector_model AS m ON m.collection IN ('', n.collection)
    WHERE (o.collection, o.title, o.heading_path, o.aliases, o.content)
        IS DISTINCT FROM (n.collection, n.title, n.heading_path, n.aliases, n.content)
    ORDER BY 1, 2, 3
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM pg_notify('kb_search_vectors', '');
    END IF;
    RETURN NULL;
END
$$;

-- Jobs that a worker holds are left to it: it finds the entry gone.
CREATE OR REPLACE FUNCTION kb_search.remove_vectors() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM kb_search.embedding AS v USING changed_rows AS r WHERE v.entry_id = r.id;
    DELETE FROM kb_search.vector_job AS j USING (
        SELECT k.model, k.collection, k.entry_id FROM kb_search.vector_job AS k
        WHERE k.entry_id IN (SELECT r.id FROM changed_rows AS r)
        FOR UPDATE SKIP LOCKED
    ) AS free
    WHERE j.model = free.model AND j.collection = free.collection AND j.entry_id = free.entry_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION kb_search.forget_vectors() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM kb_search.embedding;
    DELETE FROM kb_search.vector_job AS j USING (
        SELECT k.model, k.collection, k.entry_id FROM kb_search.vector_job AS k FOR UPDATE SKIP LOCKED
    ) AS free
    WHERE j.model = free.model AND j.collection = free.collection AND j.entry_id = free.entry_id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER entry_vectors_added AFTER INSERT ON kb_search.entry
    REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION kb_search.queue_added_vectors();
CREATE OR REPLACE TRIGGER entry_vectors_changed AFTER UPDATE ON kb_search.entry
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION kb_search.queue_changed_vectors();
CREATE OR REPLACE TRIGGER entry_vectors_removed AFTER DELETE ON kb_search.entry
    REFERENCING OLD TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION kb_search.remove_vectors();
CREATE OR REPLACE TRIGGER entry_vectors_emptied AFTER TRUNCATE ON kb_search.entry
    FOR EACH STATEMENT EXECUTE FUNCTION kb_search.forget_vectors();

-- They run as the owner: nobody else may hang them on a table of their own.
REVOKE EXECUTE ON FUNCTION kb_search.queue_added_vectors(), kb_search.queue_changed_vectors(),
    kb_search.remove_vectors(), kb_search.forget_vectors() FROM PUBLIC;

-- 4. The words of entries that the vectors brought -----------------------------------------------------
-- As kb_search.ranked_entries() does it, for entries named by their id: one that holds none of the
-- words comes too, with a total of 0.

CREATE OR REPLACE FUNCTION kb_search.scored_entries(
    bigint[], text[], real[], real[], real, real, real, real, jsonb
)
RETURNS TABLE (
    id bigint, collection text, section text, title text, content text, aliases text[], tags text[],
    metadata jsonb, source text, document_id bigint, heading_path text[], "position" integer,
    total double precision, needles integer[], parts double precision[]
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH needle AS MATERIALIZED (
        SELECT n.nr, n.stem_weight, n.word_weight,
            to_tsquery('kb_search.spanish', n.form) AS stem_query,
            to_tsquery('kb_search.words', n.word) AS word_query
        FROM unnest($2::text[], $3::real[], $4::real[],
            string_to_array(kb_search.stem_forms(array_to_string($2::text[], ' ')), ' ')
        ) WITH ORDINALITY AS n (word, stem_weight, word_weight, form, nr)
    ), demand AS MATERIALIZED (
        SELECT d.wanted,
            CASE WHEN d.words <> '' THEN to_tsquery('kb_search.spanish', kb_search.stem_forms(d.words)) END
                AS stem_query,
            (SELECT string_agg('(' || kb_search.phrase_query(p.phrase)::text || ')', ' | ')::tsquery
                FROM jsonb_array_elements_text(d.phrases) AS p (phrase)) AS phrase_query
        FROM jsonb_to_recordset($9::jsonb) AS d (wanted boolean, words text, phrases jsonb)
    ), candidate AS MATERIALIZED (
        SELECT e.id, e.stems || ''::tsvector AS stems, e.words || ''::tsvector AS words,
            $6::real / ln(exp(1.0) + $8::real * e.content_words / greatest($5::real, 1)) AS content_weight
        FROM kb_search.entry AS e
        WHERE e.id = ANY ($1::bigint[])
            AND ($9::jsonb IS NULL OR NOT EXISTS (
                SELECT FROM demand AS d
                WHERE (coalesce(e.stems @@ d.stem_query, false) OR coalesce(e.words @@ d.phrase_query, false))
                    <> d.wanted))
    ), evidence AS MATERIALIZED (
        SELECT c.id, n.nr,
            n.stem_weight * (greatest(s.title, s.content) + $7::real * least(s.title, s.content))
            + n.word_weight * (greatest(w.title, w.content) + $7::real * least(w.title, w.content)) AS part
        FROM candidate AS c
        JOIN needle AS n ON c.stems @@ n.stem_query
        CROSS JOIN LATERAL (SELECT
            ts_rank('{0, 0.6, 0.8, 1}', c.stems, n.stem_query) AS title,
            ts_rank('{1, 0, 0, 0}', c.stems, n.stem_query) * c.content_weight AS content
            OFFSET 0) AS s
        CROSS JOIN LATERAL (SELECT
            ts_rank('{0, 0.6, 0.8, 1}', c.words, n.word_query) AS title,
            ts_rank('{1, 0, 0, 0}', c.words, n.word_query) * c.content_weight AS content
            OFFSET 0) AS w
    ), summed AS (
        SELECT v.id, sum(v.part) AS total, array_agg(v.nr::integer) AS needles, array_agg(v.part) AS parts
        FROM evidence AS v GROUP BY v.id
    )
    SELECT e.id, e.collection, e.section, e.title, e.content, e.aliases, e.tags, e.metadata, e.source,
        e.document_id, e.heading_path, e.position,
        coalesce(s.total, 0), coalesce(s.needles, '{}'), coalesce(s.parts, '{}')
    FROM candidate AS c JOIN kb_search.entry AS e USING (id) LEFT JOIN summed AS s USING (id)
    ORDER BY e.updated_at DESC, e.id;
END
$$;

-- 5. Comparing -----------------------------------------------------------------------------------------
-- The one place where names are put into SQL: pgvector may live in any schema, or nowhere. An index
-- needs a fixed dimension, so there is one a model, over an expression.

-- An entry with two texts near to the question is nearer than one with a single one: the nearest
-- counts ten thirteenths, the next the rest.
CREATE OR REPLACE FUNCTION kb_search.blended_cosine(cosines real[]) RETURNS real
LANGUAGE sql IMMUTABLE PARALLEL SAFE -- highest first; not strict, so that it is inlined
RETURN ((cosines[1] + 0.3 * coalesce(cosines[2], cosines[1])) / 1.3)::real;

DO $do$
DECLARE
    ext record;
    named text;
    settings text := '';
BEGIN
    SELECT quote_ident(n.nspname) AS schema, string_to_array(e.extversion, '.')::integer[] AS version INTO ext
    FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
    WHERE e.extname = 'vector';

    IF ext.schema IS NULL THEN
        CREATE OR REPLACE FUNCTION kb_search.vector_index_command(of_model text, of_dimension integer)
        RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN NULL::text;

        CREATE OR REPLACE FUNCTION kb_search.cosine(a real[], b real[]) RETURNS real
        LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
        AS 'SELECT sum(u.x * u.y)::real FROM unnest(a, b) AS u (x, y)';

        -- exact, up to 6,000 vectors: more would take too long
        CREATE OR REPLACE FUNCTION kb_search.nearest_entries(
            in_collection text, of_model text, of_dimension integer, question real[], alias_excess real,
            in_section text, with_tags text[], with_metadata jsonb, of_documents bigint[], most integer
        ) RETURNS TABLE (entry_id bigint, cosine real)
        LANGUAGE sql STABLE PARALLEL SAFE
        AS $body$
            SELECT n.entry_id, kb_search.blended_cosine(array_agg(n.cosine ORDER BY n.cosine DESC)) AS cosine
            FROM (
                SELECT v.entry_id, (kb_search.cosine(v.numbers, question)
                    - CASE v.part WHEN 'alias' THEN alias_excess ELSE 0 END)::real AS cosine
                FROM kb_search.embedding AS v
                JOIN kb_search.entry AS e ON e.id = v.entry_id AND e.collection = v.collection
                WHERE v.collection = in_collection AND v.model = of_model
                    AND array_length(v.numbers, 1) = of_dimension
                    AND (in_section IS NULL OR e.section = in_section)
                    AND (with_tags IS NULL OR e.tags @> with_tags)
                    AND (with_metadata IS NULL OR e.metadata @> with_metadata)
                    AND (of_documents IS NULL OR e.document_id = ANY (of_documents))
                    AND (SELECT count(*) FROM (
                        SELECT FROM kb_search.embedding AS w
                        WHERE w.collection = in_collection AND w.model = of_model LIMIT 6001) AS few) <= 6000
            ) AS n
            GROUP BY n.entry_id
            ORDER BY 2 DESC, 1
            LIMIT most
        $body$;
        RETURN;
    END IF;

    EXECUTE format($sql$
        CREATE OR REPLACE FUNCTION kb_search.cosine(a real[], b real[]) RETURNS real
        LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
        RETURN (-(a::%1$s.vector OPERATOR(%1$s.<#>) b::%1$s.vector))::real $sql$, ext.schema);

    -- HNSW came with 0.5, going on where a filter takes rows away with 0.8
    EXECUTE format('SELECT ''[1]''::%s.vector', ext.schema);
    IF ext.version >= ARRAY[0, 5] THEN
        settings := 'SET hnsw.ef_search = 64';
    END IF;
    IF ext.version >= ARRAY[0, 8] THEN
        settings := settings || ' SET hnsw.iterative_scan = strict_order';
    END IF;
    -- The command that makes the index of a model, null where there can be none. It is run on its
    -- own, since CONCURRENTLY allows neither a function nor a transaction round it.
    EXECUTE format($sql$
        CREATE OR REPLACE FUNCTION kb_search.vector_index_command(of_model text, of_dimension integer)
        RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
        RETURN CASE WHEN %2$L AND of_dimension <= 2000 THEN pg_catalog.format(
            'CREATE INDEX CONCURRENTLY IF NOT EXISTS %%I ON kb_search.embedding'
            ' USING hnsw ((numbers::%1$s.vector(%%s)) %1$s.vector_cosine_ops)'
            ' WITH (m = 16, ef_construction = 100) WHERE model = %%L',
            'vector_near_' || pg_catalog.left(pg_catalog.md5(of_model), 16), of_dimension, of_model) END
        $sql$, ext.schema, ext.version >= ARRAY[0, 5]);

    -- Up to 2,000 vectors of a collection are compared one by one: exact, and faster than an index
    -- shared with others. Where an index is wanted and not there yet, the plan is exact too; where
    -- it is there it is used (no sort), since the planner takes distances for cheap.
    EXECUTE format($sql$
        CREATE OR REPLACE FUNCTION kb_search.nearest_entries(
            in_collection text, of_model text, of_dimension integer, question real[], alias_excess real,
            in_section text, with_tags text[], with_metadata jsonb, of_documents bigint[], most integer
        ) RETURNS TABLE (entry_id bigint, cosine real)
        LANGUAGE plpgsql STABLE PARALLEL SAFE %2$s SET enable_sort = off
        AS $body$
        #variable_conflict use_column
        DECLARE
            filtered constant boolean := in_section IS NOT NULL OR with_tags IS NOT NULL
                OR with_metadata IS NOT NULL OR of_documents IS NOT NULL;
            asked constant %1$s.vector := question::%1$s.vector;
        BEGIN
            IF (SELECT count(*) FROM (
                SELECT FROM kb_search.embedding AS w
                WHERE w.collection = in_collection AND w.model = of_model LIMIT 2001) AS few) <= 2000
            THEN
                RETURN QUERY
                SELECT n.entry_id, kb_search.blended_cosine(array_agg(n.cosine ORDER BY n.cosine DESC)) AS cosine
                FROM (
                    SELECT v.entry_id, (-(v.numbers::%1$s.vector OPERATOR(%1$s.<#>) asked)
                        - CASE v.part WHEN 'alias' THEN alias_excess ELSE 0 END)::real AS cosine
                    FROM kb_search.embedding AS v
                    WHERE v.collection = in_collection AND v.model = of_model
                        AND array_length(v.numbers, 1) = of_dimension
                        AND (NOT filtered OR EXISTS (
                            SELECT FROM kb_search.entry AS e WHERE e.id = v.entry_id
                                AND (in_section IS NULL OR e.section = in_section)
                                AND (with_tags IS NULL OR e.tags @> with_tags)
                                AND (with_metadata IS NULL OR e.metadata @> with_metadata)
                                AND (of_documents IS NULL OR e.document_id = ANY (of_documents))))
                ) AS n
                GROUP BY n.entry_id
                ORDER BY 2 DESC, 1
                LIMIT most;
                RETURN;
            END IF;
            RETURN QUERY EXECUTE format($query$
                SELECT c.entry_id, c.cosine
                FROM kb_search.entry_cosines(ARRAY(
                    SELECT DISTINCT n.entry_id FROM (
                        SELECT v.entry_id FROM kb_search.embedding AS v
                        WHERE v.model = %%2$L AND v.collection = $2
                            AND ($6 OR EXISTS (
                                SELECT FROM kb_search.entry AS e WHERE e.id = v.entry_id
                                    AND ($3 IS NULL OR e.section = $3)
                                    AND ($4 IS NULL OR e.tags @> $4)
                                    AND ($5 IS NULL OR e.metadata @> $5)
                                    AND ($7 IS NULL OR e.document_id = ANY ($7))))
                        ORDER BY v.numbers::%1$s.vector(%%1$s) OPERATOR(%1$s.<=>) $1::%1$s.vector(%%1$s)
                        LIMIT %%3$s
                    ) AS n), %%2$L, %%1$s, $1, $8) AS c
                ORDER BY c.cosine DESC, c.entry_id LIMIT %%4$s
            $query$, of_dimension, of_model, most * 3 / 2, most)
            USING question, in_collection, in_section, with_tags, with_metadata, NOT filtered, of_documents, alias_excess;
        END
        $body$ $sql$, ext.schema, settings);
END
$do$;

CREATE OR REPLACE FUNCTION kb_search.entry_cosines(
    of_entries bigint[], of_model text, of_dimension integer, question real[], alias_excess real
) RETURNS TABLE (entry_id bigint, cosine real)
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT n.entry_id, kb_search.blended_cosine(array_agg(n.cosine ORDER BY n.cosine DESC))
    FROM (
        SELECT v.entry_id, (kb_search.cosine(v.numbers, question)
            - CASE v.part WHEN 'alias' THEN alias_excess ELSE 0 END)::real AS cosine
        FROM kb_search.embedding AS v
        WHERE v.entry_id = ANY (of_entries) AND v.model = of_model AND array_length(v.numbers, 1) = of_dimension
    ) AS n
    GROUP BY n.entry_id
$$;

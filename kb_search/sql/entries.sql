-- write_entries --
-- Adds entries, updates those that differ, leaves equal ones untouched. An entry with a title is
-- known by its section and title, one without by all that it holds.
-- $1 text: collection · $2 jsonb: array of objects (section, title, content, aliases, tags,
--   metadata, source), no natural key twice
-- A row an entry: nr (bigint, from 1: its place in the array), id (bigint), outcome (text): added,
--   updated or unchanged. An equal entry that another transaction added meanwhile has no row.
WITH given AS MATERIALIZED (
    SELECT r.* FROM ROWS FROM (jsonb_to_recordset($2::jsonb) AS (
        section text, title text, content text, aliases text[], tags text[], metadata jsonb, source text
    )) WITH ORDINALITY AS r (section, title, content, aliases, tags, metadata, source, nr)
), there AS MATERIALIZED (
    SELECT g.nr, e.id
    FROM given AS g JOIN kb_search.entry AS e
        ON e.collection = $1::text AND md5(e.section) = md5(g.section) AND md5(e.title) = md5(g.title)
        AND e.title <> '' AND e.document_id IS NULL
    UNION ALL
    SELECT g.nr, min(e.id)
    FROM given AS g JOIN kb_search.entry AS e
        ON e.collection = $1::text AND md5(e.content) = md5(g.content) AND e.title = '' AND e.document_id IS NULL
        AND e.section = g.section AND e.source IS NOT DISTINCT FROM g.source
        AND (e.aliases, e.tags, e.metadata) = (g.aliases, g.tags, g.metadata)
    WHERE g.title = ''
    GROUP BY g.nr
), written AS (
    INSERT INTO kb_search.entry AS e (collection, section, title, content, aliases, tags, metadata, source)
    SELECT $1::text, g.section, g.title, g.content, g.aliases, g.tags, g.metadata, g.source
    FROM given AS g
    WHERE g.title <> '' OR g.nr NOT IN (SELECT t.nr FROM there AS t)
    ORDER BY g.nr
    ON CONFLICT (collection, md5(section), md5(title)) WHERE title <> '' AND document_id IS NULL
    DO UPDATE SET content = excluded.content, aliases = excluded.aliases, tags = excluded.tags,
        metadata = excluded.metadata, source = excluded.source
    WHERE (e.content, e.aliases, e.tags, e.metadata, e.source) IS DISTINCT FROM
        (excluded.content, excluded.aliases, excluded.tags, excluded.metadata, excluded.source)
    RETURNING e.id, e.section, e.title, e.content, e.source
), titled AS (
    SELECT g.nr, w.id FROM given AS g JOIN written AS w
        ON g.title <> '' AND w.title = g.title AND w.section = g.section
), untitled AS (
    -- equal texts are interchangeable: paired by their order
    SELECT g.nr, w.id FROM (
        SELECT nr, section, content, source,
            row_number() OVER (PARTITION BY section, content, source ORDER BY nr) AS copy
        FROM given WHERE title = '' AND nr NOT IN (SELECT nr FROM there)
    ) AS g JOIN (
        SELECT id, section, content, source,
            row_number() OVER (PARTITION BY section, content, source ORDER BY id) AS copy
        FROM written WHERE title = ''
    ) AS w ON w.section = g.section AND w.content = g.content AND w.copy = g.copy
        AND w.source IS NOT DISTINCT FROM g.source
)
SELECT g.nr, coalesce(n.id, u.id, t.id) AS id,
    CASE WHEN coalesce(n.id, u.id) IS NULL THEN 'unchanged'
        WHEN t.id IS NULL THEN 'added' ELSE 'updated' END AS outcome
FROM given AS g
LEFT JOIN there AS t USING (nr)
LEFT JOIN titled AS n USING (nr)
LEFT JOIN untitled AS u USING (nr)
WHERE coalesce(n.id, u.id, t.id) IS NOT NULL
ORDER BY g.nr;

-- entry_of_key --
-- The curated entry of a natural key.
-- $1 text: collection · $2 text: section · $3 text: title
SELECT e.id FROM kb_search.entry AS e
WHERE e.collection = $1::text AND md5(e.section) = md5($2::text) AND md5(e.title) = md5($3::text)
    AND e.title <> '' AND e.document_id IS NULL;

-- entry_by_id --
-- $1 bigint: id
SELECT e.id, e.collection, e.section, e.title, e.content, e.aliases, e.tags, e.metadata, e.source,
    e.document_id, e.heading_path, e.position, e.updated_at
FROM kb_search.entry AS e WHERE e.id = $1::bigint;

-- listed_entries --
-- A page of entries, by id.
-- $1 text: collection · $2 text: section or null · $3 bigint: after this id · $4 integer: rows
SELECT e.id, e.collection, e.section, e.title, e.content, e.aliases, e.tags, e.metadata, e.source,
    e.document_id, e.heading_path, e.position, e.updated_at
FROM kb_search.entry AS e
WHERE e.collection = $1::text AND ($2::text IS NULL OR e.section = $2::text) AND e.id > $3::bigint
ORDER BY e.id LIMIT $4::integer;

-- remove_entries --
-- Removes the entries that meet every condition that is not null, and documents that lose all
-- their entries stay. One row: removed (bigint).
-- $1 text: collection or null · $2 bigint[]: ids or null · $3 text: section or null
-- $4 bigint: document or null
WITH gone AS (
    DELETE FROM kb_search.entry AS e
    WHERE ($1::text IS NULL OR e.collection = $1::text)
        AND ($2::bigint[] IS NULL OR e.id = ANY ($2::bigint[]))
        AND ($3::text IS NULL OR e.section = $3::text)
        AND ($4::bigint IS NULL OR e.document_id = $4::bigint)
    RETURNING 1
)
SELECT count(*) AS removed FROM gone;

-- remove_documents --
-- Removes documents, and their sections by the foreign key.
-- $1 text: collection or null · $2 bigint: document or null
DELETE FROM kb_search.document AS d
WHERE ($1::text IS NULL OR d.collection = $1::text) AND ($2::bigint IS NULL OR d.id = $2::bigint);

-- collection_stats --
-- A row a collection, by name.
-- $1 text: collection, or null for all
-- sections (jsonb): {section: curated entries}, those of documents left out
SELECT e.collection, sum(e.n)::bigint AS entries,
    coalesce(jsonb_object_agg(e.section, e.n) FILTER (WHERE NOT e.of_documents), '{}') AS sections,
    (SELECT count(*) FROM kb_search.document AS d WHERE d.collection = e.collection) AS documents,
    sum(e.content_words)::bigint AS content_words,
    (SELECT count(*) FROM (SELECT FROM kb_search.stem_count AS c WHERE c.collection = e.collection
        GROUP BY c.stem HAVING sum(c.entries) > 0) AS s) AS stems,
    (SELECT count(*) FROM (SELECT FROM kb_search.word_count AS c WHERE c.collection = e.collection
        GROUP BY c.word HAVING sum(c.entries) > 0) AS s) AS words,
    (SELECT count(*) FROM kb_search.synonym AS s WHERE s.collection = e.collection) AS synonyms,
    max(e.updated_at) AS updated_at
FROM (
    SELECT collection, CASE WHEN document_id IS NULL THEN section ELSE '' END AS section,
        document_id IS NOT NULL AS of_documents,
        count(*) AS n, sum(content_words) AS content_words, max(updated_at) AS updated_at
    FROM kb_search.entry WHERE $1::text IS NULL OR collection = $1::text
    GROUP BY 1, 2, 3
) AS e
GROUP BY e.collection ORDER BY e.collection;

-- add_synonym --
-- $1 text: collection · $2 text: phrase · $3 text: synonym · $4 boolean: both ways
-- One row as stored; no row where one side has no word.
INSERT INTO kb_search.synonym AS s (collection, phrase, synonym, both_ways)
SELECT $1::text, p.phrase, p.synonym, $4::boolean
FROM (SELECT kb_search.words_of($2::text), kb_search.words_of($3::text)) AS p (phrase, synonym)
WHERE p.phrase <> '' AND p.synonym <> '' AND p.phrase <> p.synonym
ON CONFLICT (collection, phrase, synonym) DO UPDATE SET both_ways = excluded.both_ways
RETURNING s.collection, s.phrase, s.synonym, s.both_ways;

-- remove_synonym --
-- $1 text: collection · $2 text: phrase · $3 text: synonym. One row: removed (bigint).
WITH gone AS (
    DELETE FROM kb_search.synonym AS s
    WHERE s.collection = $1::text AND (
        (s.phrase = kb_search.words_of($2::text) AND s.synonym = kb_search.words_of($3::text))
        OR (s.both_ways AND s.phrase = kb_search.words_of($3::text) AND s.synonym = kb_search.words_of($2::text)))
    RETURNING 1
)
SELECT count(*) AS removed FROM gone;

-- listed_synonyms --
-- $1 text: collection
SELECT s.collection, s.phrase, s.synonym, s.both_ways
FROM kb_search.synonym AS s WHERE s.collection = $1::text ORDER BY s.phrase, s.synonym;

-- known_documents --
-- What is kept of each file of a collection.
-- $1 text: collection
SELECT d.id, d.source, d.path, d.sha256, d.reading
FROM kb_search.document AS d WHERE d.collection = $1::text;

-- lock_document --
-- Held to the end of the transaction: two runs keep a file one after the other.
-- $1 text: collection · $2 text: path of the file below the folder that was given
SELECT pg_advisory_xact_lock(hashtext('kb_search.document=' || $1::text), hashtext($2::text));

-- kept_documents --
-- The documents that a file may be: of its path, of its source, or of its digest; by id, locked.
-- $1 text: collection · $2 text: path · $3 text: source · $4 text: sha256
SELECT d.id, d.source, d.path, d.sha256, d.reading, d.tagging, d.tagged
FROM kb_search.document AS d
WHERE (d.collection = $1::text AND md5(d.path) = md5($2::text))
    OR (d.collection = $1::text AND md5(d.source) = md5($3::text))
    OR (d.collection = $1::text AND d.sha256 = $4::text)
ORDER BY d.id
FOR UPDATE;

-- taken_sources --
-- Which of the names documents of the collection have already. Column: source (text).
-- $1 text: collection · $2 text[]: names · $3 bigint: a document that does not count, or null
SELECT d.source FROM kb_search.document AS d
WHERE d.collection = $1::text AND d.source = ANY ($2::text[]) AND d.id IS DISTINCT FROM $3::bigint
    AND md5(d.source) IN (SELECT md5(n.name) FROM unnest($2::text[]) AS n (name));

-- relocate_documents --
-- Files that were read at another place before.
-- $1 text: collection · $2 bigint[]: documents · $3 text[]: where they are now
UPDATE kb_search.document AS d SET path = r.path
FROM unnest($2::bigint[], $3::text[]) AS r (id, path)
WHERE d.id = r.id AND d.collection = $1::text;

-- add_document --
-- $1 text: collection · $2 jsonb: source, path, title, sha256, mime, tags, summary, metadata,
--   outline, described, reading, tagging, tagged
-- One row: id (bigint).
INSERT INTO kb_search.document (
    collection, source, path, title, sha256, mime, tags, summary, metadata, outline, described, reading, tagging,
    tagged)
SELECT $1::text, r.source, r.path, r.title, r.sha256, r.mime, r.tags, r.summary, r.metadata, r.outline,
    r.described, r.reading, r.tagging, r.tagged
FROM jsonb_to_record($2::jsonb) AS r (
    source text, path text, title text, sha256 text, mime text, tags text[], summary text, metadata jsonb,
    outline jsonb, described jsonb, reading text, tagging jsonb, tagged boolean)
RETURNING id;

-- replace_document --
-- $1 bigint: document · $2 jsonb: as add_document
UPDATE kb_search.document AS d SET
    source = r.source, path = r.path, title = r.title, sha256 = r.sha256, mime = r.mime, tags = r.tags,
    summary = r.summary, metadata = r.metadata, outline = r.outline, described = r.described,
    reading = r.reading, tagging = r.tagging, tagged = r.tagged, updated_at = now()
FROM jsonb_to_record($2::jsonb) AS r (
    source text, path text, title text, sha256 text, mime text, tags text[], summary text, metadata jsonb,
    outline jsonb, described jsonb, reading text, tagging jsonb, tagged boolean)
WHERE d.id = $1::bigint;

-- kept_sections --
-- The sections of a document without their texts, by position.
-- $1 bigint: document
-- digest (text): the md5 of the content
SELECT e.id, md5(e.content) AS digest, e.section, e.title, e.aliases, e.tags, e.metadata, e.source,
    e.heading_path, e.position
FROM kb_search.entry AS e WHERE e.document_id = $1::bigint ORDER BY e.position, e.id;

-- drop_sections --
-- $1 bigint: document · $2 bigint[]: ids
DELETE FROM kb_search.entry AS e WHERE e.document_id = $1::bigint AND e.id = ANY ($2::bigint[]);

-- replace_sections --
-- $1 bigint: document · $2 json: [{id, section, title, content, aliases, tags, metadata, source,
--   heading_path, position}]; content null where it stays
UPDATE kb_search.entry AS e SET
    section = r.section, title = r.title, content = coalesce(r.content, e.content), aliases = r.aliases,
    tags = r.tags, metadata = r.metadata, source = r.source, heading_path = r.heading_path,
    position = r.position
FROM json_to_recordset($2::json) AS r (
    id bigint, section text, title text, content text, aliases text[], tags text[], metadata jsonb,
    source text, heading_path text[], position integer)
WHERE e.id = r.id AND e.document_id = $1::bigint;

-- add_sections --
-- $1 text: collection · $2 bigint: document · $3 json: as replace_sections, without id
INSERT INTO kb_search.entry (
    collection, document_id, section, title, content, aliases, tags, metadata, source, heading_path, position)
SELECT $1::text, $2::bigint, r.section, r.title, r.content, r.aliases, r.tags, r.metadata, r.source,
    r.heading_path, r.position
FROM json_to_recordset($3::json) AS r (
    section text, title text, content text, aliases text[], tags text[], metadata jsonb,
    source text, heading_path text[], position integer);

-- forget_documents --
-- Removes documents whose files are gone, with their sections; one that moved meanwhile stays.
-- $1 text: collection · $2 bigint[]: documents · $3 text[]: the paths that are gone
-- A row each that was removed: id (bigint).
DELETE FROM kb_search.document AS d
USING unnest($2::bigint[], $3::text[]) AS r (id, path)
WHERE d.id = r.id AND d.path = r.path AND d.collection = $1::text
RETURNING d.id;

-- document_by_id --
-- $1 bigint: document
-- sections, content_words (bigint): the size of it; outline (jsonb) as in the table
SELECT d.id, d.collection, d.source, d.path, d.title, d.sha256, d.mime, d.tags, d.summary, d.metadata,
    d.tagged, d.updated_at, d.outline, s.sections, s.content_words
FROM kb_search.document AS d CROSS JOIN LATERAL (
    SELECT count(*) AS sections, coalesce(sum(e.content_words), 0)::bigint AS content_words
    FROM kb_search.entry AS e WHERE e.document_id = d.id
) AS s
WHERE d.id = $1::bigint;

-- document_sections --
-- The sections of a document whole, by position.
-- $1 bigint: document
SELECT e.id, e.collection, e.section, e.title, e.content, e.aliases, e.tags, e.metadata, e.source,
    e.document_id, e.heading_path, e.position, e.updated_at
FROM kb_search.entry AS e WHERE e.document_id = $1::bigint ORDER BY e.position, e.id;

-- section_and_neighbours --
-- A section of a document with those before and after it, by position. No row for an entry of no
-- document.
-- $1 bigint: entry · $2 integer: how many on each side
-- side (integer): -1 before, 0 the section itself, 1 after
WITH here AS (
    SELECT e.* FROM kb_search.entry AS e WHERE e.id = $1::bigint AND e.document_id IS NOT NULL
), around AS (
    SELECT h.id, 0 AS side FROM here AS h
    UNION ALL
    SELECT b.id, -1 FROM here AS h CROSS JOIN LATERAL (
        SELECT e.id FROM kb_search.entry AS e
        WHERE e.document_id = h.document_id AND e.position < h.position
        ORDER BY e.position DESC LIMIT $2::integer) AS b
    UNION ALL
    SELECT a.id, 1 FROM here AS h CROSS JOIN LATERAL (
        SELECT e.id FROM kb_search.entry AS e
        WHERE e.document_id = h.document_id AND e.position > h.position
        ORDER BY e.position LIMIT $2::integer) AS a
)
SELECT e.id, e.collection, e.section, e.title, e.content, e.aliases, e.tags, e.metadata, e.source,
    e.document_id, e.heading_path, e.position, e.updated_at, a.side
FROM around AS a JOIN kb_search.entry AS e USING (id)
ORDER BY e.position;

-- described_operation --
-- What an API description says of one operation, and what its references lead to.
-- $1 bigint: document · $2 text: "METHOD /path"
-- operation, shared (jsonb)
SELECT d.described -> 'operations' -> $2::text AS operation, d.described -> 'shared' AS shared
FROM kb_search.document AS d WHERE d.id = $1::bigint AND d.described -> 'operations' ? $2::text;

-- listed_documents --
-- A page of documents, by id.
-- $1 text: collection · $2 text[]: tags, all of them, or null · $3 text: mime or null
-- $4 text: source, or a folder that it lies in, or null · $5 text: words of its title, all of them
--   (words_of), or null · $6 boolean: whether it has been tagged, or null
-- $7 bigint: after this id · $8 integer: rows
-- Columns: as document_by_id, without outline
SELECT d.id, d.collection, d.source, d.path, d.title, d.sha256, d.mime, d.tags, d.summary, d.metadata,
    d.tagged, d.updated_at, s.sections, s.content_words
FROM kb_search.document AS d CROSS JOIN LATERAL (
    SELECT count(*) AS sections, coalesce(sum(e.content_words), 0)::bigint AS content_words
    FROM kb_search.entry AS e WHERE e.document_id = d.id
) AS s
WHERE d.collection = $1::text
    AND ($2::text[] IS NULL OR d.tags @> $2::text[])
    AND ($3::text IS NULL OR d.mime = $3::text)
    AND ($4::text IS NULL OR d.source = $4::text OR starts_with(d.source, rtrim($4::text, '/') || '/'))
    AND ($5::text IS NULL OR string_to_array(kb_search.words_of(d.title), ' ')
        @> string_to_array(kb_search.words_of($5::text), ' '))
    AND ($6::boolean IS NULL OR d.tagged = $6::boolean)
    AND d.id > $7::bigint
ORDER BY d.id LIMIT $8::integer;

-- api_descriptions --
-- The documents of a collection that describe an API, by id.
-- $1 text: collection
-- Columns: as listed_documents
SELECT d.id, d.collection, d.source, d.path, d.title, d.sha256, d.mime, d.tags, d.summary, d.metadata,
    d.tagged, d.updated_at, s.sections, s.content_words
FROM kb_search.document AS d CROSS JOIN LATERAL (
    SELECT count(*) AS sections, coalesce(sum(e.content_words), 0)::bigint AS content_words
    FROM kb_search.entry AS e WHERE e.document_id = d.id
) AS s
WHERE d.collection = $1::text AND d.described IS NOT NULL
ORDER BY d.id;

-- corpus_size --
-- The documents of a collection in numbers. One row: documents, sections, content_words, untagged
-- (bigint), mimes (jsonb: {mime: documents}), tags (jsonb: {tag: documents}, the $2 most frequent),
-- updated_at (timestamptz or null).
-- $1 text: collection · $2 integer: most tags
SELECT count(*) AS documents,
    count(*) FILTER (WHERE NOT d.tagged) AS untagged,
    max(d.updated_at) AS updated_at,
    (SELECT count(*) FROM kb_search.entry AS e
        WHERE e.collection = $1::text AND e.document_id IS NOT NULL) AS sections,
    (SELECT coalesce(sum(e.content_words), 0)::bigint FROM kb_search.entry AS e
        WHERE e.collection = $1::text AND e.document_id IS NOT NULL) AS content_words,
    (SELECT coalesce(jsonb_object_agg(m.mime, m.n), '{}') FROM (
        SELECT mime, count(*) AS n FROM kb_search.document
        WHERE collection = $1::text GROUP BY mime) AS m) AS mimes,
    (SELECT coalesce(jsonb_object_agg(t.tag, t.n), '{}') FROM (
        SELECT tag, count(*) AS n FROM kb_search.document CROSS JOIN unnest(tags) AS u (tag)
        WHERE collection = $1::text GROUP BY tag ORDER BY n DESC, tag LIMIT $2::integer) AS t) AS tags
FROM kb_search.document AS d WHERE d.collection = $1::text;

-- untagged_documents --
-- Documents that wait for a model's tags, by id.
-- $1 text: collection · $2 bigint: after this id · $3 integer: rows
SELECT d.id, d.path, d.title, d.sha256 FROM kb_search.document AS d
WHERE d.collection = $1::text AND NOT d.tagged AND d.id > $2::bigint
ORDER BY d.id LIMIT $3::integer;

-- document_opening --
-- The first sections of a document, each with the start of its text.
-- $1 bigint: document · $2 integer: sections · $3 integer: characters of each
SELECT e.heading_path, left(e.content, $3::integer) AS content
FROM kb_search.entry AS e WHERE e.document_id = $1::bigint ORDER BY e.position LIMIT $2::integer;

-- document_for_tagging --
-- What is said of a document, locked; no row where its file changed meanwhile.
-- $1 bigint: document · $2 text: its sha256
SELECT d.tags, d.summary, d.tagging FROM kb_search.document AS d
WHERE d.id = $1::bigint AND d.sha256 = $2::text
FOR UPDATE;

-- tag_document --
-- $1 bigint: document · $2 text[]: tags · $3 text: summary or null
-- $4 jsonb: what a model said: {model, tags, summary}
UPDATE kb_search.document AS d SET tags = $2::text[], summary = $3::text, tagging = $4::jsonb, tagged = true,
    updated_at = now()
WHERE d.id = $1::bigint;

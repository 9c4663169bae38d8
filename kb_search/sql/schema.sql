-- lock_schema --
-- Held to the end of the transaction, so that several processes may apply the schema at once.
SELECT pg_advisory_xact_lock(hashtext('kb_search'), hashtext('schema'));

-- schema_is_there --
-- One row: there (boolean).
SELECT to_regclass('kb_search.meta') IS NOT NULL AS there;

-- applied_digest --
-- The digest of the schema and the word lists that were applied last, if any. Column: value (text).
SELECT m.value FROM kb_search.meta AS m WHERE m.key = 'applied';

-- remember_digest --
-- $1 text: digest
INSERT INTO kb_search.meta (key, value) VALUES ('applied', $1::text)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- load_word_lists --
-- Replaces the lexicon of general Spanish where it differs.
-- $1 text[]: words · $2 real[]: their shares (0..1; 0: only known to be a word)
WITH given AS MATERIALIZED (
    SELECT kb_search.words_of(g.word) AS word, max(g.share) AS share
    FROM unnest($1::text[], $2::real[]) AS g (word, share)
    GROUP BY 1
), listed AS MATERIALIZED (
    SELECT array_agg(word ORDER BY word) AS words, array_agg(share ORDER BY word) AS shares
    FROM given WHERE word <> '' AND word !~ ' '
), made AS MATERIALIZED (
    SELECT u.word, u.stem, u.share
    FROM listed CROSS JOIN LATERAL unnest(listed.words, kb_search.stems_of(listed.words), listed.shares)
        AS u (word, stem, share)
), gone AS (
    DELETE FROM kb_search.spanish_word AS w WHERE NOT EXISTS (SELECT FROM made AS m WHERE m.word = w.word)
)
INSERT INTO kb_search.spanish_word AS w (word, stem, share)
SELECT m.word, m.stem, m.share FROM made AS m
ON CONFLICT (word) DO UPDATE SET stem = excluded.stem, share = excluded.share
WHERE (w.stem, w.share) IS DISTINCT FROM (excluded.stem, excluded.share);

-- schema_facts --
-- What the doctor looks at. One row: server_version, schema_version, made_by (text: the analysis
-- that made the data), made_now (text: the one that would), folds (boolean: lower('Ñ') is right),
-- encoding (text), read_only (boolean), spanish_words (bigint), too_long (bigint: entries of which
-- about the first 250,000 bytes are indexed).
SELECT current_setting('server_version') AS server_version,
    (SELECT m.value FROM kb_search.meta AS m WHERE m.key = 'schema_version') AS schema_version,
    (SELECT m.value FROM kb_search.meta AS m WHERE m.key = 'analysis') AS made_by,
    kb_search.analysis_fingerprint() AS made_now,
    lower('Ñ') = 'ñ' AS folds,
    current_setting('server_encoding') AS encoding,
    pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS read_only,
    (SELECT count(*) FROM kb_search.spanish_word) AS spanish_words,
    (SELECT count(*) FROM kb_search.entry AS e WHERE octet_length(e.content) > 250000) AS too_long;

-- miscounted --
-- Collections whose frequencies differ from a recount. Columns: collection (text), stems (bigint),
-- words (bigint), entries (bigint): how many of each are counted wrongly.
WITH stem AS (
    SELECT collection, stem FROM (
        SELECT c.collection, c.stem, c.entries FROM kb_search.stem_count AS c
        UNION ALL
        SELECT e.collection, s.stem, -1 FROM kb_search.entry AS e
        CROSS JOIN unnest(tsvector_to_array(e.stems)) AS s (stem)
        WHERE s.stem <> kb_search.collection_lexeme(e.collection)
    ) AS c GROUP BY collection, stem HAVING sum(entries) <> 0
), word AS (
    SELECT collection, word FROM (
        SELECT c.collection, c.word, c.entries FROM kb_search.word_count AS c
        UNION ALL
        SELECT e.collection, w.word, -1 FROM kb_search.entry AS e
        CROSS JOIN unnest(tsvector_to_array(e.words)) AS w (word)
    ) AS c GROUP BY collection, word HAVING sum(entries) <> 0
), entry AS (
    SELECT collection FROM (
        SELECT c.collection, c.entries, c.content_words FROM kb_search.entry_count AS c
        UNION ALL
        SELECT e.collection, -1, -e.content_words FROM kb_search.entry AS e
    ) AS c GROUP BY collection HAVING sum(entries) <> 0 OR sum(content_words) <> 0
)
SELECT collection,
    count(*) FILTER (WHERE kind = 'stem') AS stems,
    count(*) FILTER (WHERE kind = 'word') AS words,
    count(*) FILTER (WHERE kind = 'entry') AS entries
FROM (
    SELECT collection, 'stem' FROM stem UNION ALL
    SELECT collection, 'word' FROM word UNION ALL
    SELECT collection, 'entry' FROM entry
) AS c (collection, kind)
GROUP BY collection ORDER BY collection;

-- derive_entries --
-- Makes the vectors of entries again. $1 text: collection or null for all. One row: entries (bigint).
WITH made AS (
    UPDATE kb_search.entry SET collection = collection
    WHERE $1::text IS NULL OR collection = $1::text
    RETURNING 1
)
SELECT count(*) AS entries FROM made;

-- lock_entries --
-- No writer changes entries while they are counted again; readers go on.
LOCK TABLE kb_search.entry IN SHARE ROW EXCLUSIVE MODE;

-- forget_entry_counts --
-- $1 text: collection or null for all
DELETE FROM kb_search.entry_count WHERE $1::text IS NULL OR collection = $1::text;

-- forget_stem_counts --
-- $1 text: collection or null for all
DELETE FROM kb_search.stem_count WHERE $1::text IS NULL OR collection = $1::text;

-- forget_word_counts --
-- $1 text: collection or null for all
DELETE FROM kb_search.word_count WHERE $1::text IS NULL OR collection = $1::text;

-- recount_entries --
-- $1 text: collection or null for all
INSERT INTO kb_search.entry_count (collection, entries, content_words, folded)
SELECT e.collection, count(*), sum(e.content_words), true
FROM kb_search.entry AS e WHERE $1::text IS NULL OR e.collection = $1::text
GROUP BY e.collection;

-- recount_stems --
-- $1 text: collection or null for all
INSERT INTO kb_search.stem_count (collection, stem, entries, folded)
SELECT e.collection, s.stem, count(*), true
FROM kb_search.entry AS e CROSS JOIN unnest(tsvector_to_array(e.stems)) AS s (stem)
WHERE ($1::text IS NULL OR e.collection = $1::text) AND s.stem <> kb_search.collection_lexeme(e.collection)
GROUP BY e.collection, s.stem;

-- recount_words --
-- $1 text: collection or null for all
WITH counted AS MATERIALIZED (
    SELECT e.collection, w.word, count(*) AS entries
    FROM kb_search.entry AS e CROSS JOIN unnest(tsvector_to_array(e.words)) AS w (word)
    WHERE $1::text IS NULL OR e.collection = $1::text
    GROUP BY e.collection, w.word
), listed AS (
    SELECT array_agg(DISTINCT word) AS all_words FROM counted
), analysed AS MATERIALIZED (
    SELECT a.word, a.stem
    FROM listed CROSS JOIN LATERAL unnest(all_words, kb_search.stems_of(all_words)) AS a (word, stem)
)
INSERT INTO kb_search.word_count (collection, word, stem, sound, entries, folded)
SELECT c.collection, c.word, translate(a.stem, 'ñ', 'n'), kb_search.sound(c.word), c.entries, true
FROM counted AS c JOIN analysed AS a USING (word);

-- remember_analysis --
-- Notes that all data are made by the analysis of now. One row: value (text).
INSERT INTO kb_search.meta (key, value) VALUES ('analysis', kb_search.analysis_fingerprint())
ON CONFLICT (key) DO UPDATE SET value = excluded.value
RETURNING value;

-- question_terms --
-- The words of a question as the collection knows them, and the size of the collection.
-- $1 text: collection · $2 text: the question · $3 integer: most different words
-- No row for a question without words; else a row a word, in order:
--   word, stem; stem_entries, word_entries (bigint): entries of the collection that hold them
--   family (text[]): words of the collection with that stem
--   share (real, 0..1): short texts of general Spanish that hold the word; stem_share: the most for
--     a word of its stem, null where general Spanish has none
--   for a stem that the collection lacks: similar (text[]), its words that look or sound alike, best
--     first, with similar_stems (text[]) and similar_entries (bigint[]: entries that hold them);
--     split_words (text[]): the two words that it is when taken apart
--   joined_word (text): this word and the next as one word of the collection, where it has that one
--     and lacks one of the two
--   synonyms (jsonb, the same in each row): [{phrase, word, stem, entries, family}], a row a word
--   total_entries, total_words (bigint): the size of the collection
WITH listed AS MATERIALIZED (
    SELECT w.words, kb_search.stems_of(w.words) AS stems
    FROM (
        SELECT array_agg(d.word ORDER BY d.nr) AS words
        FROM (
            SELECT u.word, min(u.nr) AS nr
            FROM string_to_table(kb_search.words_of($2::text), ' ') WITH ORDINALITY AS u (word, nr)
            WHERE u.word <> ''
            GROUP BY u.word ORDER BY 2 LIMIT $3::integer
        ) AS d
    ) AS w
    WHERE w.words IS NOT NULL
), term AS MATERIALIZED (
    SELECT t.nr, t.word, t.stem, lead(t.word) OVER (ORDER BY t.nr) AS next_word,
        (SELECT coalesce(sum(c.entries), 0)::bigint FROM kb_search.stem_count AS c
            WHERE c.collection = $1::text AND c.stem = t.stem) AS stem_entries,
        (SELECT coalesce(sum(c.entries), 0)::bigint FROM kb_search.word_count AS c
            WHERE c.collection = $1::text AND c.word = t.word) AS word_entries,
        (SELECT array_agg(DISTINCT c.word) FROM kb_search.word_count AS c
            WHERE c.collection = $1::text AND c.stem = translate(t.stem, 'ñ', 'n')) AS family,
        coalesce((SELECT s.share FROM kb_search.spanish_word AS s WHERE s.word = t.word), 0) AS share,
        (SELECT max(s.share) FROM kb_search.spanish_word AS s WHERE s.stem = t.stem) AS stem_share
    FROM listed CROSS JOIN LATERAL unnest(listed.words, listed.stems) WITH ORDINALITY AS t (word, stem, nr)
), lacking AS MATERIALIZED (
    SELECT t.nr, t.word, t.word !~ '\d' AND length(t.word) > 2 AND t.stem_share IS NULL AS slip
    FROM term AS t WHERE t.stem_entries = 0
), alike AS (
    SELECT l.nr, array_agg(w.word) AS words, array_agg(w.stem) AS stems, array_agg(w.entries) AS counts
    FROM lacking AS l CROSS JOIN LATERAL kb_search.similar_words($1::text, l.word, 12) AS w
    WHERE l.slip
    GROUP BY l.nr
), taken_apart AS (
    SELECT DISTINCT ON (l.nr) l.nr, ARRAY[halves.head, halves.tail] AS words
    FROM lacking AS l
    CROSS JOIN LATERAL (
        SELECT left(l.word, cut) AS head, substr(l.word, cut + 1) AS tail
        FROM generate_series(2, length(l.word) - 2) AS c (cut)
    ) AS halves
    WHERE l.slip AND length(l.word) BETWEEN 6 AND 40
        AND EXISTS (SELECT FROM kb_search.word_count AS c
            WHERE c.collection = $1::text AND c.word = halves.head AND c.entries > 0)
        AND EXISTS (SELECT FROM kb_search.word_count AS c
            WHERE c.collection = $1::text AND c.word = halves.tail AND c.entries > 0)
    ORDER BY l.nr, least(length(halves.head), length(halves.tail)) DESC
), joined AS (
    SELECT t.nr, t.word || t.next_word AS word
    FROM term AS t
    WHERE t.next_word IS NOT NULL
        AND (t.nr IN (SELECT l.nr FROM lacking AS l) OR t.nr + 1 IN (SELECT l.nr FROM lacking AS l))
        AND EXISTS (SELECT FROM kb_search.word_count AS c
            WHERE c.collection = $1::text AND c.word = t.word || t.next_word AND c.entries > 0)
), synonym AS (
    SELECT jsonb_agg(jsonb_build_object('phrase', p.phrase, 'word', w.word, 'stem', w.stem,
        'entries', (SELECT coalesce(sum(c.entries), 0) FROM kb_search.stem_count AS c
            WHERE c.collection = $1::text AND c.stem = w.stem),
        'family', (SELECT coalesce(jsonb_agg(DISTINCT c.word), '[]') FROM kb_search.word_count AS c
            WHERE c.collection = $1::text AND c.stem = translate(w.stem, 'ñ', 'n')))) AS pairs
    FROM listed
    CROSS JOIN LATERAL (
        SELECT s.phrase, s.phrase_stems, s.synonym, s.synonym_stems
        FROM kb_search.synonym AS s WHERE s.collection = $1::text
        UNION ALL
        SELECT s.synonym, s.synonym_stems, s.phrase, s.phrase_stems
        FROM kb_search.synonym AS s WHERE s.collection = $1::text AND s.both_ways
    ) AS p
    CROSS JOIN LATERAL unnest(string_to_array(p.synonym, ' '), string_to_array(btrim(p.synonym_stems), ' '))
        AS w (word, stem)
    WHERE position(p.phrase_stems IN ' ' || array_to_string(listed.stems, ' ') || ' ') > 0
)
SELECT t.word, t.stem, t.stem_entries, t.word_entries, t.family, t.share, t.stem_share,
    a.words AS similar, a.stems AS similar_stems, a.counts AS similar_entries,
    h.words AS split_words, j.word AS joined_word, synonym.pairs AS synonyms,
    size.total_entries, size.total_words
FROM term AS t
CROSS JOIN synonym
CROSS JOIN (
    SELECT coalesce(sum(c.entries), 0)::bigint AS total_entries,
        coalesce(sum(c.content_words), 0)::bigint AS total_words
    FROM kb_search.entry_count AS c WHERE c.collection = $1::text
) AS size
LEFT JOIN alike AS a USING (nr)
LEFT JOIN taken_apart AS h USING (nr)
LEFT JOIN joined AS j USING (nr)
ORDER BY t.nr;

-- ranked_entries --
-- The entries that hold any of the words, best first: for each word its weight times how much the
-- entry says it, in its title, aliases and tags on one hand and its content on the other; the
-- better of the two counts whole, the other the part $12 of itself.
-- $1 text: collection · $2 text: words joined by OR, of which a candidate must hold one
-- $3 text[]: words · $4 real[]: the weights of their stems · $5 real[]: of the words themselves
-- $6 text: section or null · $7 text[]: tags, all of them, or null · $8 jsonb: metadata or null
-- $9 real: average words of a content · $10 integer: rows
-- $11 real: weight of the content against the title (0..1) · $12 real (0..1) · $13 real: length norm
-- Columns: id … position of the entry; total (double precision, no unit); needles (integer[], from 1)
--   and parts (double precision[]): the words it holds and what each adds to the total
WITH needle AS MATERIALIZED (
    SELECT n.nr, n.stem_weight, n.word_weight,
        to_tsquery('kb_search.spanish', n.form) AS stem_query,
        to_tsquery('kb_search.words', n.word) AS word_query
    FROM unnest($3::text[], $4::real[], $5::real[],
        string_to_array(kb_search.stem_forms(array_to_string($3::text[], ' ')), ' ')
    ) WITH ORDINALITY AS n (word, stem_weight, word_weight, form, nr)
), candidate AS MATERIALIZED (
    SELECT e.id, e.updated_at,
        e.stems || ''::tsvector AS stems, e.words || ''::tsvector AS words, -- out of the TOAST once
        $11::real / ln(exp(1.0) + $13::real * e.content_words / greatest($9::real, 1)) AS content_weight
    FROM kb_search.entry AS e
    WHERE e.stems @@ ((quote_literal(kb_search.collection_lexeme($1::text)))::tsquery
            && to_tsquery('kb_search.spanish', kb_search.stem_forms($2::text)))
        AND e.collection = $1::text
        AND ($6::text IS NULL OR e.section = $6::text)
        AND ($7::text[] IS NULL OR e.tags @> $7::text[])
        AND ($8::jsonb IS NULL OR e.metadata @> $8::jsonb)
), evidence AS MATERIALIZED (
    SELECT c.id, n.nr,
        n.stem_weight * (greatest(s.title, s.content) + $12::real * least(s.title, s.content))
        + n.word_weight * (greatest(w.title, w.content) + $12::real * least(w.title, w.content)) AS part
    FROM candidate AS c
    JOIN needle AS n ON c.stems @@ n.stem_query
    CROSS JOIN LATERAL (SELECT
        ts_rank('{0, 0.6, 0.8, 1}', c.stems, n.stem_query) AS title,
        ts_rank('{1, 0, 0, 0}', c.stems, n.stem_query) * c.content_weight AS content) AS s
    CROSS JOIN LATERAL (SELECT
        ts_rank('{0, 0.6, 0.8, 1}', c.words, n.word_query) AS title,
        ts_rank('{1, 0, 0, 0}', c.words, n.word_query) * c.content_weight AS content) AS w
), best AS MATERIALIZED (
    SELECT r.*, c.updated_at
    FROM (
        SELECT v.id, sum(v.part) AS total,
            array_agg(v.nr::integer ORDER BY v.nr) AS needles, array_agg(v.part ORDER BY v.nr) AS parts
        FROM evidence AS v GROUP BY v.id
    ) AS r JOIN candidate AS c USING (id)
    WHERE r.total > 0
    ORDER BY r.total DESC, c.updated_at DESC, r.id LIMIT $10::integer
)
SELECT e.id, e.collection, e.section, e.title, e.content, e.aliases, e.tags, e.metadata, e.source,
    e.document_id, e.heading_path, e.position, b.total, b.needles, b.parts
FROM best AS b JOIN kb_search.entry AS e USING (id)
ORDER BY b.total DESC, b.updated_at DESC, b.id;

-- similar_entries --
-- The last resort before the fixed rows: entries whose title or aliases hold something like the
-- whole question.
-- $1 text: collection · $2 text: the question's words · $3 text: section or null
-- $4 text[]: tags or null · $5 jsonb: metadata or null · $6 integer: rows
-- Columns: as ranked_entries up to position; total (real, 0..1): pg_trgm's word_similarity
SELECT e.id, e.collection, e.section, e.title, e.content, e.aliases, e.tags, e.metadata, e.source,
    e.document_id, e.heading_path, e.position, s.similarity AS total
FROM kb_search.similar_entries($1::text, $2::text) AS s
JOIN kb_search.entry AS e USING (id)
WHERE ($3::text IS NULL OR e.section = $3::text)
    AND ($4::text[] IS NULL OR e.tags @> $4::text[])
    AND ($5::jsonb IS NULL OR e.metadata @> $5::jsonb)
ORDER BY s.similarity DESC, e.updated_at DESC, e.id
LIMIT $6::integer;

-- fixed_rows --
-- The rows that an answer can always stand on.
-- $1 text: collection · $2 text[]: their sections · $3 bigint[]: ids to leave out · $4 integer: rows
-- Columns: as ranked_entries up to position.
SELECT e.id, e.collection, e.section, e.title, e.content, e.aliases, e.tags, e.metadata, e.source,
    e.document_id, e.heading_path, e.position
FROM kb_search.entry AS e
WHERE e.collection = $1::text AND e.section = ANY ($2::text[]) AND e.id <> ALL ($3::bigint[])
ORDER BY e.position NULLS LAST, e.id
LIMIT $4::integer;

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
SELECT t.* FROM kb_search.question_terms($1::text, $2::text, $3::integer) AS t;

-- ranked_entries --
-- The entries that hold any of the words, best first: for each word its weight times how much the
-- entry says it, in its title, aliases and tags on one hand and its content on the other; the
-- better of the two counts whole, the other the part $12 of itself.
-- $1 text: collection · $2 text: words joined by OR, of which a candidate must hold one
-- $3 text[]: words · $4 real[]: the weights of their stems · $5 real[]: of the words themselves
-- $6 text: section or null · $7 text[]: tags, all of them, or null · $8 jsonb: metadata or null
-- $9 real: average words of a content · $10 integer: rows
-- $11 real: weight of the content against the title (0..1) · $12 real (0..1) · $13 real: length norm
-- $14 jsonb: null, or what is demanded of every entry: [{wanted: bool, words: text (joined by OR), phrases: [text]}],
--   one of the words or phrases wanted, or none of them
-- $15 bigint[]: documents or null · $16 boolean: one entry of each document at most
-- Columns: id … position of the entry; total (double precision, no unit); needles (integer[], from 1)
--   and parts (double precision[]): the words it holds and what each adds to the total
SELECT r.* FROM kb_search.ranked_entries(
    $1::text, $2::text, $3::text[], $4::real[], $5::real[], $6::text, $7::text[], $8::jsonb, $9::real, $10::integer, $11::real, $12::real, $13::real, $14::jsonb,
    $15::bigint[], $16::boolean) AS r;

-- similar_entries --
-- The last resort before the fixed rows: entries whose title or aliases hold something like the
-- whole question.
-- $1 text: collection · $2 text: the question's words · $3 text: section or null
-- $4 text[]: tags or null · $5 jsonb: metadata or null · $6 integer: rows
-- $7 bigint[]: documents or null · $8 boolean: one entry of each document at most
-- Columns: as ranked_entries up to position; total (real, 0..1): pg_trgm's word_similarity
SELECT e.id, e.collection, e.section, e.title, e.content, e.aliases, e.tags, e.metadata, e.source,
    e.document_id, e.heading_path, e.position, s.similarity AS total
FROM (
    SELECT n.*, row_number() OVER (
        PARTITION BY e.document_id, CASE WHEN e.document_id IS NULL THEN e.id END
        ORDER BY n.similarity DESC, e.updated_at DESC, e.id) AS place_in_document
    FROM kb_search.similar_entries($1::text, $2::text) AS n JOIN kb_search.entry AS e USING (id)
) AS s
JOIN kb_search.entry AS e USING (id)
WHERE (NOT $8::boolean OR s.place_in_document = 1)
    AND ($7::bigint[] IS NULL OR e.document_id = ANY ($7::bigint[]))
    AND ($3::text IS NULL OR e.section = $3::text)
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

-- log_questions --
-- Notes questions that were asked. The words, not the spelling, make two of them the same.
-- $1 jsonb: [{collection, question, layer, confident, confidence}] · $2 boolean: keep the text too
-- A question without words is left out.
INSERT INTO kb_search.question (collection, digest, question, words, layer, confident, confidence)
SELECT r.collection, kb_search.question_digest(r.question), k.question, k.words, r.layer, r.confident, r.confidence
FROM jsonb_to_recordset($1::jsonb)
    AS r (collection text, question text, layer text, confident boolean, confidence real)
LEFT JOIN LATERAL (SELECT r.question, kb_search.words_of(r.question)) AS k (question, words) ON $2::boolean
WHERE kb_search.words_of(r.question) <> '';

-- forget_questions --
-- Drops what is older than it may be. $1 integer: days. One row: forgotten (bigint).
WITH gone AS (
    DELETE FROM kb_search.question WHERE asked_at < now() - make_interval(days => $1::integer) RETURNING 1
)
SELECT count(*) AS forgotten FROM gone;

-- unanswered_questions --
-- Questions that were not answered confidently, those of the same words as one, most asked first.
-- $1 text: collection · $2 integer: days back · $3 integer: rows
-- Columns: digest (text); question, words (text, null where only the digest was kept): the spelling
--   of the last one; times (bigint); confidence (real, 0..1: the highest); last_asked
SELECT q.digest, (array_agg(q.question ORDER BY q.asked_at DESC, q.id DESC))[1] AS question,
    max(q.words) AS words, count(*) AS times, max(q.confidence) AS confidence, max(q.asked_at) AS last_asked
FROM kb_search.question AS q
WHERE q.collection = $1::text AND NOT q.confident AND q.answered_by IS NULL
    AND q.asked_at >= now() - make_interval(days => $2::integer)
GROUP BY q.digest
ORDER BY times DESC, last_asked DESC, q.digest
LIMIT $3::integer;

-- alike_questions --
-- Which of these questions ask nearly the same.
-- $1 text[]: their words (words_of)
-- Columns: one, other (integer): places in the array, from 1, one < other
SELECT a.one, a.other FROM kb_search.alike_questions($1::text[]) AS a;

-- add_alias --
-- Adds another way to ask for an entry, unless it has that one. $1 bigint: id · $2 text: alias
UPDATE kb_search.entry AS e SET aliases = e.aliases || $2::text
WHERE e.id = $1::bigint AND NOT EXISTS (
    SELECT FROM unnest(e.aliases) AS a (alias) WHERE kb_search.words_of(a.alias) = kb_search.words_of($2::text));

-- settle_questions --
-- Notes which entry now answers the questions of the same words.
-- $1 text: collection · $2 text: the question · $3 bigint: id of the entry. One row: settled (bigint).
WITH settled AS (
    UPDATE kb_search.question AS q SET answered_by = $3::bigint
    WHERE q.collection = $1::text AND q.digest = kb_search.question_digest($2::text)
        AND NOT q.confident AND q.answered_by IS NULL
    RETURNING 1
)
SELECT count(*) AS settled FROM settled;

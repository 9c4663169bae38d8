-- The schema of kb_search, for PostgreSQL 15 to 18. Idempotent: `kb-search init` runs it whole, in
-- one transaction, under an advisory lock. Everything that is derived from an entry (search
-- vectors, frequencies, vocabulary) is the work of this file alone, so that plain SQL is enough to
-- fill a knowledge base:
--
--     INSERT INTO kb_search.entry (section, title, content) VALUES ('tarifas', 'Tarifas', '…');
--
-- What indexes, generated columns and the owner's triggers call names every schema: from PostgreSQL 17
-- on the first two run under a restricted search_path.

DO $$
BEGIN
    IF to_regnamespace('kb_search') IS NULL THEN -- IF NOT EXISTS would ask for the right all the same
        CREATE SCHEMA kb_search;
    END IF;
END
$$;

-- 1. Extensions ----------------------------------------------------------------------------------
-- pg_trgm may live in any schema (managed services have one of their own) and may be there already.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_trgm') THEN
        -- never into kb_search itself, where the search_path of a role of that name would put it
        IF to_regnamespace('public') IS NOT NULL AND has_schema_privilege('public', 'CREATE') THEN
            CREATE EXTENSION pg_trgm SCHEMA public;
        ELSE
            CREATE EXTENSION pg_trgm;
        END IF;
    END IF;
END
$$;

-- 2. Analysis: from text to words and stems -------------------------------------------------------
-- One analysis for entries and questions. A text becomes words of letters and digits, folded (no
-- case, no accents, ñ kept); a word becomes a stem by the Snowball stemmer for Spanish, helped
-- where that needs accents or stops short. No dictionary here has stop words: "quien eres" is
-- a question, and rarity weighs its words.

DO $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_ts_dict AS d
        JOIN pg_catalog.pg_namespace AS n ON n.oid = d.dictnamespace
        WHERE n.nspname = 'kb_search' AND d.dictname = 'spanish_stem'
    ) THEN
        CREATE TEXT SEARCH DICTIONARY kb_search.spanish_stem (template = pg_catalog.snowball, language = spanish);
        CREATE TEXT SEARCH DICTIONARY kb_search.plain_word (template = pg_catalog.simple);
        CREATE TEXT SEARCH CONFIGURATION kb_search.spanish (parser = pg_catalog."default");
        ALTER TEXT SEARCH CONFIGURATION kb_search.spanish
            ADD MAPPING FOR asciiword, word, numword, int, uint, float, sfloat WITH kb_search.spanish_stem;
        CREATE TEXT SEARCH CONFIGURATION kb_search.words (parser = pg_catalog."default");
        ALTER TEXT SEARCH CONFIGURATION kb_search.words
            ADD MAPPING FOR asciiword, word, numword, int, uint, float, sfloat WITH kb_search.plain_word;
    END IF;
END
$$;

-- Letters without case, accents, ligatures, invisible characters; ñ stays a letter of its own.
-- Decomposing first makes lower() right for accented capitals even in a database with the C ctype.
CREATE OR REPLACE FUNCTION kb_search.fold(input text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.regexp_replace(
    pg_catalog.replace(
        pg_catalog.lower(pg_catalog.normalize(input, 'NFKD')), U&'n\0303', 'ñ'
    ),
    U&'[\0300-\036F\00AD\200B-\200D\2060\FEFF]', '', 'g'
);

-- What a text says besides its plain words: compounds run together (post-venta → postventa,
-- ABC-1234 → abc1234, Node.js → nodejs, O'Brien → obrien, p.ej. → pej) and telephone numbers
-- without their spaces (also without the country's prefix). Input is folded.
CREATE OR REPLACE FUNCTION kb_search.joined_words(folded text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN folded ~ '[a-zñ0-9][-.''’ʼ‐‑][a-zñ0-9]|\d \d' THEN (
    SELECT pg_catalog.string_agg(
        CASE WHEN found[1] ~ '^\+?\d[\d .-]*$'
            THEN (
                SELECT CASE
                    WHEN pg_catalog.length(digits) < 7 THEN ''
                    WHEN pg_catalog.length(digits) > 9 THEN digits || ' ' || pg_catalog.right(digits, 9)
                    ELSE digits
                END
                FROM pg_catalog.regexp_replace(found[1], '\D', '', 'g') AS number (digits)
            )
            ELSE pg_catalog.regexp_replace(found[1], '[^a-zñ0-9]', '', 'g')
        END, ' ' ORDER BY nr)
    FROM pg_catalog.regexp_matches(
        folded,
        '(\+?\d{1,4}(?:[ .-]\d{2,4}){2,}(?!\d)|\m[a-zñ0-9]+(?:[-''’ʼ‐‑][a-zñ0-9]+)+\M'
        '|\m(?:[a-z]\.){2,}[a-z]?|\m[a-z][a-z0-9]*\.(?:js|ts|py|io|ai|net|app|dev|rs|db)\M)',
        'g'
    ) WITH ORDINALITY AS match (found, nr)
) END;

-- The words of a folded text, in order, one space between them: letters and digits only, cut at 64
-- characters; C++, C# and .NET as cplusplus, csharp and dotnet, 1.000,50 as 1000 50.
CREATE OR REPLACE FUNCTION kb_search.bare_words(folded text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.btrim(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
    CASE WHEN folded ~ '[#+]|\.net|\d\.\d' THEN
        pg_catalog.regexp_replace(pg_catalog.regexp_replace(
        pg_catalog.regexp_replace(pg_catalog.regexp_replace(
            folded,
            '\m([a-z])\+\+', '\1plusplus ', 'g'),
            '\m([a-z])#(?!\w)', '\1sharp ', 'g'),
            '\.net\M', ' dotnet', 'g'),
            '(\d)\.(?=\d{3}(?!\d))', '\1', 'g')
    ELSE folded END,
    '[^[:alnum:]ñ]+', ' ', 'g'),
    '([^ ]{64})[^ ]+', '\1', 'g'));

-- All the words of a text: its own, then the joined ones. NULL and a text without words give ''.
CREATE OR REPLACE FUNCTION kb_search.words_of(input text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT kb_search.bare_words(folded || coalesce(' ' || kb_search.joined_words(folded), ''))
    FROM (SELECT kb_search.fold(coalesce(input, '')) OFFSET 0) AS f (folded) -- folded once
);

-- Words made ready for the stemmer, one for one: plurals that it does not join (luces, unidades,
-- imágenes, números, días) meet their singular, the accents its rules need (facturación), verbs
-- without their pronouns (devuélvemelo, pagarlo) and without the diphthong of their stressed forms
-- (cuesta, puede → costa, pode). Input: words_of().
CREATE OR REPLACE FUNCTION kb_search.stem_forms(words text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.regexp_replace(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
    pg_catalog.regexp_replace(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
    pg_catalog.regexp_replace(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
    pg_catalog.regexp_replace(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
    pg_catalog.regexp_replace(pg_catalog.regexp_replace(
        words,
        '\m([a-zñ]{2,})z\M', '\1c', 'g'),
        '\m(?!interes\M|danes\M)([a-zñ]*(?:[a-zñ]{2}(?:[^iu\W][ae]|[iu]a)[nr]|artel|[pf]iel|quien|juec|nuec))es\M', '\1', 'g'),
        '\m([a-zñ]*(?:[dt]ad|[a-zñ]{2}ed|interes|ingles|frances|portugues|japones|holandes|irlandes|burgues|danes))\M', '\1es', 'g'),
        '\m(?![a-zñ]+mos\M)([a-zñ]{2,3}[aeo])s\M', '\1', 'g'),
        '\m([a-zñ]*(?:[ei]r[ao]|[aá]ro|[eo]a|os[ao]|(?:i|[ax]t|int|\met|mod|cuad)ern[ao]|(?:xi|isi|ini|pti|ulti|riti|giti|oni|enti)m[ao]|(?:presta|recla)mo|anch[ao]))s\M', '\1', 'g'),
        '\m([dvs][ae]r|ir)(?:[mts]e|nos)\M', '\1', 'g'),
        '\m([a-zñ]+(?:[aei]r|ando|i?endo))(?:(?:me|te|se|nos|os)l[aeo]s?|l[eo]s?)\M', '\1', 'g'),
        '\m([a-zñ]{2,}(?:[abd-hj-oq-tv-zñ]ar|[a-hj-tv-zñ]er|[a-eg-hj-tv-zñ]ir|ando|i?endo))(?:las?|[mts]e|nos)\M', '\1', 'g'),
        '\m([a-zñ]{4,}[ae])(?:[mts]e|nos)l[aeo]s?\M', '\1', 'g'),
        '\m([a-zñ]+[aeiou])ciones\M', '\1cion', 'g'),
        '\m([a-zñ]*[au])cion\M', '\1ción', 'g'),
        '\m([a-zñ]+)logia(s?)\M', '\1logía\2', 'g'),
        '\m([a-zñ]*[b-df-hj-npr-tv-zñ])ue([b-df-hj-np-tv-zñ]{1,3}(?:[aeo]s?|[ae]n))\M', '\1o\2', 'g'),
        '\m([a-zñ]+)ie([b-df-hj-np-tv-zñ]{1,3}(?:[aeo]s?|[ae]n))\M', '\1e\2', 'g');

-- The forms of an entry: those of words with ñ once more without it, at the end. So `contrasena`
-- finds contraseña, while `años` finds no ano.
CREATE OR REPLACE FUNCTION kb_search.entry_forms(words text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT forms || coalesce((
        SELECT ' ' || pg_catalog.string_agg(pg_catalog.translate(found[1], 'ñ', 'n'), ' ')
        FROM pg_catalog.regexp_matches(forms, '\m[a-z0-9ñ]*ñ[a-z0-9ñ]*\M', 'g') AS m (found)), '')
    FROM (SELECT kb_search.stem_forms(words) OFFSET 0) AS f (forms) -- made once
);

-- The stems of words, one for one and in order.
CREATE OR REPLACE FUNCTION kb_search.stems_of(words text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
    SELECT coalesce(pg_catalog.array_agg(
        coalesce((pg_catalog.ts_lexize('kb_search.spanish_stem', form))[1], form) ORDER BY nr), '{}')
    FROM pg_catalog.string_to_table(
        kb_search.stem_forms(pg_catalog.array_to_string(words, ' ')), ' '
    ) WITH ORDINALITY AS f (form, nr)
    WHERE form <> ''
);

-- The stems of words_of() as one text with a space round each, to look for one line in another.
CREATE OR REPLACE FUNCTION kb_search.stem_line(words text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ' ' || pg_catalog.array_to_string(
    kb_search.stems_of(pg_catalog.string_to_array(words, ' ')), ' ') || ' ';

-- How a word sounds, for typing slips: letters that sound alike in Spanish written alike (b/v,
-- c/s/z, g/j, ll/y, qu/k, h silent, m before b and p), double letters once. Input: one word.
CREATE OR REPLACE FUNCTION kb_search.sound(word text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.regexp_replace(pg_catalog.regexp_replace(pg_catalog.translate(
    pg_catalog.regexp_replace(pg_catalog.regexp_replace(pg_catalog.regexp_replace(
    pg_catalog.regexp_replace(pg_catalog.regexp_replace(
        word, 'll', 'y', 'g'), 'ch', 'C', 'g'), 'qu(?=[ei])|c(?=[^eihC]|$)', 'k', 'g'),
        'g(?=[ei])', 'j', 'g'), 'gu(?=[ei])', 'g', 'g'),
    'vczxwñh', 'bsssun'), 'm(?=[bp])', 'n', 'g'), '(.)\1+', '\1', 'g');

-- Whether a word is, by its ending, a form of another with the same stem: a form of a verb that ends
-- in -ar, -er or -ir, a plural, gender or the like. A stem alone proves little, since slips share
-- them too (`recojida` has that of `recojo`, `quin` that of `quinoa`).
CREATE OR REPLACE FUNCTION kb_search.inflects(word text, of_word text) RETURNS boolean
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN word = of_word OR EXISTS (
    SELECT FROM (VALUES (word), (pg_catalog.translate(kb_search.stem_forms(word), 'áéíóú', 'aeiou'))) AS f (form)
    CROSS JOIN (VALUES
        ('(?:ar(?:se)?|acion|ador|ante|ancia|able)$',
            'u?(?:o|e(?:s|n|is|mos)?|a(?:s|n|is|mos|d|r|ndo|d[ao]s?|ba(?:s|n|is|mos)?|ste(?:is)?|ron|re(?:is|mos)?'
            '|ra(?:s|n|is|mos)?|ria(?:s|n|is|mos)?|se(?:s|n|is|mos)?|dor(?:es|as?)?|cion(?:es)?|bles?|ntes?'
            '|ncias?|mientos?|tiv[ao]s?)?)'),
        ('(?:[ei]r(?:se)?|ici[oó]n|[ei]dor|encia|i?ente|i[ao])$',
            '(?:o|a(?:s|n|is|mos)?|e(?:s|n|is|mos|d)?|i(?:s|mos|d|o|eron|ste(?:is)?|endo|d[ao]s?'
            '|a(?:s|n|is|mos)?|e(?:ra|se)(?:s|n|is|mos)?)?|[ei]r(?:e(?:is|mos)?|a(?:s|n)?|ia(?:s|n|is|mos)?)?'
            '|[ei]dor(?:es|as?)?|ibles?|i?entes?|i?encias?|imientos?|icion(?:es)?)'),
        ('(?:[ao]?mente|idad|e?s|[aeo]s?)?$',
            '(?:s|es|[aeo]s?|[ao]?mente|it[ao]s?|cit[ao]s?|isim[ao]s?|ill[ao]s?|idad(?:es)?|ism[ao]s?|istas?'
            '|os[ao]s?|ic[ao]s?|iv[ao]s?|al(?:es)?)?')
    ) AS e (of_end, ending)
    WHERE of_word ~ e.of_end AND f.form ~ ('^' || pg_catalog.regexp_replace(of_word, e.of_end, '') || e.ending
        || '(?:[mts]e|n?os)?(?:l[aeo]s?)?$')
);

-- 3. The search vectors of one entry ---------------------------------------------------------------
-- Labels: A title and headings, B aliases, C tags, D content. At most 250,000 characters of the
-- content are indexed (fewer where characters take more than one byte), since a vector holds 1 MB;
-- a longer entry is stored whole.

CREATE OR REPLACE FUNCTION kb_search.indexed_part(input text, bytes integer) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN pg_catalog.octet_length(input) <= bytes THEN input
    ELSE pg_catalog.left(input, (
        bytes::bigint * pg_catalog.char_length(input) / pg_catalog.octet_length(input))::integer) END;

-- The lexeme that names a collection, so that one index serves many. No word holds "=".
CREATE OR REPLACE FUNCTION kb_search.collection_lexeme(collection text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN '=' || pg_catalog.md5(collection);

-- The vector of an entry: of stems (with the collection's lexeme) or of plain words.
CREATE OR REPLACE FUNCTION kb_search.entry_vector(
    collection text, title text, heading_path text[], aliases text[], tags text[], content text, stemmed boolean
) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT CASE WHEN stemmed
            THEN pg_catalog.array_to_tsvector(ARRAY[kb_search.collection_lexeme(collection)])
            ELSE ''::tsvector END
        || pg_catalog.setweight(pg_catalog.to_tsvector(config, part[1]), 'A')
        || pg_catalog.setweight(pg_catalog.to_tsvector(config, part[2]), 'B')
        || pg_catalog.setweight(pg_catalog.to_tsvector(config, part[3]), 'C')
        || pg_catalog.setweight(pg_catalog.to_tsvector(config, part[4]), 'D')
    FROM (
        SELECT
            CASE WHEN stemmed THEN 'kb_search.spanish'::regconfig ELSE 'kb_search.words'::regconfig END,
            pg_catalog.array_agg(
                CASE WHEN stemmed THEN kb_search.entry_forms(field_words) ELSE field_words END ORDER BY nr)
        FROM (
            SELECT nr, kb_search.words_of(
                kb_search.indexed_part(field, CASE nr WHEN 4 THEN 250000 ELSE 25000 END))
            FROM pg_catalog.unnest(ARRAY[
                pg_catalog.concat_ws(' ', title, pg_catalog.array_to_string(heading_path, ' ')),
                pg_catalog.array_to_string(aliases, ' '),
                pg_catalog.array_to_string(tags, ' '),
                content
            ]) WITH ORDINALITY AS f (field, nr)
        ) AS w (nr, field_words)
    ) AS v (config, part)
);

-- The ways to ask for an entry as one text, for the comparison by trigrams.
CREATE OR REPLACE FUNCTION kb_search.asked(title text, aliases text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN kb_search.words_of(kb_search.indexed_part(
    title || ' ' || pg_catalog.array_to_string(aliases, ' '), 25000));

-- 4. Tables ----------------------------------------------------------------------------------------

-- Facts about this schema: its version, the fingerprint of the analysis that made the data.
CREATE TABLE IF NOT EXISTS kb_search.meta (
    key text PRIMARY KEY,
    value text NOT NULL
);

-- One row a file that was taken in; its sections are entries. `source` names it, `path` is where it
-- was read. `outline` are its headings in order, [level, heading, position of its first section or
-- null]. `described` holds what an API description says of its operations, to give one whole.
-- `reading` is what read it: what another version reads differently is read again. `tagging` is
-- what a model said of it last, `tagged` is false while it waits to be asked (again).
CREATE TABLE IF NOT EXISTS kb_search.document (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    collection text NOT NULL DEFAULT 'default' CHECK (char_length(collection) BETWEEN 1 AND 200),
    source text NOT NULL,
    path text NOT NULL DEFAULT '',
    title text NOT NULL DEFAULT '',
    sha256 text NOT NULL,
    mime text NOT NULL DEFAULT '',
    tags text[] NOT NULL DEFAULT '{}',
    summary text,
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),
    outline jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(outline) = 'array'),
    described jsonb,
    reading text NOT NULL DEFAULT '',
    tagging jsonb,
    tagged boolean NOT NULL DEFAULT false,
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- The unit of retrieval. `document_id` is null for what a person curates.
CREATE TABLE IF NOT EXISTS kb_search.entry (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    collection text NOT NULL DEFAULT 'default' CHECK (char_length(collection) BETWEEN 1 AND 200),
    section text NOT NULL DEFAULT '',
    title text NOT NULL DEFAULT '',
    content text NOT NULL DEFAULT '',
    aliases text[] NOT NULL DEFAULT '{}',
    tags text[] NOT NULL DEFAULT '{}',
    metadata jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(metadata) = 'object'),
    source text,
    document_id bigint REFERENCES kb_search.document (id) ON DELETE CASCADE,
    heading_path text[] NOT NULL DEFAULT '{}',
    position integer,
    updated_at timestamptz NOT NULL DEFAULT now(),
    stems tsvector GENERATED ALWAYS AS (
        kb_search.entry_vector(collection, title, heading_path, aliases, tags, content, true)) STORED,
    words tsvector GENERATED ALWAYS AS (
        kb_search.entry_vector(collection, title, heading_path, aliases, tags, content, false)) STORED,
    -- for the length norm
    content_words integer GENERATED ALWAYS AS (pg_catalog.regexp_count(content, '\S+')) STORED
);

-- Vectors of a paragraph stay plain inside the row: unpacking them cost more than ranking them.
ALTER TABLE kb_search.entry SET (toast_tuple_target = 8160);

-- Frequencies, a row a statement that changed them: triggers only append differences, which never
-- wait for one another; readers add them up; kb_search.fold_counts() merges them now and then.
CREATE TABLE IF NOT EXISTS kb_search.entry_count (
    collection text NOT NULL,
    entries bigint NOT NULL,
    content_words bigint NOT NULL,
    folded boolean NOT NULL DEFAULT false
);
CREATE TABLE IF NOT EXISTS kb_search.stem_count (
    collection text NOT NULL,
    stem text NOT NULL,
    entries bigint NOT NULL,
    folded boolean NOT NULL DEFAULT false
);
-- The vocabulary: each word of a collection with its stem (ñ as n) and its sound.
CREATE TABLE IF NOT EXISTS kb_search.word_count (
    collection text NOT NULL,
    word text NOT NULL,
    stem text NOT NULL,
    sound text NOT NULL,
    entries bigint NOT NULL,
    folded boolean NOT NULL DEFAULT false
);

-- General Spanish, the same for every collection: `share` (0..1) of short texts that hold the word,
-- 0 where it is only known to be one. Loaded by `kb-search init` from the package's word lists.
CREATE TABLE IF NOT EXISTS kb_search.spanish_word (
    word text PRIMARY KEY,
    stem text NOT NULL,
    share real NOT NULL DEFAULT 0
);

-- Other ways to say a thing, filled by people: a question that holds `phrase` is also asked with
-- `synonym`. Both are words_of(), so that the pair is found however it is typed.
CREATE TABLE IF NOT EXISTS kb_search.synonym (
    collection text NOT NULL DEFAULT 'default' CHECK (char_length(collection) BETWEEN 1 AND 200),
    phrase text NOT NULL CHECK (phrase <> '' AND char_length(phrase) <= 200),
    synonym text NOT NULL CHECK (synonym <> '' AND char_length(synonym) <= 200),
    both_ways boolean NOT NULL DEFAULT true,
    phrase_stems text NOT NULL GENERATED ALWAYS AS (kb_search.stem_line(phrase)) STORED,
    synonym_stems text NOT NULL GENERATED ALWAYS AS (kb_search.stem_line(synonym)) STORED,
    PRIMARY KEY (collection, phrase, synonym)
);

-- 5. Indexes, each with the query that needs it ------------------------------------------------------

-- seeds and add(): a curated entry is known by its section and title (digests: titles may be long)
CREATE UNIQUE INDEX IF NOT EXISTS entry_natural_key ON kb_search.entry
    (collection, pg_catalog.md5(section), pg_catalog.md5(title))
    WHERE title <> '' AND document_id IS NULL;
-- seeds and add(): an entry without a title is known by its text
CREATE INDEX IF NOT EXISTS entry_untitled ON kb_search.entry (collection, pg_catalog.md5(content))
    WHERE title = '' AND document_id IS NULL;
-- search: the candidates of a question
CREATE INDEX IF NOT EXISTS entry_stems ON kb_search.entry USING gin (stems);
-- the fixed rows, and lists of one section
CREATE INDEX IF NOT EXISTS entry_section ON kb_search.entry (collection, section, position, id);
-- documents: their sections in order, and their removal
CREATE INDEX IF NOT EXISTS entry_document ON kb_search.entry (document_id, position)
    WHERE document_id IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS document_source ON kb_search.document
    (collection, pg_catalog.md5(source));
-- documents: a file is known by its path, one that moved by its digest
CREATE INDEX IF NOT EXISTS document_path ON kb_search.document (collection, pg_catalog.md5(path));
CREATE INDEX IF NOT EXISTS document_sha256 ON kb_search.document (collection, sha256);
-- search: which API a question means
CREATE INDEX IF NOT EXISTS document_api ON kb_search.document (collection, id) WHERE described IS NOT NULL;
-- question terms: how many entries hold a stem or a word; the words of a stem
CREATE INDEX IF NOT EXISTS entry_count_collection ON kb_search.entry_count (collection);
CREATE INDEX IF NOT EXISTS stem_count_stem ON kb_search.stem_count (collection, stem) INCLUDE (entries);
CREATE INDEX IF NOT EXISTS word_count_word ON kb_search.word_count (collection, word) INCLUDE (entries);
CREATE INDEX IF NOT EXISTS word_count_stem ON kb_search.word_count (collection, stem) INCLUDE (word, entries);
CREATE INDEX IF NOT EXISTS spanish_word_stem ON kb_search.spanish_word (stem) INCLUDE (word, share);
-- folding: what was appended since the last time
CREATE INDEX IF NOT EXISTS stem_count_fresh ON kb_search.stem_count (collection) WHERE NOT folded;
CREATE INDEX IF NOT EXISTS word_count_fresh ON kb_search.word_count (collection) WHERE NOT folded;

-- 6. What needs pg_trgm, in whatever schema it lives --------------------------------------------------
-- The one place where a name is put into SQL. A setting of an extension may be fixed to a function
-- by a plain role only after the extension was touched in the session, hence show_trgm().

DO $do$
DECLARE
    trgm text := (
        SELECT quote_ident(n.nspname) FROM pg_catalog.pg_extension AS e
        JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm');
BEGIN
    EXECUTE format('SELECT %s.show_trgm('''')', trgm);

    -- corrections: words of a collection that look or sound like the one typed
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS word_count_sound ON kb_search.word_count USING gin (sound %s.gin_trgm_ops)', trgm);
    EXECUTE format($sql$
        CREATE OR REPLACE FUNCTION kb_search.similar_words(in_collection text, typed text, most integer)
        RETURNS TABLE (word text, stem text, entries bigint)
        LANGUAGE sql STABLE STRICT PARALLEL SAFE
        SET pg_trgm.similarity_threshold = 0.25
        AS $body$
            WITH swapped AS (
                -- two letters change places: short words share hardly a trigram then
                SELECT w.word, w.stem, w.sound, w.entries
                FROM kb_search.word_count AS w
                WHERE w.collection = in_collection AND w.word = ANY (ARRAY(
                    SELECT overlay(typed PLACING reverse(substr(typed, at, 2)) FROM at FOR 2)
                    FROM generate_series(1, length(typed) - 1) AS s (at)))
            ), alike AS (
                SELECT w.word, w.stem, w.sound, w.entries
                FROM kb_search.word_count AS w
                WHERE w.collection = in_collection
                    AND w.sound OPERATOR(%1$s.%%) kb_search.sound(typed)
                    AND abs(length(w.word) - length(typed)) <= 3
                    AND w.word NOT IN (SELECT word FROM swapped)
            )
            SELECT w.word, w.stem, sum(w.entries)::bigint
            FROM (SELECT *, true AS near FROM swapped UNION ALL SELECT *, false FROM alike) AS w
            GROUP BY w.word, w.stem, w.sound, w.near
            HAVING sum(w.entries) > 0
            ORDER BY w.near DESC,
                %1$s.similarity(w.sound, kb_search.sound(typed)) + %1$s.similarity(w.word, typed) DESC,
                sum(w.entries) DESC, w.word
            LIMIT most
        $body$ $sql$, trgm);

    -- the last resort: titles and aliases that hold something like the whole question
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS entry_asked ON kb_search.entry USING gin (kb_search.asked(title, aliases) %s.gin_trgm_ops)', trgm);
    EXECUTE format($sql$
        CREATE OR REPLACE FUNCTION kb_search.similar_entries(in_collection text, question text)
        RETURNS TABLE (id bigint, similarity real)
        LANGUAGE sql STABLE STRICT PARALLEL SAFE
        SET pg_trgm.word_similarity_threshold = 0.55
        AS $body$
            SELECT e.id, %1$s.word_similarity(question, kb_search.asked(e.title, e.aliases))
            FROM kb_search.entry AS e
            WHERE e.collection = in_collection
                AND question OPERATOR(%1$s.<%%) kb_search.asked(e.title, e.aliases)
        $body$ $sql$, trgm);
END
$do$;

-- 7. Keeping frequencies right ------------------------------------------------------------------------
-- An AFTER STATEMENT trigger an event, with the changed rows as a transition table; an UPDATE takes
-- its old rows away and adds its new ones. The functions run as the schema's owner, so that
-- whoever may write an entry needs no right on the tables of counts.

-- Merges what was appended to the counts of one collection. Skips, without waiting, while another
-- transaction does so, and where a snapshot older than that one could see its rows twice.
CREATE OR REPLACE FUNCTION kb_search.fold_counts(in_collection text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed'
        OR NOT pg_try_advisory_xact_lock(hashtext('kb_search.fold_counts'), hashtext(in_collection)) THEN
        RETURN false;
    END IF;
    WITH gone AS (DELETE FROM kb_search.entry_count WHERE collection = in_collection RETURNING *)
    INSERT INTO kb_search.entry_count (collection, entries, content_words, folded)
    SELECT in_collection, sum(entries), sum(content_words), true FROM gone HAVING sum(entries) <> 0;

    WITH fresh AS (
        DELETE FROM kb_search.stem_count WHERE collection = in_collection AND NOT folded RETURNING stem, entries
    ), merged AS (
        DELETE FROM kb_search.stem_count AS c
        WHERE c.collection = in_collection AND c.folded AND c.stem IN (SELECT stem FROM fresh)
        RETURNING c.stem, c.entries
    )
    INSERT INTO kb_search.stem_count (collection, stem, entries, folded)
    SELECT in_collection, stem, sum(entries), true
    FROM (SELECT * FROM fresh UNION ALL SELECT * FROM merged) AS c
    GROUP BY stem HAVING sum(entries) <> 0;

    WITH fresh AS (
        DELETE FROM kb_search.word_count WHERE collection = in_collection AND NOT folded
        RETURNING word, stem, sound, entries
    ), merged AS (
        DELETE FROM kb_search.word_count AS c
        WHERE c.collection = in_collection AND c.folded AND c.word IN (SELECT word FROM fresh)
        RETURNING c.word, c.stem, c.sound, c.entries
    )
    INSERT INTO kb_search.word_count (collection, word, stem, sound, entries, folded)
    SELECT in_collection, word, stem, sound, sum(entries), true
    FROM (SELECT * FROM fresh UNION ALL SELECT * FROM merged) AS c
    GROUP BY word, stem, sound HAVING sum(entries) <> 0;
    RETURN true;
END
$$;

-- Appends what the changed rows add (argument 1) or take away (argument -1).
CREATE OR REPLACE FUNCTION kb_search.count_changed_rows() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    sign constant integer := tg_argv[0]::integer;
    changed text;
BEGIN
    INSERT INTO kb_search.entry_count (collection, entries, content_words)
    SELECT r.collection, sign * count(*), sign * sum(r.content_words) FROM changed_rows AS r GROUP BY r.collection;

    INSERT INTO kb_search.stem_count (collection, stem, entries)
    SELECT r.collection, s.stem, sign * count(*)
    FROM changed_rows AS r CROSS JOIN unnest(tsvector_to_array(r.stems)) AS s (stem)
    WHERE s.stem <> kb_search.collection_lexeme(r.collection)
    GROUP BY r.collection, s.stem;

    WITH change AS MATERIALIZED (
        SELECT r.collection, w.word, sign * count(*) AS entries
        FROM changed_rows AS r CROSS JOIN unnest(tsvector_to_array(r.words)) AS w (word)
        GROUP BY r.collection, w.word
    ), listed AS (
        SELECT array_agg(DISTINCT word) AS all_words FROM change
    ), analysed AS MATERIALIZED (
        SELECT a.word, a.stem
        FROM listed CROSS JOIN LATERAL unnest(all_words, kb_search.stems_of(all_words)) AS a (word, stem)
    )
    INSERT INTO kb_search.word_count (collection, word, stem, sound, entries)
    SELECT c.collection, c.word, translate(a.stem, 'ñ', 'n'), kb_search.sound(c.word), c.entries
    FROM change AS c JOIN analysed AS a USING (word);

    FOR changed IN SELECT DISTINCT r.collection FROM changed_rows AS r LOOP
        IF (SELECT count(*) >= 64 FROM kb_search.entry_count AS c WHERE c.collection = changed AND NOT c.folded) THEN
            PERFORM kb_search.fold_counts(changed);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION kb_search.forget_counts() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM kb_search.entry_count;
    DELETE FROM kb_search.stem_count;
    DELETE FROM kb_search.word_count;
    RETURN NULL;
END
$$;

-- Whoever may run these could hang them on a table of his own and change the counts by it. A trigger
-- that is there runs for every writer, whatever his rights on its function.
REVOKE EXECUTE ON FUNCTION
    kb_search.fold_counts(text), kb_search.count_changed_rows(), kb_search.forget_counts() FROM PUBLIC;

CREATE OR REPLACE FUNCTION kb_search.touch_entry() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.updated_at := now();
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER entry_added AFTER INSERT ON kb_search.entry
    REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION kb_search.count_changed_rows('1');
CREATE OR REPLACE TRIGGER entry_removed AFTER DELETE ON kb_search.entry
    REFERENCING OLD TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION kb_search.count_changed_rows('-1');
CREATE OR REPLACE TRIGGER entry_updated_from AFTER UPDATE ON kb_search.entry
    REFERENCING OLD TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION kb_search.count_changed_rows('-1');
CREATE OR REPLACE TRIGGER entry_updated_to AFTER UPDATE ON kb_search.entry
    REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION kb_search.count_changed_rows('1');
CREATE OR REPLACE TRIGGER entry_emptied AFTER TRUNCATE ON kb_search.entry
    FOR EACH STATEMENT EXECUTE FUNCTION kb_search.forget_counts();
-- an equal entry stays untouched, updated_at and all
CREATE OR REPLACE TRIGGER entry_touched BEFORE UPDATE ON kb_search.entry
    FOR EACH ROW
    WHEN (NEW.updated_at = OLD.updated_at AND
        (NEW.collection, NEW.section, NEW.title, NEW.content, NEW.aliases, NEW.tags, NEW.metadata, NEW.source,
            NEW.document_id, NEW.heading_path, NEW.position)
        IS DISTINCT FROM
        (OLD.collection, OLD.section, OLD.title, OLD.content, OLD.aliases, OLD.tags, OLD.metadata, OLD.source,
            OLD.document_id, OLD.heading_path, OLD.position))
    EXECUTE FUNCTION kb_search.touch_entry();

-- 8. The two statements of a search -------------------------------------------------------------------
-- Functions, since planning them costs as much as running them: PL/pgSQL keeps a plan a session,
-- also behind a pooler where prepared statements cannot be kept. A generic plan, that never falls
-- back to reading the whole table.

CREATE OR REPLACE FUNCTION kb_search.question_terms(text, text, integer)
RETURNS TABLE (
    word text, stem text, stem_entries bigint, word_entries bigint, family text[], share real, stem_share real,
    similar text[], similar_stems text[], similar_entries bigint[], split_words text[], joined_word text,
    synonyms jsonb, total_entries bigint, total_words bigint
)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
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
            held.stem_entries, vocabulary.word_entries, vocabulary.family, spanish.share, spanish.stem_share
        FROM listed
        CROSS JOIN LATERAL unnest(listed.words, listed.stems) WITH ORDINALITY AS t (word, stem, nr)
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(c.entries), 0)::bigint AS stem_entries
            FROM kb_search.stem_count AS c WHERE c.collection = $1::text AND c.stem = t.stem
        ) AS held
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(c.entries) FILTER (WHERE c.word = t.word), 0)::bigint AS word_entries,
                array_agg(DISTINCT c.word) AS family
            FROM kb_search.word_count AS c
            WHERE c.collection = $1::text AND c.stem = translate(t.stem, 'ñ', 'n')
        ) AS vocabulary
        CROSS JOIN LATERAL (
            SELECT coalesce(max(s.share) FILTER (WHERE s.word = t.word), 0) AS share,
                max(s.share) AS stem_share
            FROM kb_search.spanish_word AS s WHERE s.stem = t.stem
        ) AS spanish
    ), lacking AS MATERIALIZED (
        SELECT t.nr, t.word, t.word !~ '\d' AND length(t.word) > 2 AND NOT EXISTS (
            SELECT FROM kb_search.spanish_word AS s
            WHERE s.stem = t.stem AND kb_search.inflects(t.word, s.word)) AS slip
        FROM term AS t WHERE t.stem_entries = 0
    ), alike AS (
        SELECT l.nr, array_agg(w.word) AS words, array_agg(w.stem) AS stems, array_agg(w.entries) AS counts
        FROM lacking AS l CROSS JOIN LATERAL kb_search.similar_words($1::text, l.word, 12) AS w
        WHERE l.slip
        GROUP BY l.nr
    ), taken_apart AS ( -- sums, which are looked up; EXISTS would be joined, all with all on stale statistics
        SELECT DISTINCT ON (l.nr) l.nr, ARRAY[halves.head, halves.tail] AS words
        FROM lacking AS l
        CROSS JOIN LATERAL (
            SELECT left(l.word, cut) AS head, substr(l.word, cut + 1) AS tail
            FROM generate_series(2, length(l.word) - 2) AS c (cut)
        ) AS halves
        WHERE l.slip AND length(l.word) BETWEEN 6 AND 40
            AND (SELECT sum(c.entries) FROM kb_search.word_count AS c
                WHERE c.collection = $1::text AND c.word = halves.head) > 0
            AND (SELECT sum(c.entries) FROM kb_search.word_count AS c
                WHERE c.collection = $1::text AND c.word = halves.tail) > 0
        ORDER BY l.nr, least(length(halves.head), length(halves.tail)) DESC
    ), joined AS (
        SELECT t.nr, t.word || t.next_word AS word
        FROM term AS t
        WHERE t.next_word IS NOT NULL
            AND (t.nr IN (SELECT l.nr FROM lacking AS l) OR t.nr + 1 IN (SELECT l.nr FROM lacking AS l))
            AND (SELECT sum(c.entries) FROM kb_search.word_count AS c
                WHERE c.collection = $1::text AND c.word = t.word || t.next_word) > 0
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
END
$$;

-- Words that follow one another in one field of an entry; null for a phrase without words.
CREATE OR REPLACE FUNCTION kb_search.phrase_query(phrase text) RETURNS tsquery
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT string_agg('(' || p.line || ')', ' | ')::tsquery
    FROM unnest('{A,B,C,D}'::text[]) AS l (label)
    CROSS JOIN LATERAL (
        SELECT string_agg(quote_literal(w.word) || ':' || l.label, ' <-> ' ORDER BY w.nr) AS line
        FROM string_to_table(kb_search.bare_words(kb_search.fold(phrase)), ' ') WITH ORDINALITY AS w (word, nr)
        WHERE w.word <> ''
    ) AS p
);

CREATE OR REPLACE FUNCTION kb_search.ranked_entries(
    text, text, text[], real[], real[], text, text[], jsonb, real, integer, real, real, real, jsonb, bigint[], boolean
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
        FROM unnest($3::text[], $4::real[], $5::real[],
            string_to_array(kb_search.stem_forms(array_to_string($3::text[], ' ')), ' ')
        ) WITH ORDINALITY AS n (word, stem_weight, word_weight, form, nr)
    ), demand AS MATERIALIZED (
        SELECT d.wanted,
            CASE WHEN d.words <> '' THEN to_tsquery('kb_search.spanish', kb_search.stem_forms(d.words)) END
                AS stem_query,
            (SELECT string_agg('(' || kb_search.phrase_query(p.phrase)::text || ')', ' | ')::tsquery
                FROM jsonb_array_elements_text(d.phrases) AS p (phrase)) AS phrase_query
        FROM jsonb_to_recordset($14::jsonb) AS d (wanted boolean, words text, phrases jsonb)
    ), candidate AS MATERIALIZED (
        SELECT e.id, e.updated_at,
            -- a longer entry lies in the TOAST: unpacked once here, not once a word
            CASE WHEN e.content_words > 150 THEN e.stems || ''::tsvector ELSE e.stems END AS stems,
            CASE WHEN e.content_words > 150 THEN e.words || ''::tsvector ELSE e.words END AS words,
            $11::real / ln(exp(1.0) + $13::real * e.content_words / greatest($9::real, 1)) AS content_weight
        FROM kb_search.entry AS e
        WHERE e.stems @@ ((quote_literal(kb_search.collection_lexeme($1::text)))::tsquery
                && to_tsquery('kb_search.spanish', kb_search.stem_forms($2::text)))
            AND e.collection || '' = $1::text -- the lexeme finds, this only makes sure
            AND ($6::text IS NULL OR e.section = $6::text)
            AND ($7::text[] IS NULL OR e.tags @> $7::text[])
            AND ($8::jsonb IS NULL OR e.metadata @> $8::jsonb)
            AND ($15::bigint[] IS NULL OR e.document_id = ANY ($15::bigint[]))
            AND ($14::jsonb IS NULL OR NOT EXISTS (
                SELECT FROM demand AS d
                WHERE (coalesce(e.stems @@ d.stem_query, false) OR coalesce(e.words @@ d.phrase_query, false))
                    <> d.wanted))
    ), evidence AS MATERIALIZED (
        SELECT c.id, c.updated_at, n.nr,
            n.stem_weight * (greatest(s.title, s.content) + $12::real * least(s.title, s.content))
            + n.word_weight * (greatest(w.title, w.content) + $12::real * least(w.title, w.content)) AS part
        FROM candidate AS c
        JOIN needle AS n ON c.stems @@ n.stem_query
        CROSS JOIN LATERAL (SELECT
            ts_rank('{0, 0.6, 0.8, 1}', c.stems, n.stem_query) AS title,
            ts_rank('{1, 0, 0, 0}', c.stems, n.stem_query) * c.content_weight AS content
            OFFSET 0) AS s -- each rank once
        CROSS JOIN LATERAL (SELECT
            ts_rank('{0, 0.6, 0.8, 1}', c.words, n.word_query) AS title,
            ts_rank('{1, 0, 0, 0}', c.words, n.word_query) * c.content_weight AS content
            OFFSET 0) AS w
    ), scored AS MATERIALIZED (
        SELECT v.id, v.updated_at, sum(v.part) AS total,
            array_agg(v.nr::integer) AS needles, array_agg(v.part) AS parts
        FROM evidence AS v
        GROUP BY v.id, v.updated_at HAVING sum(v.part) > 0
    ), best AS MATERIALIZED (
        SELECT v.* FROM scored AS v
        WHERE NOT $16::boolean OR v.id IN ( -- one of each document; run only where asked for
            SELECT DISTINCT ON (e.document_id, CASE WHEN e.document_id IS NULL THEN e.id END) e.id
            FROM scored AS s JOIN kb_search.entry AS e USING (id)
            ORDER BY e.document_id, CASE WHEN e.document_id IS NULL THEN e.id END,
                s.total DESC, s.updated_at DESC, e.id)
        ORDER BY v.total DESC, v.updated_at DESC, v.id LIMIT $10::integer
    )
    SELECT e.id, e.collection, e.section, e.title, e.content, e.aliases, e.tags, e.metadata, e.source,
        e.document_id, e.heading_path, e.position, b.total, b.needles, b.parts
    FROM best AS b JOIN kb_search.entry AS e USING (id)
    ORDER BY b.total DESC, b.updated_at DESC, b.id;
END
$$;

-- 9. What was asked ------------------------------------------------------------------------------
-- The log of questions, filled only where the setting `question_log` says so. Rows end with the
-- setting `question_log_days`; `question` and `words` are null where only the digest is kept.

CREATE TABLE IF NOT EXISTS kb_search.question (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    collection text NOT NULL CHECK (char_length(collection) BETWEEN 1 AND 200),
    asked_at timestamptz NOT NULL DEFAULT now(),
    digest text NOT NULL,
    question text,
    words text,
    layer text NOT NULL,
    confident boolean NOT NULL,
    confidence real NOT NULL,
    answered_by bigint -- the entry that got it as an alias later
);
-- unanswered questions, and settling them
CREATE INDEX IF NOT EXISTS question_unanswered ON kb_search.question (collection, digest)
    WHERE NOT confident AND answered_by IS NULL;
-- forgetting what is too old
CREATE INDEX IF NOT EXISTS question_age ON kb_search.question (asked_at);

-- What tells questions apart: their words. Short questions can be guessed from it.
CREATE OR REPLACE FUNCTION kb_search.question_digest(question text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.encode(pg_catalog.sha256(
    pg_catalog.convert_to(kb_search.words_of(question), 'UTF8')), 'hex');

-- The stems that carry a question's subject: without the words of which general Spanish is full
-- (COMMON_SHARE of terms.py), unless it has no others. Input: words_of().
CREATE OR REPLACE FUNCTION kb_search.subject_line(words text) RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
RETURN (
    SELECT kb_search.stem_line(coalesce(
        string_agg(w.word, ' ' ORDER BY w.nr) FILTER (WHERE coalesce(s.share, 0) < 0.12),
        string_agg(w.word, ' ' ORDER BY w.nr), ''))
    FROM string_to_table(words, ' ') WITH ORDINALITY AS w (word, nr)
    LEFT JOIN kb_search.spanish_word AS s ON s.word = w.word
);

-- Pairs of questions that ask nearly the same. pg_trgm may live in any schema (see 6).
DO $do$
BEGIN
    EXECUTE format($sql$
        CREATE OR REPLACE FUNCTION kb_search.alike_questions(words text[])
        RETURNS TABLE (one integer, other integer)
        LANGUAGE sql STABLE STRICT PARALLEL SAFE
        AS $body$
            WITH asked AS MATERIALIZED (
                SELECT w.nr::integer AS nr, kb_search.subject_line(w.words) AS line
                FROM unnest(words) WITH ORDINALITY AS w (words, nr)
            )
            SELECT a.nr, b.nr FROM asked AS a JOIN asked AS b ON a.nr < b.nr
            WHERE %1$s.similarity(a.line, b.line) >= 0.5
        $body$ $sql$, (
        SELECT quote_ident(n.nspname) FROM pg_catalog.pg_extension AS e
        JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm'));
END
$do$;

-- 10. The fingerprint of the analysis ----------------------------------------------------------------
-- Stems change between server majors, and with this file: vectors made under another fingerprint
-- no longer match what a question is turned into. `kb-search doctor` compares, `rebuild` mends.

CREATE OR REPLACE FUNCTION kb_search.analysis_fingerprint() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp -- definitions leave out the schemas that are on the path
RETURN (
    SELECT 'postgresql-' || pg_catalog.current_setting('server_version_num')::integer / 10000 || '/'
        || pg_catalog.md5(pg_catalog.string_agg(pg_catalog.pg_get_functiondef(p.oid), '' ORDER BY p.proname))
    FROM pg_catalog.pg_proc AS p
    WHERE p.pronamespace = 'kb_search'::regnamespace AND p.proname IN (
        'fold', 'joined_words', 'bare_words', 'words_of', 'stem_forms', 'entry_forms', 'stems_of', 'indexed_part', 'collection_lexeme',
        'entry_vector')
);

INSERT INTO kb_search.meta (key, value) VALUES
    ('schema_version', '1'), ('analysis', kb_search.analysis_fingerprint())
ON CONFLICT DO NOTHING;

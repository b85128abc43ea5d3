-- Conversations: one row a session, one row an item, in the order in which they were said.
-- An item that is popped or cleared is closed (removed_at), not deleted: evidence may cite it, and history can be read
-- as of an earlier moment. A late output stands next to its call: place is the item_id it is read after.

CREATE TABLE sessions (
    namespace  VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL
);

-- item_json is the item exactly as it was given; type, role, call_id and text are derived from it.
CREATE TABLE session_items_stored (
    item_id    BIGINT NOT NULL,
    namespace  VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    place      BIGINT NOT NULL,
    item_json  VARCHAR NOT NULL,
    type       VARCHAR NOT NULL,
    role       VARCHAR,
    call_id    VARCHAR,
    text       VARCHAR,
    added_at   TIMESTAMP NOT NULL,
    removed_at TIMESTAMP NOT NULL,
    run_id     BIGINT
);

-- The items of every session as it was known at a moment. position counts from 1 in the order of reading; turn counts
-- the user items so far, so that it is 1 for what the first one began and 0 before it.
CREATE MACRO session_items_at(known_moment) AS TABLE
    SELECT namespace, session_id, item_id, type, role, call_id, text, added_at, item_json, run_id,
           row_number() OVER reading AS position,
           (count(*) FILTER (role = 'user') OVER reading)::BIGINT AS turn
    FROM session_items_stored
    WHERE added_at <= known_moment AND known_moment < removed_at
    WINDOW reading AS (PARTITION BY namespace, session_id ORDER BY place, item_id
                       ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);

-- Text as names are looked for in it: lower case, one form of each letter, nothing invisible.
CREATE MACRO folded(words) AS
    replace(replace(lower(nfc_normalize(regexp_replace(
        words, '[\x{AD}\x{61C}\x{180E}\x{200B}-\x{200F}\x{202A}-\x{202E}\x{2060}-\x{2064}\x{FEFF}]', '', 'g'))),
        'ß', 'ss'), 'ς', 'σ');

-- The words of a text, each between two spaces, so that a name is in it as whole words exactly when the name's line is
-- part of it. A character of a script that is written without spaces is a word; numbers, times and addresses stay whole.
CREATE MACRO word_line(words) AS
    ' ' || array_to_string(regexp_extract_all(
        regexp_replace(folded(words), '([\p{Han}\p{Hiragana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}])', ' \1 ', 'g'),
        '[0-9]+(?:[.:][0-9]+)+|[\p{L}\p{M}\p{N}_]+(?:\+\+|#)?|\p{So}'), ' ') || ' ';

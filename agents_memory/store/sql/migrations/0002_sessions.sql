-- Conversations: one row a session, one row an item, in the order in which they were said.
-- An item that is popped or cleared is closed (removed_at), not deleted: evidence may cite it, and history can be read
-- as of an earlier moment. A late output stands next to its call: place is the item_id it is read after.

-- continues: the session of the same namespace that this one goes on with.
CREATE TABLE sessions (
    namespace  VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    continues  VARCHAR
);

-- The branches of a session besides main. A name is never used twice, so the rows of deleted ones stay.
CREATE TABLE session_branches (
    namespace  VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    branch     VARCHAR NOT NULL,
    parent     VARCHAR NOT NULL,
    from_turn  BIGINT NOT NULL,
    created_at TIMESTAMP NOT NULL,
    deleted_at TIMESTAMP NOT NULL
);

-- item_json is the item exactly as it was given; type, role, call_id, tool and text are derived from it.
-- branch: where it was said; inherited_items says which other branches have it, too.
-- names: the folded names of entities that the words of a message hold, as alias_key has them. Which entity a name means
-- is decided when it is asked, by the aliases of the namespace and its ancestors.
-- folded: what names are looked for in when one is given later: the text in lower case and one form; NULL for text.
-- usage: what the model calls since the run's last batch cost; with the first item of the batch.
CREATE TABLE session_items_stored (
    item_id    BIGINT NOT NULL,
    namespace  VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    branch     VARCHAR NOT NULL,
    place      BIGINT NOT NULL,
    item_json  VARCHAR NOT NULL,
    type       VARCHAR NOT NULL,
    role       VARCHAR,
    call_id    VARCHAR,
    tool       VARCHAR,
    text       VARCHAR,
    names      VARCHAR[],
    folded     VARCHAR,
    usage      STRUCT(requests BIGINT, input_tokens BIGINT, output_tokens BIGINT, total_tokens BIGINT,
                      cached_tokens BIGINT, cache_write_tokens BIGINT, reasoning_tokens BIGINT),
    added_at   TIMESTAMP NOT NULL,
    removed_at TIMESTAMP NOT NULL,
    run_id     BIGINT
);

-- The items of other branches that a branch began with. Each of them can leave it without leaving the others.
CREATE TABLE inherited_items (
    namespace  VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    branch     VARCHAR NOT NULL,
    item_id    BIGINT NOT NULL,
    since      TIMESTAMP NOT NULL,
    removed_at TIMESTAMP NOT NULL
);

-- The highest id given of a kind whose rows may be deleted, so that no id is ever given twice.
CREATE TABLE ids_given (
    kind    VARCHAR PRIMARY KEY,
    last_id BIGINT NOT NULL
);

-- What each branch holds and held: an item in several is a row in each. since: when it came into the branch.
CREATE VIEW items_of_branches AS
    SELECT namespace, session_id, branch, item_id, place, item_json, type, role, call_id, tool, text, names, usage, run_id,
           branch AS said_in, added_at, added_at AS since, removed_at
    FROM session_items_stored
    UNION ALL
    SELECT h.namespace, h.session_id, h.branch, h.item_id, i.place, i.item_json, i.type, i.role, i.call_id, i.tool, i.text,
           i.names, i.usage, i.run_id, i.branch, i.added_at, h.since, h.removed_at
    FROM inherited_items h JOIN session_items_stored i USING (item_id);

-- The items of every branch as it was known at a moment. position counts from 1 in the order of reading; turn counts
-- the user items so far, so that it is 1 for what the first one began and 0 before it.
CREATE MACRO session_items_at(known_moment) AS TABLE
    SELECT namespace, session_id, branch, item_id, place, type, role, call_id, tool, text, names, usage, added_at,
           item_json, run_id, said_in,
           row_number() OVER reading AS position,
           (count(*) FILTER (role = 'user') OVER reading)::BIGINT AS turn
    FROM items_of_branches
    WHERE since <= known_moment AND known_moment < removed_at
    WINDOW reading AS (PARTITION BY namespace, session_id, branch ORDER BY place, item_id
                       ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);

-- The turns of every branch as it was known at a moment: what a user item began, with what was called and spent in it.
-- A turn that several branches share stands in each; said_in is the branch where it began.
CREATE MACRO session_turns_at(known_moment) AS TABLE
    SELECT namespace, session_id, branch, turn, min(item_id) AS item_id, count(*) AS items,
           min(added_at) AS started_at, max(added_at) AS ended_at,
           arg_min(text, position) FILTER (role = 'user') AS said, arg_min(said_in, position) AS said_in,
           coalesce(list(tool ORDER BY position) FILTER (tool IS NOT NULL AND NOT ends_with(type, '_output')), []) AS tools,
           coalesce(sum(usage.requests), 0)::BIGINT AS requests,
           coalesce(sum(usage.input_tokens), 0)::BIGINT AS input_tokens,
           coalesce(sum(usage.output_tokens), 0)::BIGINT AS output_tokens,
           coalesce(sum(usage.total_tokens), 0)::BIGINT AS total_tokens,
           coalesce(sum(usage.cached_tokens), 0)::BIGINT AS cached_tokens,
           coalesce(sum(usage.cache_write_tokens), 0)::BIGINT AS cache_write_tokens,
           coalesce(sum(usage.reasoning_tokens), 0)::BIGINT AS reasoning_tokens
    FROM session_items_at(known_moment)
    GROUP BY namespace, session_id, branch, turn;

-- The entity that a folded name meant at a moment, to whoever sees some namespaces, nearest first.
CREATE MACRO entity_named(visible, name_key, known_moment) AS TABLE
    SELECT entity_id FROM entity_aliases
    WHERE alias_key = name_key AND list_contains(visible, namespace) AND tx_from <= known_moment AND known_moment < tx_to
    ORDER BY list_position(visible, namespace) LIMIT 1;

-- Which entity each name in a message meant, as known at a moment: that of the nearest namespace that gave the name.
CREATE MACRO mentions_at(known_moment) AS TABLE
    WITH said AS (
        SELECT DISTINCT namespace, session_id, branch, item_id, added_at, unnest(names) AS alias_key
        FROM items_of_branches WHERE since <= known_moment AND known_moment < removed_at AND names IS NOT NULL
    ), meant AS (
        SELECT n.namespace, n.alias_key, arg_max(a.entity_id, length(a.namespace)) AS entity_id
        FROM (SELECT DISTINCT namespace, alias_key FROM said) n
        JOIN entity_aliases a ON a.alias_key = n.alias_key
            AND (a.namespace = n.namespace OR starts_with(n.namespace, a.namespace || '/'))
        WHERE a.tx_from <= known_moment AND known_moment < a.tx_to
        GROUP BY n.namespace, n.alias_key
    )
    SELECT DISTINCT said.namespace, session_id, branch, item_id, added_at, entity_id
    FROM said JOIN meant ON meant.namespace = said.namespace AND meant.alias_key = said.alias_key;

-- Conversations: one row a session, one row an item, in the order in which they were said.
-- An item that is popped or cleared is closed (removed_at), not deleted: evidence may cite it, and history can be read
-- as of an earlier moment. A late output stands next to its call: place is the item_id it is read after.

CREATE SEQUENCE item_ids;

CREATE TABLE sessions (
    namespace  VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL
);

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

CREATE VIEW session_items AS
    SELECT namespace, session_id, item_id, type, role, call_id, text, added_at, item_json,
           sum(CASE WHEN role = 'user' THEN 1 ELSE 0 END)
               OVER (PARTITION BY namespace, session_id ORDER BY place, item_id)::BIGINT AS turn
    FROM session_items_stored
    WHERE removed_at = forever();

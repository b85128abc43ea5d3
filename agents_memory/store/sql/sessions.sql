-- name: insert_session
-- A session exists from its first item on.
INSERT INTO sessions VALUES ($namespace, $session_id, $created_at);

-- name: lost_calls
-- The calls of some ids that were taken out of a session, each as it stood last.
SELECT call_id, arg_max(item_json, item_id) AS item_json FROM session_items_stored
WHERE namespace = $namespace AND session_id = $session_id AND list_contains($call_ids::VARCHAR[], call_id)
  AND NOT ends_with(type, '_output') AND removed_at < forever()
GROUP BY call_id;

-- name: load_session
-- What a process keeps of a session, each part in the order in which it came.
-- Its newest items and one more, its newest user item, where the newest batch with a message in it begins, and the
-- calls that may wait for an output with the outputs that answered others of the same id.
WITH tail AS (
    SELECT item_id, place, item_json FROM session_items_stored
    WHERE namespace = $namespace AND session_id = $session_id AND removed_at = forever()
    ORDER BY place DESC, item_id DESC LIMIT $tail + 1
), last_user AS (
    SELECT item_id, text FROM session_items_stored
    WHERE namespace = $namespace AND session_id = $session_id AND removed_at = forever() AND role = 'user'
    ORDER BY item_id DESC LIMIT 1
), calls AS (
    SELECT item_id, type, call_id,
           sum(CASE WHEN ends_with(type, '_output') THEN -1 ELSE 1 END)
               OVER (PARTITION BY call_id ORDER BY item_id DESC) AS waiting
    FROM session_items_stored
    WHERE namespace = $namespace AND session_id = $session_id AND removed_at = forever() AND call_id IS NOT NULL
), waiting AS (
    SELECT item_id, type, call_id FROM calls QUALIFY max(waiting) OVER (PARTITION BY call_id) > 0
), newest AS (
    SELECT max(item_id) AS item_id, max(added_at) FILTER (role IS NOT NULL) AS said_at FROM session_items_stored
    WHERE namespace = $namespace AND session_id = $session_id AND removed_at = forever()
), last_said AS (
    SELECT min(item_id) AS item_id FROM session_items_stored
    WHERE namespace = $namespace AND session_id = $session_id AND removed_at = forever()
      AND added_at = (SELECT said_at FROM newest)
)
SELECT 'tail' AS part, item_id, place, item_json, NULL AS type, NULL AS call_id, NULL AS text FROM tail
UNION ALL SELECT 'user', item_id, NULL, NULL, NULL, NULL, text FROM last_user
UNION ALL SELECT 'call', item_id, NULL, NULL, type, call_id, NULL FROM waiting
UNION ALL SELECT 'last', item_id, NULL, NULL, NULL, NULL, NULL FROM newest WHERE item_id IS NOT NULL
UNION ALL SELECT 'said', item_id, NULL, NULL, NULL, NULL, NULL FROM last_said WHERE item_id IS NOT NULL
UNION ALL SELECT 'session', NULL, NULL, NULL, NULL, NULL, NULL FROM sessions
          WHERE namespace = $namespace AND session_id = $session_id
ORDER BY part, place, item_id;

-- name: insert_session_items
-- A batch of items, each at its place in the order of reading.
INSERT INTO session_items_stored
SELECT item_id, $namespace, $session_id, place, item_json, type, role, call_id, text, $added_at, forever(), $run_id
FROM (SELECT unnest($item_ids::BIGINT[]) AS item_id, unnest($places::BIGINT[]) AS place,
             unnest($items::VARCHAR[]) AS item_json, unnest($types::VARCHAR[]) AS type,
             unnest($roles::VARCHAR[]) AS role, unnest($call_ids::VARCHAR[]) AS call_id,
             unnest($texts::VARCHAR[]) AS text);

-- name: session_items_known
-- The newest items of a session as it was known at a moment, newest first; all of them when $limit is NULL.
SELECT place, item_id, item_json FROM session_items_stored
WHERE namespace = $namespace AND session_id = $session_id AND added_at <= $known_at AND $known_at < removed_at
ORDER BY place DESC, item_id DESC LIMIT $limit;

-- name: calls_of_one_breath
-- The calls among some items that came in a batch with the newest of given call ids, or else in the newest batch.
WITH waiting AS (
    SELECT item_id, type, call_id, added_at FROM session_items_stored
    WHERE list_contains($item_ids::BIGINT[], item_id) AND added_at <= $until
), named AS (
    SELECT max(added_at) AS added_at FROM waiting WHERE list_contains($call_ids::VARCHAR[], call_id) GROUP BY call_id
), breath AS (
    SELECT added_at FROM named
    UNION SELECT max(added_at) FROM waiting WHERE NOT EXISTS (SELECT 1 FROM named)
)
SELECT item_id, type, call_id FROM waiting WHERE added_at IN (SELECT added_at FROM breath)
ORDER BY item_id;

-- name: close_session_items
-- Take items out of a session; they stay readable as of an earlier moment.
UPDATE session_items_stored SET removed_at = $removed_at
WHERE list_contains($item_ids, item_id) AND namespace = $namespace AND session_id = $session_id
  AND removed_at = forever();

-- name: close_session
-- Take every item out of a session.
UPDATE session_items_stored SET removed_at = $removed_at
WHERE namespace = $namespace AND session_id = $session_id AND removed_at = forever()
RETURNING item_id;

-- name: close_items_of_run
-- Take the items out of a session that a run added above a watermark.
UPDATE session_items_stored SET removed_at = $removed_at
WHERE namespace = $namespace AND session_id = $session_id AND run_id = $run_id AND item_id > $watermark
  AND removed_at = forever()
RETURNING item_id;

-- name: read_session
-- The items of a session as it was known at a moment, in the order of reading; those of its last $turns turns, or all.
SELECT item_id, session_id, item_json, type, role, turn, text, added_at
FROM session_items_at($known_at::TIMESTAMP)
WHERE namespace = $namespace AND session_id = $session_id
QUALIFY $turns IS NULL OR turn > greatest(max(turn) OVER () - $turns, 0)
ORDER BY position;

-- name: list_sessions
-- The sessions of a namespace as they were known at a moment, oldest first.
SELECT s.session_id, s.created_at, count(i.item_id) AS items, count(*) FILTER (i.role = 'user') AS turns,
       min(i.added_at) AS first_at, max(i.added_at) AS last_at
FROM sessions s
LEFT JOIN session_items_stored i ON i.namespace = s.namespace AND i.session_id = s.session_id
    AND i.added_at <= $known_at AND $known_at < i.removed_at
WHERE s.namespace = $namespace AND s.created_at <= $known_at
GROUP BY s.session_id, s.created_at
ORDER BY s.created_at, s.session_id;

-- name: sessions_mentioning
-- In which sessions of a namespace somebody said a name that an entity answers to; a single row without a session when
-- nobody did, and none when there is no such entity. The nearest namespace says which entity a name means.
WITH entity AS (
    SELECT entity_id FROM entity_aliases
    WHERE alias_key = $name_key AND list_contains($visible, namespace) AND tx_from <= $known_at AND $known_at < tx_to
    ORDER BY list_position($visible, namespace) LIMIT 1
), names AS (
    SELECT DISTINCT word_line(alias) AS line, split_part(word_line(alias), ' ', 2) AS first_word
    FROM entity_aliases JOIN entity USING (entity_id)
    WHERE list_contains($visible, namespace) AND tx_from <= $known_at AND $known_at < tx_to AND line <> '  '
), said AS (
    SELECT session_id, item_id, added_at, text FROM session_items_stored
    WHERE namespace = $namespace AND added_at <= $known_at AND $known_at < removed_at
      AND role IS NOT NULL AND text IS NOT NULL
), mentions AS (
    SELECT DISTINCT session_id, item_id, added_at FROM said, names
    WHERE CASE WHEN contains(folded(text), first_word) THEN contains(word_line(text), line) ELSE false END
)
SELECT m.* FROM entity LEFT JOIN (
    SELECT session_id, count(*) AS items, min(item_id) AS first_item, min(added_at) AS first_at,
           max(item_id) AS last_item, max(added_at) AS last_at
    FROM mentions GROUP BY session_id) m ON true
ORDER BY m.first_item;

-- name: facts_written_in
-- What a session wrote, in the order of writing.
SELECT * FROM facts_written_at($valid_at::TIMESTAMP, $known_at::TIMESTAMP)
WHERE namespace = $namespace AND session_id = $session_id
ORDER BY written_at, length(fact_id), fact_id;

-- name: insert_session
-- A session exists from its first item on.
INSERT INTO sessions VALUES ($namespace, $session_id, $created_at, $continues);

-- name: session_exists
-- Whether there is such a session.
SELECT session_id FROM sessions WHERE namespace = $namespace AND session_id = $session_id;

-- name: lost_calls
-- The calls of some ids that were taken out of a branch, each as it stood last.
SELECT call_id, arg_max(item_json, item_id) AS item_json FROM items_of_branches
WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch
  AND list_contains($call_ids::VARCHAR[], call_id) AND NOT ends_with(type, '_output') AND removed_at < forever()
GROUP BY call_id;

-- name: load_session
-- What a process keeps of a branch of a session, each part in the order in which it came.
-- Its newest items and one more, its newest user item, where the newest batch with a message in it begins, and the
-- calls that may wait for an output with the outputs that answered others of the same id.
WITH items AS (
    SELECT item_id, place, item_json, type, role, call_id, text, added_at FROM items_of_branches
    WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch AND removed_at = forever()
), tail AS (
    SELECT item_id, place, item_json, role FROM items ORDER BY place DESC, item_id DESC LIMIT $tail + 1
), last_user AS (
    SELECT item_id, text FROM items WHERE role = 'user' ORDER BY item_id DESC LIMIT 1
), calls AS (
    SELECT item_id, type, call_id,
           sum(CASE WHEN ends_with(type, '_output') THEN -1 ELSE 1 END)
               OVER (PARTITION BY call_id ORDER BY item_id DESC) AS waiting
    FROM items WHERE call_id IS NOT NULL
), waiting AS (
    SELECT item_id, type, call_id FROM calls QUALIFY max(waiting) OVER (PARTITION BY call_id) > 0
), newest AS (
    SELECT max(item_id) AS item_id, max(added_at) FILTER (role IS NOT NULL) AS said_at FROM items
), last_said AS (
    SELECT min(item_id) AS item_id FROM items WHERE added_at = (SELECT said_at FROM newest)
)
SELECT 'tail' AS part, item_id, place, item_json, NULL AS type, role, NULL AS call_id, NULL AS text FROM tail
UNION ALL SELECT 'user', item_id, NULL, NULL, NULL, NULL, NULL, text FROM last_user
UNION ALL SELECT 'call', item_id, NULL, NULL, type, NULL, call_id, NULL FROM waiting
UNION ALL SELECT 'last', item_id, NULL, NULL, NULL, NULL, NULL, NULL FROM newest WHERE item_id IS NOT NULL
UNION ALL SELECT 'said', item_id, NULL, NULL, NULL, NULL, NULL, NULL FROM last_said WHERE item_id IS NOT NULL
UNION ALL SELECT 'session', NULL, NULL, NULL, NULL, NULL, NULL, continues FROM sessions
          WHERE namespace = $namespace AND session_id = $session_id
            AND ($branch = 'main' OR EXISTS (
                SELECT 1 FROM session_branches b
                WHERE b.namespace = $namespace AND b.session_id = $session_id AND b.branch = $branch
                  AND b.deleted_at = forever()))
ORDER BY part, place, item_id;

-- name: insert_session_items
-- A batch of items, each at its place in the order of reading; what was spent on it stands with the first.
INSERT INTO session_items_stored
SELECT item_id, $namespace, $session_id, $branch, place, item_json, type, role, call_id, tool, text, names, folded,
       CASE WHEN item_id = $first_id THEN $usage END, $added_at, forever(), $run_id
FROM incoming;

-- name: session_items_known
-- The newest items of a branch as it was known at a moment, newest first; all of them when $limit is NULL.
SELECT place, item_id, item_json, coalesce(role = 'user', false) AS is_user FROM items_of_branches
WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch
  AND since <= $known_at AND $known_at < removed_at
ORDER BY place DESC, item_id DESC LIMIT $limit;

-- name: session_turns_known
-- The items of the newest turns of a branch as it was known at a moment, newest first.
WITH items AS (
    SELECT place, item_id, item_json, coalesce(role = 'user', false) AS is_user FROM items_of_branches
    WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch
      AND since <= $known_at AND $known_at < removed_at
), first_turn AS (
    SELECT place, item_id FROM items WHERE is_user ORDER BY place DESC, item_id DESC LIMIT 1 OFFSET ($turns - 1)
)
SELECT i.* FROM items i LEFT JOIN first_turn f ON true
WHERE f.item_id IS NULL OR (i.place, i.item_id) >= (f.place, f.item_id)
ORDER BY i.place DESC, i.item_id DESC;

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
-- Take items out of the branch that they were said in; they stay readable as of an earlier moment.
UPDATE session_items_stored SET removed_at = $removed_at
WHERE list_contains($item_ids, item_id) AND namespace = $namespace AND session_id = $session_id AND branch = $branch
  AND removed_at = forever();

-- name: close_inherited_items
-- Take items out of a branch that began with them.
UPDATE inherited_items SET removed_at = $removed_at
WHERE list_contains($item_ids, item_id) AND namespace = $namespace AND session_id = $session_id AND branch = $branch
  AND removed_at = forever();

-- name: close_items_of_session
-- Take every item out of the branches that they were said in: of one branch, or of all.
UPDATE session_items_stored SET removed_at = $removed_at
WHERE namespace = $namespace AND session_id = $session_id AND ($branch IS NULL OR branch = $branch)
  AND removed_at = forever()
RETURNING item_id;

-- name: close_inherited_of_session
-- Take every item out of the branches that began with them: of one branch, or of all.
UPDATE inherited_items SET removed_at = $removed_at
WHERE namespace = $namespace AND session_id = $session_id AND ($branch IS NULL OR branch = $branch)
  AND removed_at = forever()
RETURNING item_id;

-- name: close_items_of_run
-- Take the items out of a branch that a run added above a watermark.
UPDATE session_items_stored SET removed_at = $removed_at
WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch AND run_id = $run_id
  AND item_id > $watermark AND removed_at = forever()
RETURNING item_id;

-- name: add_usage
-- Count what was spent with an item, besides what is counted there.
UPDATE session_items_stored SET usage = {
    'requests': coalesce(usage.requests, 0) + $requests,
    'input_tokens': coalesce(usage.input_tokens, 0) + $input_tokens,
    'output_tokens': coalesce(usage.output_tokens, 0) + $output_tokens,
    'total_tokens': coalesce(usage.total_tokens, 0) + $total_tokens,
    'cached_tokens': coalesce(usage.cached_tokens, 0) + $cached_tokens,
    'cache_write_tokens': coalesce(usage.cache_write_tokens, 0) + $cache_write_tokens,
    'reasoning_tokens': coalesce(usage.reasoning_tokens, 0) + $reasoning_tokens}
WHERE item_id = $item_id;

-- name: session_usage
-- What the model calls of a session cost, in all of its branches, what was taken away since included.
SELECT (SELECT count(DISTINCT item_id) FROM session_turns_at($known_at::TIMESTAMP)
        WHERE namespace = $namespace AND session_id = $session_id AND requests > 0) AS turns,
       coalesce(sum(usage.requests), 0)::BIGINT AS requests,
       coalesce(sum(usage.input_tokens), 0)::BIGINT AS input_tokens,
       coalesce(sum(usage.output_tokens), 0)::BIGINT AS output_tokens,
       coalesce(sum(usage.total_tokens), 0)::BIGINT AS total_tokens,
       coalesce(sum(usage.cached_tokens), 0)::BIGINT AS cached_tokens,
       coalesce(sum(usage.cache_write_tokens), 0)::BIGINT AS cache_write_tokens,
       coalesce(sum(usage.reasoning_tokens), 0)::BIGINT AS reasoning_tokens
FROM session_items_stored
WHERE namespace = $namespace AND session_id = $session_id AND added_at <= $known_at;

-- name: begin_of_turn
-- The user item that begins a turn of a branch.
SELECT place, item_id FROM items_of_branches
WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch AND role = 'user'
  AND removed_at = forever()
ORDER BY place, item_id LIMIT 1 OFFSET ($turn - 1);

-- name: branch_names
-- Every name of a branch that a session ever had, besides main.
SELECT branch, deleted_at FROM session_branches WHERE namespace = $namespace AND session_id = $session_id;

-- name: insert_branch
-- A branch, as yet without an item.
INSERT INTO session_branches
VALUES ($namespace, $session_id, $branch, $parent, $from_turn, $created_at, forever());

-- name: inherit_items
-- Let a branch begin with the items of its parent that are read before a given one.
INSERT INTO inherited_items
SELECT $namespace, $session_id, $branch, item_id, $since, forever() FROM items_of_branches
WHERE namespace = $namespace AND session_id = $session_id AND branch = $parent AND removed_at = forever()
  AND (place, item_id) < ($before_place, $before_id)
RETURNING item_id;

-- name: delete_branch
-- End a branch; its name stays taken.
UPDATE session_branches SET deleted_at = $deleted_at
WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch AND deleted_at = forever()
RETURNING branch;

-- name: list_branches
-- The branches of a session as they were known at a moment, main first.
WITH branches AS (
    SELECT 'main' AS branch, NULL AS parent, NULL AS from_turn, created_at FROM sessions
    WHERE namespace = $namespace AND session_id = $session_id AND created_at <= $known_at
    UNION ALL
    SELECT branch, parent, from_turn, created_at FROM session_branches
    WHERE namespace = $namespace AND session_id = $session_id AND created_at <= $known_at AND $known_at < deleted_at
)
SELECT b.branch, b.parent, b.from_turn, b.created_at, count(i.item_id) AS items,
       count(*) FILTER (i.role = 'user') AS turns
FROM branches b
LEFT JOIN items_of_branches i ON i.namespace = $namespace AND i.session_id = $session_id AND i.branch = b.branch
    AND i.since <= $known_at AND $known_at < i.removed_at
GROUP BY b.branch, b.parent, b.from_turn, b.created_at
ORDER BY b.created_at, b.branch <> 'main', b.branch;

-- name: read_session
-- The items of a branch as it was known at a moment, in the order of reading, or newest first where a limit counts back:
-- those of its last turns, those between two items, or all.
WITH items AS (
    SELECT * FROM session_items_at($known_at::TIMESTAMP)
    WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch
), low AS (
    SELECT place, item_id FROM items_of_branches
    WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch AND item_id = $after
), high AS (
    SELECT place, item_id FROM items_of_branches
    WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch AND item_id = $before
)
SELECT item_id, session_id, branch, item_json, type, role, tool, turn, text, added_at, run_id, position
FROM items
WHERE ($turns IS NULL OR turn > (SELECT max(turn) FROM items) - $turns)
  AND ($after IS NULL OR (place, item_id) > (SELECT (place, item_id) FROM low))
  AND ($before IS NULL OR (place, item_id) < (SELECT (place, item_id) FROM high))
ORDER BY CASE WHEN $backwards THEN -position ELSE position END
LIMIT $limit;

-- name: item_was_in
-- An item of a branch, whether or not it is still there.
SELECT item_id FROM items_of_branches
WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch AND item_id = $item_id;

-- name: session_turns
-- The turns of a branch as it was known at a moment.
SELECT session_id, branch, said_in, turn, item_id, said, items, started_at, ended_at, tools, requests, input_tokens,
       output_tokens, total_tokens, cached_tokens, cache_write_tokens, reasoning_tokens
FROM session_turns_at($known_at::TIMESTAMP)
WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch
ORDER BY turn;

-- name: item_in_context
-- An item with its neighbours in a branch as it was known at a moment: when $branch is NULL, in the branch that it was
-- said in, or in the first that still holds it.
WITH items AS (
    SELECT * FROM session_items_at($known_at::TIMESTAMP)
    WHERE namespace = $namespace AND session_id = (
        SELECT session_id FROM session_items_stored WHERE item_id = $item_id AND namespace = $namespace)
      AND branch = coalesce($branch, (
        SELECT branch FROM items_of_branches
        WHERE item_id = $item_id AND since <= $known_at AND $known_at < removed_at
        ORDER BY branch <> said_in, branch LIMIT 1))
), asked AS (
    SELECT position AS middle FROM items WHERE item_id = $item_id
)
SELECT item_id, session_id, branch, item_json, type, role, tool, turn, text, added_at, run_id, position
FROM items, asked WHERE position BETWEEN middle - $around AND middle + $around
ORDER BY position;

-- name: thread
-- The items of a session and of those it continues, oldest first, on their main branches.
WITH RECURSIVE chain AS (
    SELECT session_id, continues, 0 AS back FROM sessions
    WHERE namespace = $namespace AND session_id = $session_id AND created_at <= $known_at
    UNION ALL
    SELECT s.session_id, s.continues, back + 1 FROM chain JOIN sessions s
        ON s.namespace = $namespace AND s.session_id = chain.continues AND s.created_at <= $known_at
)
SELECT item_id, i.session_id, branch, item_json, type, role, tool, turn, text, added_at, run_id, position
FROM session_items_at($known_at::TIMESTAMP) i JOIN chain USING (session_id)
WHERE i.namespace = $namespace AND branch = 'main'
ORDER BY back DESC, position;

-- name: index_items
-- What was ever said in a namespace and in which branches, for its read index: the items themselves, in the order of their
-- ids, then what branches began with. Times in microseconds.
SELECT item_id, session_id, branch, text,
       coalesce(role, CASE WHEN tool IS NOT NULL OR ends_with(type, '_output') THEN 'tool' END) AS speaker,
       false AS inherited, epoch_us(added_at) AS since, epoch_us(removed_at) AS removed_at
FROM session_items_stored WHERE namespace = $namespace AND text IS NOT NULL
UNION ALL
SELECT h.item_id, h.session_id, h.branch, NULL, NULL, true, epoch_us(h.since), epoch_us(h.removed_at)
FROM inherited_items h JOIN session_items_stored i USING (item_id)
WHERE h.namespace = $namespace AND i.text IS NOT NULL
ORDER BY inherited, item_id;

-- name: found_items
-- Items of some sessions as they were known at a moment, each once: as it is read in main, or else in the branch it was
-- said in, or else in another that holds it.
WITH read AS (
    SELECT item_id, branch, turn, position FROM session_items_at($known_at::TIMESTAMP)
    WHERE namespace = $namespace AND list_contains($session_ids::VARCHAR[], session_id)
)
SELECT i.item_id, i.session_id, r.branch, i.item_json, i.type, i.role, i.tool, r.turn, i.text, i.added_at, i.run_id,
       r.position
FROM session_items_stored i JOIN read r USING (item_id)
WHERE i.namespace = $namespace AND i.item_id IN (SELECT unnest($item_ids::BIGINT[]))
QUALIFY row_number() OVER (PARTITION BY i.item_id ORDER BY r.branch <> 'main', r.branch <> i.branch, r.branch) = 1;

-- name: newest_messages
-- The newest messages of a branch, newest first, as they are or as they were known at a moment: of each one character more
-- than are looked at, and with each how many messages there are.
SELECT item_id, role, left(text, $chars + 1) AS text, count(*) OVER () AS messages
FROM items_of_branches
WHERE namespace = $namespace AND session_id = $session_id AND branch = $branch
  AND role IN ('user', 'assistant') AND text IS NOT NULL
  AND CASE WHEN $known_at::TIMESTAMP IS NULL THEN removed_at = forever()
           ELSE since <= $known_at AND $known_at < removed_at END
ORDER BY place DESC, item_id DESC LIMIT $limit;

-- name: list_sessions
-- The sessions of a namespace as they were known at a moment, oldest first, a page at a time.
WITH page AS (
    SELECT session_id, created_at, continues FROM sessions
    WHERE namespace = $namespace AND created_at <= $known_at
      AND ($after IS NULL OR (created_at, session_id) > (
          SELECT (created_at, session_id) FROM sessions WHERE namespace = $namespace AND session_id = $after))
    ORDER BY created_at, session_id LIMIT $limit
)
SELECT s.session_id, s.created_at, s.continues, count(i.item_id) AS items, count(*) FILTER (i.role = 'user') AS turns,
       min(i.added_at) AS first_at, max(i.added_at) AS last_at
FROM page s
LEFT JOIN items_of_branches i ON i.namespace = $namespace AND i.session_id = s.session_id AND i.branch = 'main'
    AND i.since <= $known_at AND $known_at < i.removed_at
GROUP BY s.session_id, s.created_at, s.continues
ORDER BY s.created_at, s.session_id;

-- name: known_names
-- The names given in a namespace and what each is looked up by.
SELECT alias, alias_key FROM entity_aliases WHERE namespace = $namespace AND tx_to = forever();

-- name: entities_mentioned
-- The entities that the messages of a session name, in any of its branches, the most mentioned first.
SELECT m.entity_id, e.name, count(DISTINCT m.item_id) AS items, min(m.item_id) AS first_item,
       min(m.added_at) AS first_at, max(m.item_id) AS last_item, max(m.added_at) AS last_at
FROM mentions_at($known_at::TIMESTAMP) m JOIN entities e USING (entity_id)
WHERE m.namespace = $namespace AND m.session_id = $session_id
GROUP BY m.entity_id, e.name
ORDER BY items DESC, first_item, m.entity_id;

-- name: sessions_mentioning
-- In which sessions of a namespace somebody said a name that an entity answers to; a single row without a session when
-- nobody did, and none when there is no such entity.
SELECT m.session_id, count(DISTINCT m.item_id) AS items, min(m.item_id) AS first_item, min(m.added_at) AS first_at,
       max(m.item_id) AS last_item, max(m.added_at) AS last_at
FROM entity_named($visible, $name_key, $known_at::TIMESTAMP) e
LEFT JOIN mentions_at($known_at::TIMESTAMP) m ON m.entity_id = e.entity_id AND m.namespace = $namespace
GROUP BY m.session_id
ORDER BY first_item;

-- name: items_about
-- The messages of a namespace that name an entity, or one that relations tie to it, the nearest entity first; a single
-- row without an item when nothing does, and none when there is no such entity.
WITH RECURSIVE ties AS (
    SELECT source_id AS one, target_id AS other FROM relations_at($visible, $valid_at::TIMESTAMP, $known_at::TIMESTAMP)
    UNION SELECT target_id, source_id FROM relations_at($visible, $valid_at::TIMESTAMP, $known_at::TIMESTAMP)
), reached AS (
    SELECT entity_id, 0 AS hops FROM entity_named($visible, $name_key, $known_at::TIMESTAMP)
    UNION
    SELECT other, hops + 1 FROM reached JOIN ties ON one = entity_id WHERE hops < $hops
), near AS (
    SELECT entity_id, min(hops) AS hops FROM reached GROUP BY entity_id
), said AS (
    SELECT item_id, arg_min(near.entity_id, (near.hops, near.entity_id)) AS entity_id, min(near.hops) AS hops
    FROM mentions_at($known_at::TIMESTAMP) m JOIN near USING (entity_id)
    WHERE m.namespace = $namespace
    GROUP BY item_id
), found AS (
    SELECT said.hops, e.name AS entity, i.item_id, i.session_id, i.branch, i.item_json, i.type, i.role, i.tool, i.turn,
           i.text, i.added_at, i.run_id, i.position
    FROM said JOIN entities e USING (entity_id)
    JOIN session_items_at($known_at::TIMESTAMP) i ON i.item_id = said.item_id AND i.namespace = $namespace
    QUALIFY row_number() OVER (PARTITION BY i.item_id ORDER BY i.branch <> 'main', i.branch) = 1
)
SELECT found.* FROM entity_named($visible, $name_key, $known_at::TIMESTAMP) LEFT JOIN found ON true
ORDER BY hops, item_id DESC
LIMIT $limit;

-- name: sessions_behind
-- The conversations that a fact rests on, each time with what they did: those that wrote a version of it or of what it
-- superseded, and those that said the same again.
WITH RECURSIVE line AS (
    SELECT $fact_id::BIGINT AS fact_id
    UNION
    SELECT v.supersedes FROM line JOIN fact_versions v USING (fact_id)
    WHERE v.supersedes IS NOT NULL AND v.tx_from <= $known_at
), behind AS (
    SELECT v.fact_id, v.version, v.change, v.tx_from AS told_at, v.session_id, v.item_id, v.namespace
    FROM fact_versions v JOIN line USING (fact_id)
    WHERE v.change IN ('created', 'corrected') AND v.tx_from <= $known_at
    UNION ALL
    SELECT x.fact_id, x.version, 'reinforced', x.recorded_at, x.session_id, x.item_id, v.namespace
    FROM evidence x JOIN line USING (fact_id)
    JOIN fact_versions v ON v.fact_id = x.fact_id AND v.version = x.version
    WHERE x.reinforces AND x.recorded_at <= $known_at
)
SELECT b.session_id, 'f' || b.fact_id AS fact_id, b.version, b.change, b.told_at, 'i' || b.item_id AS item_id, i.text
FROM behind b LEFT JOIN session_items_stored i ON i.item_id = b.item_id AND i.namespace = b.namespace
WHERE b.session_id IS NOT NULL AND list_contains($visible, b.namespace)
ORDER BY b.told_at, b.fact_id, b.version;

-- name: usage_by_entity
-- What the turns cost in which an entity is named, and the tools called in them, the dearest entity first. A turn that
-- names several entities counts for each; one that several branches share counts once.
WITH turn_of AS (
    SELECT item_id, min((branch <> 'main', branch, turn)) AS at_turn FROM session_items_at($known_at::TIMESTAMP)
    WHERE namespace = $namespace GROUP BY item_id
), named AS (
    SELECT DISTINCT m.entity_id, m.session_id, t.at_turn[2] AS branch, t.at_turn[3] AS turn
    FROM mentions_at($known_at::TIMESTAMP) m JOIN turn_of t USING (item_id)
    WHERE m.namespace = $namespace
), counted AS (
    SELECT named.entity_id, t.* FROM named JOIN session_turns_at($known_at::TIMESTAMP) t
        ON t.namespace = $namespace AND t.session_id = named.session_id AND t.branch = named.branch
            AND t.turn = named.turn
)
SELECT c.entity_id, e.name, count(DISTINCT c.session_id) AS sessions, count(*) AS turns,
       sum(c.requests)::BIGINT AS requests, sum(c.input_tokens)::BIGINT AS input_tokens,
       sum(c.output_tokens)::BIGINT AS output_tokens, sum(c.total_tokens)::BIGINT AS total_tokens,
       sum(c.cached_tokens)::BIGINT AS cached_tokens, sum(c.cache_write_tokens)::BIGINT AS cache_write_tokens,
       sum(c.reasoning_tokens)::BIGINT AS reasoning_tokens, flatten(list(c.tools)) AS tools
FROM counted c JOIN entities e USING (entity_id)
GROUP BY c.entity_id, e.name
ORDER BY total_tokens DESC, turns DESC, c.entity_id;

-- name: facts_written_in
-- What a session wrote, in the order of writing.
SELECT * FROM facts_written_at($valid_at::TIMESTAMP, $known_at::TIMESTAMP)
WHERE namespace = $namespace AND session_id = $session_id
ORDER BY written_at, length(fact_id), fact_id;

-- name: export_items
-- The items of every branch of a session, as it was known at a moment.
SELECT item_id, session_id, branch, item_json, type, role, tool, turn, text, added_at, run_id, position
FROM session_items_at($known_at::TIMESTAMP)
WHERE namespace = $namespace AND session_id = $session_id
ORDER BY branch <> 'main', branch, position;

-- name: runs_not_over_in
-- The runs of a session, or of one branch of it, that may still go on, oldest first.
SELECT run_id FROM parked_runs
WHERE namespace = $namespace AND session_id = $session_id AND ($branch IS NULL OR branch = $branch)
  AND may_go_on(status)
ORDER BY run_id;

-- name: old_sessions
-- The sessions of a namespace that nothing was added to since a moment, oldest first, and whether a run of theirs waits.
SELECT s.session_id, EXISTS (
           SELECT 1 FROM parked_runs p
           WHERE p.namespace = s.namespace AND p.session_id = s.session_id AND may_go_on(p.status)
       ) AS waits
FROM sessions s LEFT JOIN session_items_stored i USING (namespace, session_id)
WHERE s.namespace = $namespace
GROUP BY s.namespace, s.session_id, s.created_at
HAVING coalesce(max(i.added_at), s.created_at) < $before
ORDER BY s.created_at, s.session_id;

-- name: delete_items
-- Delete every item of some sessions.
DELETE FROM session_items_stored WHERE namespace = $namespace AND list_contains($session_ids::VARCHAR[], session_id)
RETURNING item_id;

-- name: delete_inherited
-- Delete what the branches of some sessions began with.
DELETE FROM inherited_items WHERE namespace = $namespace AND list_contains($session_ids::VARCHAR[], session_id);

-- name: delete_branches
-- Delete the branches of some sessions.
DELETE FROM session_branches WHERE namespace = $namespace AND list_contains($session_ids::VARCHAR[], session_id);

-- name: delete_sessions
-- Delete some sessions.
DELETE FROM sessions WHERE namespace = $namespace AND list_contains($session_ids::VARCHAR[], session_id);

-- name: end_continuing
-- Let the sessions that continue deleted ones begin by themselves.
UPDATE sessions SET continues = NULL
WHERE namespace = $namespace AND list_contains($session_ids::VARCHAR[], continues)
RETURNING session_id;

-- name: delete_states_of_sessions
-- Delete the saved states of the runs of some sessions, which hold what was said.
DELETE FROM run_states WHERE run_id IN (
    SELECT run_id FROM parked_runs WHERE namespace = $namespace AND list_contains($session_ids::VARCHAR[], session_id))
RETURNING run_id;

-- name: empty_runs
-- Forget how the runs of deleted sessions ended.
UPDATE parked_runs SET result = NULL
WHERE namespace = $namespace AND list_contains($session_ids::VARCHAR[], session_id);

-- name: empty_decisions
-- Forget the arguments that a reviewer gave a request of deleted sessions, unless memory learnt them.
UPDATE decisions_made SET arguments = NULL WHERE request_id IN (
    SELECT r.request_id FROM approval_requests r JOIN parked_runs p USING (run_id)
    WHERE p.namespace = $namespace AND list_contains($session_ids::VARCHAR[], p.session_id)
      AND NOT (r.status = 'done' AND r.operation IS NOT NULL));

-- name: empty_requests
-- Forget what the runs of deleted sessions asked for, unless memory learnt it.
UPDATE approval_requests
SET arguments = CASE WHEN status = 'done' AND operation IS NOT NULL THEN coalesce(final_arguments, arguments) ELSE '{}' END,
    final_arguments = CASE WHEN status = 'done' AND operation IS NOT NULL THEN final_arguments END,
    preview = CASE WHEN status = 'done' AND operation IS NOT NULL THEN preview ELSE '{"changes": [], "problem": null}' END
WHERE run_id IN (
    SELECT run_id FROM parked_runs WHERE namespace = $namespace AND list_contains($session_ids::VARCHAR[], session_id));

-- name: delete_taken_away
-- Delete the items that were taken out of every branch before a moment, where no run may still need them.
DELETE FROM session_items_stored i WHERE namespace = $namespace AND removed_at < $before AND item_id NOT IN (
    SELECT item_id FROM inherited_items WHERE namespace = $namespace AND removed_at >= $before)
  AND NOT EXISTS (SELECT 1 FROM parked_runs p WHERE p.namespace = i.namespace AND p.session_id = i.session_id
                  AND may_go_on(p.status))
RETURNING item_id;

-- name: delete_left_branches
-- Forget which items left a branch before a moment that they were not said in.
DELETE FROM inherited_items h WHERE namespace = $namespace AND removed_at < $before
  AND NOT EXISTS (SELECT 1 FROM parked_runs p WHERE p.namespace = h.namespace AND p.session_id = h.session_id
                  AND may_go_on(p.status))
RETURNING item_id;

-- name: keep_last_id
-- Remember the highest item id ever given.
INSERT OR REPLACE INTO ids_given
SELECT $kind, greatest((SELECT coalesce(max(item_id), 0) FROM session_items_stored),
                       (SELECT coalesce(max(last_id), 0) FROM ids_given WHERE kind = $kind));

-- name: rename_sessions
-- Give a session another id: the session itself.
UPDATE sessions SET session_id = $new WHERE namespace = $namespace AND session_id = $old;

-- name: rename_continued
-- Give a session another id: where another continues it.
UPDATE sessions SET continues = $new WHERE namespace = $namespace AND continues = $old
RETURNING session_id;

-- name: rename_branches
-- Give a session another id: its branches.
UPDATE session_branches SET session_id = $new WHERE namespace = $namespace AND session_id = $old;

-- name: rename_items
-- Give a session another id: its items.
UPDATE session_items_stored SET session_id = $new WHERE namespace = $namespace AND session_id = $old;

-- name: rename_inherited
-- Give a session another id: what its branches began with.
UPDATE inherited_items SET session_id = $new WHERE namespace = $namespace AND session_id = $old;

-- name: rename_facts
-- Give a session another id: what it wrote.
UPDATE fact_versions SET session_id = $new WHERE namespace = $namespace AND session_id = $old;

-- name: rename_relations
-- Give a session another id: the relations that it tied.
UPDATE relation_versions SET session_id = $new WHERE namespace = $namespace AND session_id = $old;

-- name: rename_episodes
-- Give a session another id: the words that were kept of it.
UPDATE episodes SET session_id = $new WHERE namespace = $namespace AND session_id = $old;

-- name: rename_evidence
-- Give a session another id: where it said something again.
UPDATE evidence SET session_id = $new WHERE session_id = $old
  AND fact_id IN (SELECT fact_id FROM fact_versions WHERE namespace = $namespace);

-- name: rename_runs
-- Give a session another id: its runs.
UPDATE parked_runs SET session_id = $new WHERE namespace = $namespace AND session_id = $old;

-- name: rename_requests
-- Give a session another id: the requests of its runs, also those to write in a namespace below.
UPDATE approval_requests SET session_id = $new WHERE session_id = $old AND (namespace = $namespace OR run_id IN (
    SELECT run_id FROM parked_runs WHERE namespace = $namespace AND session_id = $new));

-- name: rename_effects
-- Give a session another id: what its calls did.
UPDATE effects SET session_id = $new WHERE namespace = $namespace AND session_id = $old;

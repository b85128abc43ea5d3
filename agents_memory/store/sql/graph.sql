-- name: add_namespace
-- A namespace exists once something was written in it.
INSERT INTO namespaces VALUES ($namespace, $created_at) ON CONFLICT DO NOTHING;

-- name: list_namespaces
-- Every namespace of the file.
SELECT namespace FROM namespaces ORDER BY namespace;

-- name: insert_fact_version
-- One state of a fact.
INSERT INTO fact_versions (
    fact_id, version, namespace, content, content_key, kind, importance, confidence, pinned, entity_ids,
    valid_from, valid_to, tx_from, tx_to, change, supersedes, reason,
    writer, session_id, item_id, run_id, call_id, request_id, salt)
VALUES (
    $fact_id, $version, $namespace, $content, $content_key, $kind, $importance,
    $confidence, $pinned, $entity_ids, $valid_from, coalesce($valid_to, forever()), $tx_from, forever(), $change,
    $supersedes, $reason, $writer, $session_id, $item_id, $run_id, $call_id, $request_id, $salt);

-- name: close_fact_version
-- End belief in the open version; returns no row when another writer was first.
UPDATE fact_versions
SET tx_to = $tx_to, closed_as = $closed_as, closed_by = $closed_by, close_reason = $close_reason
WHERE fact_id = $fact_id AND version = $version AND tx_to = forever()
RETURNING version;

-- name: last_fact_version
-- The newest version of a fact, believed or not.
SELECT * FROM fact_versions
WHERE fact_id = $fact_id AND list_contains($visible, namespace)
ORDER BY version DESC LIMIT 1;

-- name: fact_superseded_by
-- The believed fact that took the place of another, if any.
SELECT fact_id FROM fact_versions
WHERE supersedes = $fact_id AND list_contains($visible, namespace) AND tx_to = forever()
ORDER BY abs(epoch_us(valid_from) - epoch_us($ended::TIMESTAMP)), fact_id DESC LIMIT 1;

-- name: same_fact
-- The believed fact of this namespace that says the same over a time that overlaps and does not end too early, oldest first.
SELECT * FROM fact_versions
WHERE content_key = $content_key AND namespace = $namespace AND tx_to = forever()
  AND valid_from < coalesce($valid_to, forever()) AND $valid_from < valid_to AND fact_id IS DISTINCT FROM $besides
  AND CASE WHEN $valid_to::TIMESTAMP IS NULL THEN valid_to > $now ELSE valid_to >= $valid_to END
ORDER BY fact_id LIMIT 1;

-- name: facts_like
-- The believed facts over a time that overlaps about the same entities as a statement, or which begin like it where one of
-- the two names no entity; first those that hold its longest words. Kept plain: its cost is that of planning it.
SELECT fact_id, content FROM fact_versions
WHERE list_contains($visible, namespace) AND tx_to = forever()
  AND valid_from < coalesce($valid_to, forever()) AND $valid_from < valid_to
  AND NOT list_contains($besides::BIGINT[], fact_id) AND kind IS DISTINCT FROM $except_kind
  AND (list_has_any(entity_ids, $entity_ids::BIGINT[])
       OR (($is_about_nothing OR entity_ids = []) AND starts_with(lower(content), $subject)))
ORDER BY contains(lower(content), $words[1])::INTEGER + contains(lower(content), $words[2])::INTEGER
       + contains(lower(content), $words[3])::INTEGER + contains(lower(content), $words[4])::INTEGER DESC, fact_id DESC
LIMIT $limit;

-- name: fact_known
-- A fact in the version believed at a moment, with the names of its entities.
SELECT v.*, names_of(v.entity_ids) AS entities
FROM fact_versions v
WHERE v.fact_id = $fact_id AND list_contains($visible, v.namespace)
  AND v.tx_from <= $known_at AND $known_at < v.tx_to;

-- name: fact_history
-- Every version of a fact that was known at a moment, oldest first.
SELECT v.*, names_of(v.entity_ids) AS entities
FROM fact_versions v
WHERE v.fact_id = $fact_id AND list_contains($visible, v.namespace) AND v.tx_from <= $known_at
ORDER BY v.version;

-- name: list_facts
-- The facts that hold, in the order of their ids, of one entity or of all.
SELECT v.*, names_of(v.entity_ids) AS entities
FROM facts_at($visible, $valid_at, $known_at) v
WHERE v.fact_id > $after AND ($key IS NULL OR list_contains(v.entity_ids, (
    SELECT arg_min(a.entity_id, list_position($visible, a.namespace)) FROM entity_aliases a
    WHERE a.alias_key = $key AND list_contains($visible, a.namespace)
      AND a.tx_from <= $known_at AND $known_at < a.tx_to)))
ORDER BY v.fact_id LIMIT $limit;

-- name: facts_about
-- The facts that hold about any of some entities.
SELECT v.*, names_of(v.entity_ids) AS entities
FROM facts_at($visible, $valid_at, $known_at) v
WHERE list_has_any(v.entity_ids, $entity_ids);

-- name: find_names
-- Which entities some folded names mean, with the namespace each name was given in.
SELECT a.alias_key, a.entity_id, a.namespace, e.name
FROM entity_aliases a JOIN entities e USING (entity_id)
WHERE list_contains($keys, a.alias_key) AND list_contains($visible, a.namespace)
  AND a.tx_from <= $known_at AND $known_at < a.tx_to;

-- name: insert_entities
-- New entities, one a name.
INSERT INTO entities SELECT unnest($entity_ids), $namespace, unnest($names), $created_at;

-- name: insert_aliases
-- Names that entities answer to from now on.
INSERT INTO entity_aliases
SELECT $namespace, unnest($entity_ids), unnest($aliases), unnest($keys), $tx_from, forever();

-- name: entities_by_id
-- Entities with every name they answered to at a moment.
SELECT e.entity_id, e.name, e.namespace,
       (SELECT list(a.alias ORDER BY a.tx_from, a.alias) FROM entity_aliases a
        WHERE a.entity_id = e.entity_id AND a.tx_from <= $known_at AND $known_at < a.tx_to) AS aliases
FROM entities e WHERE list_contains($entity_ids, e.entity_id);

-- name: insert_relation_version
-- One state of a relation.
INSERT INTO relation_versions (
    relation_id, version, namespace, source_id, predicate, target_id, valid_from, valid_to, tx_from, tx_to, change,
    fact_id, writer, session_id, item_id, run_id, call_id, request_id, salt)
VALUES (
    $relation_id, $version, $namespace, $source_id, $predicate, $target_id,
    $valid_from, coalesce($valid_to, forever()), $tx_from, forever(), $change, $fact_id,
    $writer, $session_id, $item_id, $run_id, $call_id, $request_id, $salt);

-- name: close_relation_version
-- End belief in the open version; returns no row when another writer was first.
UPDATE relation_versions SET tx_to = $tx_to, closed_as = $closed_as, closed_by = $closed_by
WHERE relation_id = $relation_id AND version = $version AND tx_to = forever()
RETURNING version;

-- name: relations_between
-- The believed relations from one entity to another, whenever they hold.
SELECT * FROM relation_versions
WHERE source_id = $source_id AND target_id = $target_id AND list_contains($visible, namespace) AND tx_to = forever()
ORDER BY valid_from, relation_id;

-- name: restate_relation
-- A relation that was known already was stated again.
INSERT INTO relation_evidence VALUES ($relation_id, $fact_id, $recorded_at);

-- name: relations_of_fact
-- The believed relations that a fact states, with the names of their ends, and whether anything else states them too.
WITH stated AS (
    SELECT r.*, [r.fact_id] || coalesce((
        SELECT list(x.fact_id) FROM relation_evidence x WHERE x.relation_id = r.relation_id), []) AS stated_by
    FROM relation_versions r WHERE r.tx_to = forever()
)
SELECT r.* EXCLUDE (stated_by), s.name AS source, t.name AS target,
       len(r.stated_by) > list_count(r.stated_by) OR EXISTS (
           SELECT 1 FROM fact_versions f
           WHERE list_contains(r.stated_by, f.fact_id) AND f.fact_id <> $fact_id AND f.tx_to = forever()
       ) AS is_stated_elsewhere
FROM stated r
JOIN entities s ON s.entity_id = r.source_id
JOIN entities t ON t.entity_id = r.target_id
WHERE list_contains(r.stated_by, $fact_id)
ORDER BY r.relation_id;

-- name: relations_among
-- The relations that hold between any two of some entities.
SELECT r.*, s.name AS source, t.name AS target
FROM relations_at($visible, $valid_at, $known_at) r
JOIN entities s ON s.entity_id = r.source_id
JOIN entities t ON t.entity_id = r.target_id
WHERE list_contains($entity_ids, r.source_id) AND list_contains($entity_ids, r.target_id)
ORDER BY r.relation_id;

-- name: entities_within
-- Every entity within some hops of one, over the relations that hold, with its distance.
WITH RECURSIVE ties AS (
    SELECT source_id AS near, target_id AS far FROM relations_at($visible, $valid_at, $known_at)
    UNION
    SELECT target_id, source_id FROM relations_at($visible, $valid_at, $known_at)
), reach(entity_id, hops) AS (
    SELECT $entity_id::BIGINT, 0
    UNION
    SELECT ties.far, reach.hops + 1 FROM reach JOIN ties ON ties.near = reach.entity_id WHERE reach.hops < $hops
)
SELECT entity_id, min(hops) AS hops FROM reach GROUP BY entity_id ORDER BY hops, entity_id;

-- name: insert_episode
-- Words kept as evidence.
INSERT INTO episodes
VALUES ($episode_id, $namespace, $text, $source, $occurred_at, $session_id, $item_id, $tx_from, $writer, $text_key);

-- name: same_episode
-- The episode of this namespace with the same words from the same source, if it is stored already.
SELECT episode_id, namespace, text, source, occurred_at FROM episodes
WHERE text_key = $text_key AND namespace = $namespace AND text = $text AND source IS NOT DISTINCT FROM $source
ORDER BY episode_id LIMIT 1;

-- name: episode_by_id
-- An episode, if it is visible.
SELECT episode_id, namespace, text, source, occurred_at FROM episodes
WHERE episode_id = $episode_id AND list_contains($visible, namespace) AND tx_from <= $known_at;

-- name: insert_evidence
-- What a version rests on beyond its own columns, or that it was said again.
INSERT INTO evidence
VALUES ($fact_id, $version, $episode_id, $reinforces, $recorded_at, $writer, $session_id, $item_id, $run_id, $call_id,
        $request_id);

-- name: fact_provenance
-- The versions of a fact and of what it superseded, newest first, with the words and the reviewer of each.
WITH RECURSIVE chain(fact_id, step) AS (
    SELECT $fact_id::BIGINT, 0
    UNION
    SELECT v.supersedes, chain.step + 1 FROM chain JOIN fact_versions v USING (fact_id)
    WHERE v.supersedes IS NOT NULL AND v.tx_from <= $known_at
)
SELECT v.*, chain.step, i.text AS item_text, i.added_at AS item_at,
       (SELECT arg_max(d.decided_by, d.decided_at) FROM decisions_made d
        WHERE d.request_id = v.request_id AND d.decision IN ('approve', 'edit')) AS approved_by
FROM chain JOIN fact_versions v USING (fact_id)
LEFT JOIN session_items_stored i ON i.item_id = v.item_id
WHERE list_contains($visible, v.namespace) AND v.tx_from <= $known_at
ORDER BY chain.step, v.version DESC;

-- name: fact_evidence
-- The evidence rows of some facts, oldest first, with the words of each.
SELECT x.fact_id, x.version, x.episode_id, x.reinforces, x.session_id, x.item_id, x.recorded_at,
       p.text AS episode_text, p.source, p.occurred_at, i.text AS item_text, i.added_at AS item_at
FROM evidence x
LEFT JOIN episodes p USING (episode_id)
LEFT JOIN session_items_stored i ON i.item_id = x.item_id
WHERE list_contains($fact_ids, x.fact_id) AND x.recorded_at <= $known_at
ORDER BY x.recorded_at;

-- name: insert_audit
-- One line of the chain: it covers the line before it.
INSERT INTO audit
SELECT number, $namespace, $operation, $ids, $actor, $recorded_at, $commitment, previous_hash,
       sha256(concat_ws(chr(31), number, $namespace, $operation, array_to_string($ids, ','), coalesce($actor, ''),
                        epoch_us($recorded_at::TIMESTAMP), coalesce($commitment, ''), previous_hash))
FROM (SELECT coalesce(max(number), 0) + 1 AS number, coalesce(arg_max(hash, number), '') AS previous_hash
      FROM audit WHERE namespace = $namespace);

-- name: items_to_search_for_names
-- The messages of a namespace and those below that may hold one of some words, each with its words and known names.
SELECT item_id, text, names FROM session_items_stored
WHERE (namespace = $namespace OR starts_with(namespace, $namespace || '/')) AND role IS NOT NULL
  AND len(list_filter($hints::VARCHAR[], lambda hint: contains(coalesce(folded, lower(text)), hint))) > 0;

-- name: add_names
-- Further names that messages hold.
UPDATE session_items_stored SET names = list_concat(coalesce(names, []), found.more)
FROM (SELECT unnest($item_ids::BIGINT[]) AS found_id, unnest($names::VARCHAR[][]) AS more) found
WHERE item_id = found_id;

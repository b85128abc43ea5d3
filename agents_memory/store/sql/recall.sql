-- name: index_facts
-- Every version of a namespace's facts, for its read index; times in microseconds.
SELECT fact_id, version, content, kind, importance, pinned, entity_ids,
       epoch_us(valid_from) AS valid_from, epoch_us(valid_to) AS valid_to,
       epoch_us(tx_from) AS tx_from, epoch_us(tx_to) AS tx_to
FROM fact_versions WHERE namespace = $namespace ORDER BY fact_id, version;

-- name: index_relations
-- Every version of a namespace's relations, for its read index.
SELECT relation_id, version, source_id, predicate, target_id,
       epoch_us(valid_from) AS valid_from, epoch_us(valid_to) AS valid_to,
       epoch_us(tx_from) AS tx_from, epoch_us(tx_to) AS tx_to
FROM relation_versions WHERE namespace = $namespace ORDER BY relation_id, version;

-- name: index_names
-- Every name given in a namespace, with the own name of the entity that answers to it.
SELECT a.entity_id, e.name, a.alias, epoch_us(a.tx_from) AS tx_from, epoch_us(a.tx_to) AS tx_to
FROM entity_aliases a JOIN entities e USING (entity_id)
WHERE a.namespace = $namespace ORDER BY a.entity_id, a.tx_from, a.alias;

-- name: recalled_facts
-- The versions that a recall found, perhaps with further ones of the same facts; the index knows the entities' names.
SELECT fact_id, version, namespace, content, kind, importance, confidence, pinned, entity_ids,
       valid_from, valid_to, tx_from, tx_to, supersedes
FROM fact_versions
WHERE fact_id IN (SELECT unnest($fact_ids)) AND list_contains($versions, version);

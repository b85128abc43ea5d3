-- name: list_tables
-- The tables and views that the file holds, in any of its schemas, each with the names of its columns.
SELECT table_name, list(column_name) AS columns FROM information_schema.columns
WHERE table_catalog = current_database() GROUP BY ALL;

-- name: create_schema_migrations
-- The record of the steps that made the file's schema.
CREATE TABLE schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
);

-- name: last_migration
-- The highest step applied; 0 for none.
SELECT coalesce(max(number), 0) AS number FROM schema_migrations;

-- name: record_migration
-- Remember that a step was applied.
INSERT INTO schema_migrations VALUES ($number, $name, $applied_at);

-- name: last_ids
-- The last id given of each kind.
SELECT 'f' AS kind, coalesce(max(fact_id), 0) AS last_id FROM fact_versions
UNION ALL SELECT 'e', coalesce(max(entity_id), 0) FROM entities
UNION ALL SELECT 'r', coalesce(max(relation_id), 0) FROM relation_versions
UNION ALL SELECT 'p', coalesce(max(episode_id), 0) FROM episodes
UNION ALL SELECT 'i', greatest((SELECT coalesce(max(item_id), 0) FROM session_items_stored),
                               (SELECT coalesce(max(last_id), 0) FROM ids_given WHERE kind = 'i'))
UNION ALL SELECT 'n', coalesce(max(run_id), 0) FROM parked_runs
UNION ALL SELECT 'a', coalesce(max(request_id), 0) FROM approval_requests;

-- name: last_moment
-- The moment of the last commit, so that later ones never look earlier whatever the machine's clock does.
SELECT max(moment) AS moment FROM (
    SELECT max(recorded_at) AS moment FROM audit
    UNION ALL SELECT max(added_at) FROM session_items_stored
    UNION ALL SELECT max(removed_at) FROM session_items_stored WHERE removed_at < forever()
    UNION ALL SELECT max(removed_at) FROM inherited_items WHERE removed_at < forever()
    UNION ALL SELECT max(created_at) FROM session_branches
    UNION ALL SELECT max(deleted_at) FROM session_branches WHERE deleted_at < forever()
    UNION ALL SELECT max(updated_at) FROM parked_runs
);

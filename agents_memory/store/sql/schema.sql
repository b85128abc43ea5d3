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

-- name: last_moment
-- The moment of the last commit, so that later ones never look earlier whatever the machine's clock does.
SELECT max(moment) AS moment FROM (
    SELECT max(recorded_at) AS moment FROM audit
    UNION ALL SELECT max(added_at) FROM session_items_stored
    UNION ALL SELECT max(removed_at) FROM session_items_stored WHERE removed_at < forever()
    UNION ALL SELECT max(updated_at) FROM parked_runs
);

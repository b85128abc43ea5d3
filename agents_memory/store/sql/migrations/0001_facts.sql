-- The ground: namespaces, entities, facts, relations, their evidence and the audit chain.
-- Times are UTC. An open end is forever(), a finite far date, so that comparisons need no NULL case.
-- Ids count up from 1, a kind for itself, and are never given twice.

CREATE MACRO forever() AS TIMESTAMP '9999-12-31 00:00:00';

CREATE TABLE namespaces (
    namespace  VARCHAR PRIMARY KEY,
    created_at TIMESTAMP NOT NULL
);

CREATE TABLE entities (
    entity_id  BIGINT PRIMARY KEY,
    namespace  VARCHAR NOT NULL,
    name       VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL
);

-- The names of some entities, in their order.
CREATE MACRO names_of(ids) AS (
    SELECT list(e.name ORDER BY list_position(ids, e.entity_id)) FROM entities e WHERE list_contains(ids, e.entity_id)
);

-- Every name an entity answers to, its own included. alias_key is the folded form that is matched.
CREATE TABLE entity_aliases (
    namespace VARCHAR NOT NULL,
    entity_id BIGINT NOT NULL,
    alias     VARCHAR NOT NULL,
    alias_key VARCHAR NOT NULL,
    tx_from   TIMESTAMP NOT NULL,
    tx_to     TIMESTAMP NOT NULL
);

-- A row is never rewritten except to close it (tx_to, closed_as, closed_by, close_reason).
CREATE TABLE fact_versions (
    fact_id      BIGINT NOT NULL,
    version      INTEGER NOT NULL,
    namespace    VARCHAR NOT NULL,
    content      VARCHAR NOT NULL,
    content_key  BIGINT,
    kind         VARCHAR NOT NULL,
    importance   DOUBLE NOT NULL CHECK (importance BETWEEN 0 AND 1),
    confidence   DOUBLE NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    pinned       BOOLEAN NOT NULL,
    entity_ids   BIGINT[] NOT NULL,
    valid_from   TIMESTAMP NOT NULL,
    valid_to     TIMESTAMP NOT NULL,
    tx_from      TIMESTAMP NOT NULL,
    tx_to        TIMESTAMP NOT NULL,
    change       VARCHAR NOT NULL CHECK (change IN ('created', 'superseded', 'corrected', 'updated')),
    supersedes   BIGINT,
    reason       VARCHAR,
    writer       VARCHAR,
    session_id   VARCHAR,
    item_id      BIGINT,
    run_id       BIGINT,
    call_id      VARCHAR,
    request_id   BIGINT,
    salt         BLOB,
    closed_as    VARCHAR CHECK (closed_as IN ('superseded', 'corrected', 'updated', 'forgotten')),
    closed_by    VARCHAR,
    close_reason VARCHAR,
    CHECK (valid_from < valid_to),
    PRIMARY KEY (fact_id, version)
);

CREATE TABLE relation_versions (
    relation_id  BIGINT NOT NULL,
    version      INTEGER NOT NULL,
    namespace    VARCHAR NOT NULL,
    source_id    BIGINT NOT NULL,
    predicate    VARCHAR NOT NULL,
    target_id    BIGINT NOT NULL,
    valid_from   TIMESTAMP NOT NULL,
    valid_to     TIMESTAMP NOT NULL,
    tx_from      TIMESTAMP NOT NULL,
    tx_to        TIMESTAMP NOT NULL,
    change       VARCHAR NOT NULL CHECK (change IN ('created', 'ended')),
    fact_id      BIGINT,
    writer       VARCHAR,
    session_id   VARCHAR,
    item_id      BIGINT,
    run_id       BIGINT,
    call_id      VARCHAR,
    request_id   BIGINT,
    salt         BLOB,
    closed_as    VARCHAR CHECK (closed_as IN ('ended', 'retracted')),
    closed_by    VARCHAR,
    CHECK (valid_from < valid_to),
    PRIMARY KEY (relation_id, version)
);

-- Each time a relation that was known already was stated again: by a fact, or by nobody's fact.
CREATE TABLE relation_evidence (
    relation_id BIGINT NOT NULL,
    fact_id     BIGINT,
    recorded_at TIMESTAMP NOT NULL
);

-- Verbatim evidence, or a reference to a session item.
CREATE TABLE episodes (
    episode_id  BIGINT PRIMARY KEY,
    namespace   VARCHAR NOT NULL,
    text        VARCHAR,
    source      VARCHAR,
    occurred_at TIMESTAMP NOT NULL,
    session_id  VARCHAR,
    item_id     BIGINT,
    tx_from     TIMESTAMP NOT NULL,
    writer      VARCHAR,
    text_key    BIGINT
);

-- Why a version is believed beyond the columns it carries itself: its episodes, and each time the same was said again.
CREATE TABLE evidence (
    fact_id    BIGINT NOT NULL,
    version    INTEGER NOT NULL,
    episode_id BIGINT,
    reinforces BOOLEAN NOT NULL,
    recorded_at TIMESTAMP NOT NULL,
    writer     VARCHAR,
    session_id VARCHAR,
    item_id    BIGINT,
    run_id     BIGINT,
    call_id    VARCHAR,
    request_id BIGINT
);

-- One row a change or decision; never any text. Chained a namespace: hash covers the row and previous_hash.
CREATE TABLE audit (
    number        BIGINT NOT NULL,
    namespace     VARCHAR NOT NULL,
    operation     VARCHAR NOT NULL,
    ids           VARCHAR[] NOT NULL,
    actor         VARCHAR,
    recorded_at TIMESTAMP NOT NULL,
    commitment    VARCHAR,
    previous_hash VARCHAR NOT NULL,
    hash          VARCHAR NOT NULL
);

-- The visibility rule, once: what held at valid_at, as believed at known_at.
CREATE MACRO holds(valid_from, valid_to, tx_from, tx_to, valid_at, known_at) AS
    (valid_from <= valid_at AND valid_at < valid_to AND tx_from <= known_at AND known_at < tx_to);

CREATE MACRO facts_at(visible, valid_moment, known_moment) AS TABLE
    SELECT * FROM fact_versions
    WHERE list_contains(visible, namespace)
      AND holds(valid_from, valid_to, tx_from, tx_to, valid_moment, known_moment);

CREATE MACRO relations_at(visible, valid_moment, known_moment) AS TABLE
    SELECT * FROM relation_versions
    WHERE list_contains(visible, namespace)
      AND holds(valid_from, valid_to, tx_from, tx_to, valid_moment, known_moment);

-- What people query: views with ids as they are shown everywhere (f12, i3), times in UTC, and NULL for an open end.
-- current_... is what holds now and is believed now; fact_history is everything that was ever believed.

-- What conversations wrote into memory, who approved it, and what has become of it, at two moments.
CREATE MACRO facts_written_at(valid_moment, known_moment) AS TABLE
    SELECT v.namespace, v.session_id, 'f' || v.fact_id AS fact_id, v.content, v.change, v.tx_from AS written_at, v.writer,
           'i' || v.item_id AS item_id, v.call_id, 'n' || v.run_id AS run_id, 'a' || v.request_id AS request_id,
           d.decision, d.decided_by AS approved_by,
           CASE WHEN v.version < now_known.corrected_in THEN 'corrected'
                WHEN now_known.tx_to <= known_moment THEN 'forgotten'
                WHEN valid_moment < now_known.valid_from THEN 'upcoming'
                WHEN valid_moment < now_known.valid_to THEN 'current'
                WHEN s.superseded IS NOT NULL THEN 'superseded'
                ELSE 'ended' END AS status
    FROM fact_versions v
    JOIN (SELECT fact_id, arg_max(valid_from, version) AS valid_from, arg_max(valid_to, version) AS valid_to,
                 arg_max(tx_to, version) AS tx_to,
                 max(CASE WHEN change = 'corrected' THEN version ELSE 0 END) AS corrected_in
          FROM fact_versions WHERE tx_from <= known_moment GROUP BY fact_id) now_known USING (fact_id)
    LEFT JOIN (SELECT DISTINCT supersedes AS superseded FROM fact_versions
               WHERE tx_from <= known_moment AND known_moment < tx_to) s ON s.superseded = v.fact_id
    LEFT JOIN (SELECT request_id, arg_max(decision, decided_at) AS decision, arg_max(decided_by, decided_at) AS decided_by
               FROM decisions_made WHERE decision IN ('approve', 'edit') AND decided_at <= known_moment
               GROUP BY request_id) d ON d.request_id = v.request_id
    WHERE v.session_id IS NOT NULL AND v.change IN ('created', 'corrected') AND v.tx_from <= known_moment;

CREATE MACRO utc_now() AS (now() AT TIME ZONE 'UTC');

CREATE MACRO last_known() AS (forever() - INTERVAL 1 MICROSECOND);

CREATE MACRO closed_end(moment) AS (nullif(moment, forever()));

-- Every item of every conversation: ORDER BY namespace, session_id, branch, position is how it is read.
CREATE VIEW session_items AS
    SELECT namespace, session_id, branch, position, turn, 'i' || item_id AS item_id, type, role, tool, call_id, text,
           added_at, 'n' || run_id AS run_id, item_json
    FROM session_items_at(last_known());

-- Every turn of every conversation: what the user said, which tools were called, and what the model calls cost. One that
-- several branches share stands in each; with branch = said_in it stands once.
CREATE VIEW session_turns AS
    SELECT namespace, session_id, branch, said_in, turn, 'i' || item_id AS item_id, said, items, started_at, ended_at, tools,
           requests, input_tokens, output_tokens, total_tokens, cached_tokens, cache_write_tokens, reasoning_tokens
    FROM session_turns_at(last_known());

-- Which entity each message names, in any of its branches once.
CREATE VIEW session_entities AS
    SELECT DISTINCT m.namespace, m.session_id, 'e' || m.entity_id AS entity_id, e.name AS entity, 'i' || m.item_id AS item_id,
           m.added_at
    FROM mentions_at(last_known()) m JOIN entities e USING (entity_id);

-- Every state of every fact, with why it came and why it went.
CREATE VIEW fact_history AS
    SELECT v.namespace, 'f' || v.fact_id AS fact_id, v.version, v.content, v.kind, v.importance, v.confidence, v.pinned,
           names_of(v.entity_ids) AS entities,
           v.valid_from, closed_end(v.valid_to) AS valid_to, v.tx_from, closed_end(v.tx_to) AS tx_to,
           v.change, 'f' || v.supersedes AS supersedes, v.reason, v.writer, v.closed_as, v.closed_by, v.close_reason,
           v.session_id, 'i' || v.item_id AS item_id, 'n' || v.run_id AS run_id, v.call_id,
           'a' || v.request_id AS request_id
    FROM fact_versions v;

CREATE VIEW current_facts AS
    SELECT namespace, fact_id, version, content, kind, importance, confidence, pinned, entities, valid_from, valid_to,
           tx_from, supersedes, reason, writer, session_id, item_id, run_id, call_id, request_id
    FROM fact_history
    WHERE tx_to IS NULL AND valid_from <= utc_now() AND (valid_to IS NULL OR utc_now() < valid_to);

CREATE VIEW current_relations AS
    SELECT r.namespace, 'r' || r.relation_id AS relation_id, s.name AS source, r.predicate, t.name AS target,
           r.valid_from, closed_end(r.valid_to) AS valid_to, r.tx_from, 'f' || r.fact_id AS fact_id, r.writer, r.session_id
    FROM relation_versions r
    JOIN entities s ON s.entity_id = r.source_id
    JOIN entities t ON t.entity_id = r.target_id
    WHERE holds(r.valid_from, r.valid_to, r.tx_from, r.tx_to, utc_now(), last_known());

-- What conversations wrote, as facts_written_at has it, now.
CREATE VIEW facts_written AS
    SELECT * FROM facts_written_at(utc_now(), last_known());

-- Who decided what, when and why.
CREATE VIEW decisions AS
    SELECT r.namespace, 'a' || d.request_id AS request_id, d.decision, d.decided_by, d.decided_at, d.reason, d.always,
           r.tool, r.operation, r.status, r.session_id, 'n' || r.run_id AS run_id, r.call_id
    FROM decisions_made d JOIN approval_requests r USING (request_id);

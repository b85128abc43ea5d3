-- name: run_of_state
-- The run that was parked with the very same state and has not been claimed yet.
SELECT r.run_id, r.approvals, r.not_by_requester
FROM parked_runs r JOIN run_states s ON s.run_id = r.run_id AND s.revision = 1
WHERE r.namespace = $namespace AND r.session_id IS NOT DISTINCT FROM $session_id AND r.branch = $branch
  AND s.digest = $digest
  AND r.status IN ('parked', 'ready') AND r.attempt = 0
ORDER BY r.run_id LIMIT 1;

-- name: insert_run
-- Park a run.
INSERT INTO parked_runs (
    run_id, namespace, session_id, branch, session_is_ours, starting_agent, current_agent, approvals, not_by_requester,
    status, revision, attempt, failures, fence, parked_by, parked_at, updated_at)
VALUES (
    $run_id, $namespace, $session_id, $branch, $session_is_ours, $starting_agent, $current_agent, $approvals,
    $not_by_requester, $status, 1, 0, 0, 0, $parked_by, $now, $now);

-- name: insert_run_state
-- Keep the state of a revision, or a checkpoint of it.
INSERT INTO run_states
SELECT $run_id, $revision,
       (SELECT coalesce(max(checkpoint) + 1, 0) FROM run_states WHERE run_id = $run_id AND revision = $revision),
       $state, $digest, $signature, $sdk_version, $schema_version, $tools, $saved_at;

-- name: last_run_state
-- The newest state of a revision.
SELECT * FROM run_states WHERE run_id = $run_id AND revision = $revision ORDER BY checkpoint DESC LIMIT 1;

-- name: insert_requests
-- One request per call, in the order of the calls.
INSERT INTO approval_requests (
    request_id, namespace, origin, run_id, revision, call_id, session_id, agent, tool, operation, arguments,
    arguments_digest, preview, preview_digest, item_id, status, requested_by, requested_at, expires_at)
SELECT unnest($request_ids::BIGINT[]), unnest($namespaces::VARCHAR[]), 'run', $run_id, $revision,
       unnest($call_ids::VARCHAR[]), $session_id, unnest($agents::VARCHAR[]), unnest($tools::VARCHAR[]),
       unnest($operations::VARCHAR[]), unnest($arguments::VARCHAR[]), unnest($digests::VARCHAR[]),
       unnest($previews::VARCHAR[]), unnest($preview_digests::VARCHAR[]), $item_id, unnest($statuses::VARCHAR[]),
       $requested_by, $now, $expires_at;

-- name: insert_written
-- A call that was carried out without asking, for a look afterwards.
INSERT INTO approval_requests (
    request_id, namespace, origin, run_id, call_id, session_id, agent, tool, operation, arguments, arguments_digest,
    preview, preview_digest, item_id, status, requested_by, requested_at)
VALUES (
    $request_id, $namespace, 'written', $run_id, $call_id, $session_id, $agent, $operation, $operation, $arguments,
    $arguments_digest, $preview, $preview_digest, $item_id, 'written', $requested_by, $now);

-- name: insert_asked
-- A write that was asked for without a run.
INSERT INTO approval_requests (
    request_id, namespace, origin, call_id, session_id, agent, tool, operation, arguments, arguments_digest, preview,
    preview_digest, item_id, words, reason, approvals, not_by_requester, status, requested_by, requested_at, expires_at)
VALUES (
    $request_id, $namespace, 'memory', $call_id, $session_id, $agent, $operation, $operation, $arguments, $arguments_digest,
    $preview, $preview_digest, $item_id, $words, $reason, $approvals, $not_by_requester, 'pending', $requested_by, $now,
    $expires_at);

-- name: same_asked
-- The very same that somebody asked for without a run, and that waits.
SELECT request_id FROM approval_requests
WHERE origin = 'memory' AND status = 'pending' AND namespace = $namespace AND operation = $operation
  AND arguments_digest = $arguments_digest AND approvals = $approvals AND not_by_requester = $not_by_requester
  AND requested_by IS NOT DISTINCT FROM $requested_by AND session_id IS NOT DISTINCT FROM $session_id
  AND call_id IS NOT DISTINCT FROM $call_id AND words IS NOT DISTINCT FROM $words
  AND (expires_at IS NULL OR expires_at > $now)
ORDER BY request_id LIMIT 1;

-- name: insert_decisions
-- What was decided about some requests, each with its reason.
INSERT INTO decisions_made
SELECT unnest($request_ids::BIGINT[]), $decision, $decided_by, unnest($reasons::VARCHAR[]), $arguments,
       $preview_digest, $always, $now;

-- name: requests_of
-- Requests with their words, rules and receipts, oldest first: some by id, those of a run, or those of a status, of a
-- namespace alone or of those below it, too.
SELECT r.* REPLACE (coalesce(r.not_by_requester, p.not_by_requester, false) AS not_by_requester),
       coalesce(r.approvals, p.approvals, 1) AS approvals_needed, p.parked_by, i.text AS said, e.receipt
FROM approval_requests r
LEFT JOIN session_items_stored i ON i.item_id = r.item_id
LEFT JOIN parked_runs p ON p.run_id = r.run_id AND r.origin = 'run'
LEFT JOIN effects e ON e.request_id = r.request_id
WHERE is_within(r.namespace, $namespace)
  AND ($descendants OR r.namespace = $namespace)
  AND ($request_ids::BIGINT[] IS NULL OR list_contains($request_ids::BIGINT[], r.request_id))
  AND ($run_id IS NULL OR r.run_id = $run_id)
  AND ($status IS NULL OR r.status = $status)
ORDER BY r.requested_at, r.request_id;

-- name: request_by_id
-- A request as it stands.
SELECT * FROM approval_requests WHERE request_id = $request_id;

-- name: requests_of_revision
-- The requests of one revision of a run.
SELECT * FROM approval_requests WHERE run_id = $run_id AND revision = $revision ORDER BY request_id;

-- name: decisions_of
-- What was decided about some requests, oldest first.
SELECT * FROM decisions_made WHERE list_contains($request_ids::BIGINT[], request_id) ORDER BY decided_at;

-- name: move_request
-- Take one request to another state, from one that allows it and with the arguments that were seen; no row comes back
-- when that fits none.
UPDATE approval_requests
SET status = $status,
    final_arguments = coalesce($final_arguments, final_arguments),
    preview = coalesce($preview, preview),
    preview_digest = coalesce($preview_digest, preview_digest)
WHERE request_id = $request_id AND list_contains($allowed::VARCHAR[], status)
  AND final_arguments IS NOT DISTINCT FROM $seen_arguments
RETURNING request_id;

-- name: move_requests
-- Take several requests to another state, from one that allows it.
UPDATE approval_requests SET status = $status
WHERE list_contains($request_ids::BIGINT[], request_id) AND list_contains($allowed::VARCHAR[], status)
RETURNING request_id;

-- name: carry_requests
-- Requests that nobody had decided when their run was resumed go along to its next revision.
UPDATE approval_requests SET revision = $revision WHERE list_contains($request_ids::BIGINT[], request_id)
RETURNING request_id, status = 'pending' AS is_pending;

-- name: due_requests
-- The requests whose time is over.
SELECT request_id, namespace, run_id FROM approval_requests WHERE status = 'pending' AND expires_at <= $now
ORDER BY request_id;

-- name: decided_runs
-- The parked runs among some that wait for nobody any more become ready.
UPDATE parked_runs SET status = 'ready', updated_at = $now
WHERE list_contains($run_ids::BIGINT[], run_id) AND status = 'parked'
  AND NOT EXISTS (
      SELECT 1 FROM approval_requests r
      WHERE r.run_id = parked_runs.run_id AND r.revision = parked_runs.revision AND r.status = 'pending')
RETURNING run_id;

-- name: runs_of
-- Parked runs with the requests of their newest revision, and whether one of those waits, oldest first: one, or all of
-- some statuses.
SELECT p.*, (SELECT list(r.request_id ORDER BY r.request_id) FROM approval_requests r
             WHERE r.run_id = p.run_id AND r.revision = p.revision) AS requests,
       EXISTS (SELECT 1 FROM approval_requests r
               WHERE r.run_id = p.run_id AND r.revision = p.revision AND r.status = 'pending') AS is_waiting
FROM parked_runs p
WHERE is_within(p.namespace, $namespace)
  AND ($run_id IS NULL OR p.run_id = $run_id)
  AND ($statuses::VARCHAR[] IS NULL OR list_contains($statuses::VARCHAR[], p.status))
ORDER BY p.parked_at, p.run_id;

-- name: runs_waiting_in
-- The runs of a branch that have not ended, oldest first, each with the requests of its newest revision.
SELECT p.run_id, (SELECT list(r.request_id ORDER BY r.request_id) FROM approval_requests r
                  WHERE r.run_id = p.run_id AND r.revision = p.revision) AS requests
FROM parked_runs p
WHERE p.namespace = $namespace AND p.session_id = $session_id AND p.branch = $branch
  AND p.status IN ('parked', 'ready', 'resuming')
ORDER BY p.run_id;

-- name: claim_run
-- Take a run for resuming; no row comes back when somebody else took it first. One taken from whoever lost it failed.
UPDATE parked_runs
SET status = 'resuming', attempt = attempt + 1, fence = fence + 1,
    failures = failures + (status = 'resuming' AND (lease_owner <> $owner OR lease_until <= $now))::INTEGER,
    lease_owner = $owner, lease_until = $lease_until,
    watermark = coalesce(watermark, $watermark), error = NULL, updated_at = $now
WHERE run_id = $run_id AND fence = $fence AND list_contains($allowed::VARCHAR[], status)
RETURNING fence, watermark;

-- name: renew_lease
-- Hold a claim for longer; no row comes back when it was lost.
UPDATE parked_runs SET lease_until = $lease_until, updated_at = $now
WHERE run_id = $run_id AND fence = $fence AND status = 'resuming' AND is_within(namespace, $namespace)
RETURNING run_id;

-- name: held_run
-- A run that is resumed under this very claim, and whether its namespace is the caller's, above it or below it.
SELECT *, is_within(namespace, $namespace) OR is_within($namespace, namespace) AS is_in_line
FROM parked_runs WHERE run_id = $run_id AND fence = $fence AND status = 'resuming';

-- name: leave_run
-- End a claim, with what became of the run; no row comes back when the claim was lost.
UPDATE parked_runs
SET status = $status, failures = failures + ($status = 'failed')::INTEGER, result = $result, error = $error,
    lease_owner = NULL, lease_until = NULL, updated_at = $now
WHERE run_id = $run_id AND fence = $fence AND status = 'resuming'
RETURNING run_id;

-- name: doubt_run
-- Nobody knows what a call of a lost attempt did.
UPDATE parked_runs SET status = 'uncertain', lease_owner = NULL, lease_until = NULL, updated_at = $now
WHERE run_id = $run_id AND list_contains($allowed::VARCHAR[], status);

-- name: withdraw_run
-- Take a run out of the queue, from a state that allows it; no row comes back when none does.
UPDATE parked_runs SET status = 'withdrawn', updated_at = $now
WHERE run_id = $run_id AND list_contains($allowed::VARCHAR[], status)
RETURNING run_id;

-- name: repark_run
-- Stop a resumed run again, at the next revision; no row comes back when the claim was lost.
UPDATE parked_runs
SET status = $status, revision = revision + 1, failures = 0, current_agent = $current_agent,
    watermark = NULL, lease_owner = NULL, lease_until = NULL, updated_at = $now
WHERE run_id = $run_id AND fence = $fence AND status = 'resuming'
RETURNING revision;

-- name: mark_watermark
-- What a later claim keeps of the session, now that a checkpoint knows it.
UPDATE parked_runs SET watermark = $watermark, updated_at = $now WHERE run_id = $run_id;

-- name: start_calls
-- A call of a tool that is not ours begins.
UPDATE approval_requests SET started_at = $now
WHERE run_id = $run_id AND call_id = $call_id AND operation IS NULL AND status = 'approved';

-- name: settle_foreign_calls
-- A saved state knows the outputs of these calls of tools that are not ours.
UPDATE approval_requests SET status = 'done'
WHERE run_id = $run_id AND operation IS NULL AND list_contains($call_ids::VARCHAR[], call_id)
  AND list_contains($allowed::VARCHAR[], status);

-- name: request_of_run_call
-- The request of a call of a resumed run, newest first.
SELECT * FROM approval_requests
WHERE run_id = $run_id AND call_id = $call_id AND operation = $operation AND arguments_digest = $arguments_digest
  AND origin = 'run'
ORDER BY request_id DESC LIMIT 1;

-- name: request_of_call
-- The request of a call whose run is not known, newest first.
SELECT r.* FROM approval_requests r JOIN parked_runs p USING (run_id)
WHERE r.call_id = $call_id AND r.operation = $operation AND r.arguments_digest = $arguments_digest AND r.origin = 'run'
  AND r.namespace = $namespace AND ($session_id IS NULL OR (r.session_id = $session_id AND p.branch = $branch))
ORDER BY request_id DESC LIMIT 1;

-- name: edited_request
-- A request of this run whose original arguments a reviewer changed, and which was carried out.
SELECT r.* FROM approval_requests r
WHERE r.run_id = $run_id AND r.operation = $operation AND r.arguments_digest = $arguments_digest
  AND r.namespace = $namespace AND r.status = 'done' AND r.final_arguments IS NOT NULL
ORDER BY r.request_id DESC LIMIT 1;

-- name: effect_of
-- What was done under a key.
SELECT * FROM effects WHERE effect_key = $effect_key;

-- name: unsettled_effect
-- What an earlier attempt of this run did for the same call under another call id.
SELECT * FROM effects
WHERE run_id = $run_id AND operation = $operation AND arguments_digest = $arguments_digest
  AND starts_with(effect_key, 'call:') AND NOT settled AND fence < $fence
ORDER BY recorded_at LIMIT 1;

-- name: insert_effect
-- Record what was done for a call, with the receipt it got.
INSERT INTO effects
VALUES ($effect_key, $namespace, $operation, $arguments_digest, $request_id, $run_id, $session_id, $call_id, $fence,
        false, $receipt, $recorded_at);

-- name: hold_effect
-- This attempt made the call again, so no other of its calls may take the effect for its own.
UPDATE effects SET fence = $fence WHERE effect_key = $effect_key;

-- name: settle_effects
-- A saved state knows the outputs of these calls; all of the run's when none is named.
UPDATE effects SET settled = true
WHERE run_id = $run_id AND NOT settled AND ($call_ids::VARCHAR[] IS NULL OR list_contains($call_ids::VARCHAR[], call_id));

-- name: facts_changed_since
-- Which of some facts got a version, or lost their last one, after a moment, but for what a run did itself.
SELECT DISTINCT fact_id FROM fact_versions
WHERE list_contains($fact_ids::BIGINT[], fact_id)
  AND ((tx_from > $since AND run_id IS DISTINCT FROM $run_id) OR (tx_to > $since AND tx_to < forever()
       AND NOT EXISTS (SELECT 1 FROM fact_versions n WHERE n.fact_id = fact_versions.fact_id
                       AND n.tx_from = fact_versions.tx_to)));

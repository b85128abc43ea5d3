-- name: answer_of
-- What was answered to a call.
SELECT answer FROM answers WHERE call_id = $call_id;

-- name: insert_answers
-- Keep what is answered to some calls, in the transaction that does them.
INSERT INTO answers SELECT unnest($call_ids::VARCHAR[]), unnest($answers::VARCHAR[]), $answered_at;

-- name: forget_answers
-- Forget the answers that nobody can ask for any more.
DELETE FROM answers WHERE answered_at < $before;

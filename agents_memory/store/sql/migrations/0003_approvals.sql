-- The approval queue: parked runs, one request per undecided call, append-only decisions, and the effects of writes.
-- The states and their moves are in agents_memory/approvals/moves.py; the CHECKs here name the same sets.

-- session_is_ours: the conversation is kept in this file, so that a claim can take back what a lost attempt added to it.
-- approvals, not_by_requester: how many people must approve each of its requests, and whether who asked may be one.
-- watermark: the last item of the session when the revision was first claimed.
-- failures: how often in a row resuming this revision failed, or was lost with its process.
CREATE TABLE parked_runs (
    run_id          BIGINT PRIMARY KEY,
    namespace       VARCHAR NOT NULL,
    session_id      VARCHAR,
    branch          VARCHAR NOT NULL,
    session_is_ours BOOLEAN NOT NULL,
    starting_agent  VARCHAR NOT NULL,
    current_agent   VARCHAR NOT NULL,
    approvals       INTEGER NOT NULL CHECK (approvals >= 1),
    not_by_requester BOOLEAN NOT NULL,
    status          VARCHAR NOT NULL CHECK (status IN
        ('parked', 'ready', 'resuming', 'finished', 'failed', 'uncertain', 'expired', 'withdrawn', 'erased')),
    revision        INTEGER NOT NULL,
    attempt         INTEGER NOT NULL,
    failures        INTEGER NOT NULL,
    fence           BIGINT NOT NULL,
    lease_owner     VARCHAR,
    lease_until     TIMESTAMP,
    watermark       BIGINT,
    parked_by       VARCHAR,
    parked_at       TIMESTAMP NOT NULL,
    updated_at      TIMESTAMP NOT NULL,
    result          VARCHAR,
    error           VARCHAR
);

-- Whether a run in a state may go on, or waits for a person to say that it does not.
CREATE MACRO may_go_on(status) AS (status IN ('parked', 'ready', 'resuming', 'failed', 'uncertain'));

-- The compressed state of each revision, and its checkpoints while it is resumed (0 is the parked state itself).
CREATE TABLE run_states (
    run_id         BIGINT NOT NULL,
    revision       INTEGER NOT NULL,
    checkpoint     INTEGER NOT NULL,
    state          BLOB NOT NULL,
    digest         VARCHAR NOT NULL,
    signature      VARCHAR,
    sdk_version    VARCHAR NOT NULL,
    schema_version VARCHAR NOT NULL,
    tools          VARCHAR NOT NULL,
    saved_at       TIMESTAMP NOT NULL,
    PRIMARY KEY (run_id, revision, checkpoint)
);

-- origin 'memory': asked for without a run; what it would write is written in the transaction of the decision.
-- origin 'written': nobody was asked; it was written at once, and is listed until somebody acknowledges it.
-- words, reason, approvals, not_by_requester: of origin 'memory'. Others have their words in item_id, the rules in their run.
-- started_at: when a resume began a call of a tool that is not ours, whose effect this file cannot know.
CREATE TABLE approval_requests (
    request_id       BIGINT PRIMARY KEY,
    namespace        VARCHAR NOT NULL,
    origin           VARCHAR NOT NULL CHECK (origin IN ('run', 'memory', 'written')),
    run_id           BIGINT,
    revision         INTEGER,
    call_id          VARCHAR,
    session_id       VARCHAR,
    agent            VARCHAR,
    tool             VARCHAR NOT NULL,
    operation        VARCHAR,
    arguments        VARCHAR NOT NULL,
    arguments_digest VARCHAR NOT NULL,
    preview          VARCHAR NOT NULL,
    preview_digest   VARCHAR NOT NULL,
    item_id          BIGINT,
    words            VARCHAR,
    reason           VARCHAR,
    approvals        INTEGER CHECK (approvals >= 1),
    not_by_requester BOOLEAN,
    status           VARCHAR NOT NULL CHECK (status IN
        ('pending', 'approved', 'rejected', 'expired', 'withdrawn', 'erased', 'written', 'done')),
    final_arguments  VARCHAR,
    requested_by     VARCHAR,
    requested_at     TIMESTAMP NOT NULL,
    expires_at       TIMESTAMP,
    started_at       TIMESTAMP
);

-- Who decided what, when and why. Append only.
-- always: later calls of the same tool in the same run are approved too.
CREATE TABLE decisions_made (
    request_id     BIGINT NOT NULL,
    decision       VARCHAR NOT NULL CHECK (decision IN
        ('approve', 'reject', 'edit', 'withdraw', 'expire', 'acknowledge')),
    decided_by     VARCHAR NOT NULL,
    reason         VARCHAR,
    arguments      VARCHAR,
    preview_digest VARCHAR,
    always         BOOLEAN NOT NULL,
    decided_at     TIMESTAMP NOT NULL
);

-- A write that happened for a call: inserted in the write's own transaction, so that doing it twice equals doing it once.
-- settled: a saved state knows the call's output, so that no later attempt can make the call again.
CREATE TABLE effects (
    effect_key       VARCHAR PRIMARY KEY,
    namespace        VARCHAR NOT NULL,
    operation        VARCHAR NOT NULL,
    arguments_digest VARCHAR NOT NULL,
    request_id       BIGINT,
    run_id           BIGINT,
    session_id       VARCHAR,
    call_id          VARCHAR,
    fence            BIGINT,
    settled          BOOLEAN NOT NULL,
    receipt          VARCHAR NOT NULL,
    recorded_at      TIMESTAMP NOT NULL
);

-- A reviewer sees what is in a namespace and below; the empty text stands above all.
CREATE MACRO is_within(namespace, above) AS
    (above = '' OR namespace = above OR starts_with(namespace, above || '/'));

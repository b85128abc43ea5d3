-- What was answered to calls of other processes that write, kept with what they wrote: when the answer is lost on the
-- way, the call is made again under its id and answered with this instead of being done twice.

CREATE TABLE answers (
    call_id     VARCHAR NOT NULL,
    answer      VARCHAR NOT NULL,
    answered_at TIMESTAMP NOT NULL
);

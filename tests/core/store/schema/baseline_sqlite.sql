-- The schema of revision 0009, the first in the migrations' history.
CREATE TABLE accounts (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    person TEXT NOT NULL,
    name TEXT NOT NULL,
    linked_ms BIGINT NOT NULL,
    PRIMARY KEY (channel, account)
);
CREATE INDEX accounts_person ON accounts (person);
CREATE TABLE approvals (
    id TEXT NOT NULL,
    code TEXT NOT NULL,
    state TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    place TEXT NOT NULL,
    text TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    deadline_ms BIGINT NOT NULL,
    timeout_ms BIGINT NOT NULL,
    delivered_ms BIGINT,
    remind_at_ms BIGINT,
    quorum INTEGER NOT NULL,
    digest TEXT NOT NULL,
    behind TEXT,
    input_bytes INTEGER DEFAULT 0 NOT NULL,
    task TEXT,
    PRIMARY KEY (id),
    UNIQUE (code)
);
CREATE INDEX approvals_agent ON approvals (agent, created_ms);
CREATE INDEX approvals_alike ON approvals (digest) WHERE state = 'pending';
CREATE INDEX approvals_behind ON approvals (behind) WHERE behind IS NOT NULL;
CREATE INDEX approvals_created ON approvals (created_ms);
CREATE INDEX approvals_due ON approvals (deadline_ms) WHERE state = 'pending';
CREATE INDEX approvals_reminds ON approvals (remind_at_ms) WHERE state = 'pending';
CREATE INDEX approvals_waiting ON approvals (agent, input_bytes) WHERE state = 'pending';
CREATE TABLE clock (
    id INTEGER NOT NULL,
    high_ms BIGINT NOT NULL,
    steady TEXT,
    steady_ms BIGINT,
    offset_ms BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE cursors (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    token BIGINT NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE decisions (
    approval_id TEXT NOT NULL,
    state TEXT NOT NULL,
    source TEXT NOT NULL,
    reply TEXT,
    terms TEXT,
    reason TEXT,
    channel TEXT,
    account TEXT,
    name TEXT,
    note TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    owed INTEGER NOT NULL,
    PRIMARY KEY (approval_id)
);
CREATE INDEX decisions_at ON decisions (at_ms);
CREATE INDEX decisions_owed ON decisions (at_ms) WHERE owed = 1;
CREATE TABLE grants (
    id TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT,
    promise TEXT NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    uses_left BIGINT,
    used_ms BIGINT,
    revoked_ms BIGINT,
    task TEXT,
    PRIMARY KEY (id)
);
CREATE INDEX grants_live ON grants (created_ms) WHERE revoked_ms IS NULL;
CREATE TABLE inbound (
    inbound_key TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    won INTEGER NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (inbound_key, approval_id)
);
CREATE INDEX inbound_at ON inbound (at_ms);
CREATE TABLE leases (
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    token BIGINT NOT NULL,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE outbox (
    id INTEGER NOT NULL,
    approval_id TEXT,
    prompt_id BIGINT,
    channel TEXT NOT NULL,
    target TEXT NOT NULL,
    step INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_ms BIGINT NOT NULL,
    claimed_by TEXT,
    uncertain INTEGER NOT NULL,
    idem_key TEXT NOT NULL,
    message TEXT,
    why TEXT,
    created_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (idem_key)
);
CREATE INDEX outbox_approval ON outbox (approval_id);
CREATE INDEX outbox_due ON outbox (due_ms) WHERE state IN ('ready', 'sending');
CREATE INDEX outbox_message ON outbox (message);
CREATE INDEX outbox_stale ON outbox (id) WHERE state = 'stale';
CREATE TABLE pair_tries (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    tries INTEGER NOT NULL,
    since_ms BIGINT NOT NULL,
    PRIMARY KEY (channel, account)
);
CREATE TABLE pairings (
    code_hash TEXT NOT NULL,
    person TEXT NOT NULL,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (code_hash)
);
CREATE TABLE people (
    id TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    revoked_ms BIGINT,
    PRIMARY KEY (id)
);
CREATE TABLE questions (
    id TEXT NOT NULL,
    "plan" TEXT NOT NULL,
    evaluation TEXT NOT NULL,
    requester TEXT NOT NULL,
    origin TEXT,
    reminders TEXT NOT NULL,
    local INTEGER NOT NULL,
    ladder TEXT,
    step_up INTEGER DEFAULT 0 NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE replicas (
    id TEXT NOT NULL,
    expires_ms BIGINT NOT NULL,
    process TEXT,
    PRIMARY KEY (id)
);
CREATE TABLE requests (
    request_key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    wish TEXT,
    PRIMARY KEY (request_key),
    UNIQUE (run_id)
);
CREATE TABLE runs (
    id TEXT NOT NULL,
    asked INTEGER NOT NULL,
    state TEXT NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    place TEXT NOT NULL,
    text TEXT NOT NULL,
    owner TEXT,
    pid BIGINT,
    pgid BIGINT,
    start_ticks BIGINT,
    boot_id TEXT,
    noted INTEGER NOT NULL,
    created_ms BIGINT NOT NULL,
    started_ms BIGINT,
    ended_ms BIGINT,
    exit_code INTEGER,
    reason TEXT,
    why TEXT,
    result TEXT,
    task TEXT,
    PRIMARY KEY (id)
);
CREATE INDEX runs_agent ON runs (agent, created_ms) WHERE asked = 0;
CREATE INDEX runs_created ON runs (created_ms);
CREATE INDEX runs_open ON runs (created_ms) WHERE state IN ('queued', 'started');
CREATE TABLE schema_version (
    version_num TEXT NOT NULL,
    PRIMARY KEY (version_num)
);
CREATE TABLE session_events (
    session TEXT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    run_id TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (session, seq)
);
CREATE TABLE session_settings (
    session TEXT NOT NULL,
    origin TEXT,
    overrides TEXT,
    set_by TEXT,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (session)
);
CREATE TABLE sessions (
    session TEXT NOT NULL,
    last_seq BIGINT NOT NULL,
    acked_seq BIGINT NOT NULL,
    PRIMARY KEY (session)
);
CREATE TABLE threads (
    session TEXT NOT NULL,
    place TEXT NOT NULL,
    thread TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (session, place)
);
CREATE TABLE tokens (
    id TEXT NOT NULL,
    hash TEXT NOT NULL,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    agent TEXT,
    person TEXT,
    created_by TEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    expires_ms BIGINT,
    used_ms BIGINT,
    revoked_ms BIGINT,
    PRIMARY KEY (id),
    UNIQUE (hash)
);
CREATE UNIQUE INDEX tokens_name ON tokens (name) WHERE revoked_ms IS NULL;
CREATE TABLE votes (
    approval_id TEXT NOT NULL,
    person TEXT NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    reply TEXT NOT NULL,
    terms TEXT,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (approval_id, person)
);
INSERT INTO clock (id, high_ms) VALUES (1, 0);
INSERT INTO schema_version (version_num) VALUES ('0009');

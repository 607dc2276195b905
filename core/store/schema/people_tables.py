"""Define the tables of people and sessions; the rest of the state is in ``tables``.

They say who is one human being, who voted, what was granted, who holds a token, where a session
came from, and which other machines are nodes.
"""

from typing import Final

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text, text

from core.store.schema.tables import metadata

ALL_TABLES: Final = metadata
"""Every table: those of this module and of ``tables``."""

# One row per person and question: two accounts of one person are one vote.
votes = Table(
    "votes",
    metadata,
    Column("approval_id", Text, primary_key=True),
    Column("person", Text, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("reply", Text, nullable=False),
    Column("terms", Text),
    Column("at_ms", BigInteger, nullable=False),
    Column("journal", Text),
)

people = Table(
    "people",
    metadata,
    Column("id", Text, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
    Column("revoked_ms", BigInteger),
)

accounts = Table(
    "accounts",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("account", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("linked_ms", BigInteger, nullable=False),
)

pairings = Table(
    "pairings",
    metadata,
    Column("code_hash", Text, primary_key=True),  # SHA-256: the code itself is shown once
    Column("person", Text, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
)

pair_tries = Table(
    "pair_tries",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("account", Text, primary_key=True),
    Column("tries", Integer, nullable=False),
    Column("since_ms", BigInteger, nullable=False),
)

# Who may call over the network.
tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("hash", Text, nullable=False, unique=True),  # SHA-256: the token itself is shown once
    Column("name", Text, nullable=False),
    Column("scopes", Text, nullable=False),  # words with a space between them
    Column("agent", Text),
    Column("person", Text),
    Column("created_by", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger),
    Column("used_ms", BigInteger),
    Column("revoked_ms", BigInteger),
    Column("browser", Text),  # set: a session of the control page, in this browser
)

# One-time links into the control page.
page_links = Table(
    "page_links",
    metadata,
    Column("hash", Text, primary_key=True),  # SHA-256: the link itself is shown once
    Column("person", Text, nullable=False),
    Column("scopes", Text, nullable=False),  # words with a space between them
    Column("created_by", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
    Column("browser_hash", Text),  # of the cookie of the browser that opened it first
    Column("used_ms", BigInteger),
)

# The authenticator app of a person, whose code allows what a step-up tier asks about.
totp_keys = Table(
    "totp_keys",
    metadata,
    Column("person", Text, primary_key=True),
    Column("secret", Text, nullable=False),  # sealed with a key that is not in the database
    Column("created_by", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("last_step", BigInteger, nullable=False),  # codes up to this one are used
    Column("tries", Integer, nullable=False),
    Column("since_ms", BigInteger, nullable=False),  # when the tries began to be counted
)

# What an allow of a step-up question was proven with, next to its decision or vote.
proofs = Table(
    "proofs",
    metadata,
    Column("approval_id", Text, primary_key=True),
    Column("person", Text, primary_key=True),
    Column("digest", Text, nullable=False),  # of the plan that was allowed
    Column("reply", Text, nullable=False),
    Column("step", BigInteger, nullable=False),  # of the code; 0 where a passkey signed
    Column("at_ms", BigInteger, nullable=False),
    Column("passkey", Text),  # JSON: what it signed, as it came
    Column("public_key", Text),  # of that passkey, which may be forgotten later
)

# The passkeys of people: what they sign allows what a step-up tier asks about, and signs in.
passkeys = Table(
    "passkeys",
    metadata,
    Column("id", Text, primary_key=True),  # of the credential, in URL-safe base64
    Column("person", Text, nullable=False),
    Column("public_key", Text, nullable=False),  # COSE, in the same base64
    Column("sign_count", BigInteger, nullable=False),  # only grows; 0: it does not count
    Column("name", Text, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("used_ms", BigInteger),
)

# What passkeys are to sign; a row is removed by the answer that uses it.
passkey_challenges = Table(
    "passkey_challenges",
    metadata,
    Column("hash", Text, primary_key=True),  # SHA-256 of the nonce
    Column("about", Text, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
)

# Browsers that take web push, each for the session that it was signed in with.
push_subscriptions = Table(
    "push_subscriptions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("session", Text, nullable=False),  # the id of the session's token
    Column("person", Text, nullable=False),
    Column("endpoint_hash", Text, nullable=False, unique=True),  # SHA-256
    Column("sealed", Text, nullable=False),  # JSON: endpoint and keys, as the browser gave them
    Column("name", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)

# The key that push services know this gateway by: one row, however many replicas.
push_keys = Table(
    "push_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("sealed", Text, nullable=False),  # with a key that is not in the database
)

# What a notification may answer with; a row is removed by the answer that uses it.
push_answers = Table(
    "push_answers",
    metadata,
    Column("hash", Text, primary_key=True),  # SHA-256 of what the notification holds
    Column("subscription", Text, nullable=False),
    Column("approval_id", Text, nullable=False),
    Column("digest", Text, nullable=False),  # of the plan that was shown
    Column("expires_ms", BigInteger, nullable=False),
)

# What people were shown of a question: copies in chats, and who looked where. Texts are separate,
# because many viewers are shown the same.
showings = Table(
    "showings",
    metadata,
    Column("approval_id", Text, primary_key=True),
    Column("key", Text, primary_key=True),  # a copy or a person's look is recorded once
    Column("surface", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("account", Text, nullable=False),  # the viewer's; empty for a copy in a chat
    Column("name", Text, nullable=False),
    Column("hash", Text, nullable=False),  # SHA-256 of the text; empty where it is not known
    Column("at_ms", BigInteger, nullable=False),
    Column("waiting", Integer, nullable=False),  # 1: before the decision, which rests on it
)

shown_texts = Table(
    "shown_texts",
    metadata,
    Column("approval_id", Text, primary_key=True),
    Column("hash", Text, primary_key=True),
    Column("text", Text, nullable=False),  # masked, as it was shown
)

grants = Table(
    "grants",
    metadata,
    Column("id", Text, primary_key=True),
    Column("approval_id", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("session", Text),  # null: every session of the agent
    Column("promise", Text, nullable=False),  # JSON: what the prompt said would be stored
    Column("channel", Text, nullable=False),
    Column("account", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger),
    Column("uses_left", BigInteger),
    Column("used_ms", BigInteger),
    Column("revoked_ms", BigInteger),
    Column("task", Text),  # null: every task of the agent, and none
)

# What a session remembers: the chat that it came from, and what /exec and /elevated set for it.
session_settings = Table(
    "session_settings",
    metadata,
    Column("session", Text, primary_key=True),
    Column("origin", Text),
    Column("overrides", Text),
    Column("set_by", Text),
    Column("at_ms", BigInteger, nullable=False),
)

threads = Table(
    "threads",
    metadata,
    Column("session", Text, primary_key=True),
    Column("place", Text, primary_key=True),  # the target without its thread
    Column("thread", Text, nullable=False),  # the target that was opened for the session there
    Column("at_ms", BigInteger, nullable=False),
)

# Prompts that people gave agents in chats, and where their words go.
agent_threads = Table(
    "agent_threads",
    metadata,
    Column("key", Text, primary_key=True),  # the request key of the prompt
    Column("agent", Text, nullable=False),
    Column("account", Text, nullable=False),  # who gave it
    Column("place", Text, nullable=False),  # the target that it was given in
    Column("thread", Text),  # the target that the words go to, once it is known
    Column("reply_to", Text, nullable=False),  # the message that they reply to, or nothing
    Column("parts", Integer, nullable=False),  # messages so far
    Column("ended", Integer, nullable=False),  # 1: the last message says how it ended
    Column("at_ms", BigInteger, nullable=False),
)

Index("agent_threads_ended", agent_threads.c.ended, agent_threads.c.at_ms)

Index(
    "grants_live",
    grants.c.created_ms,
    sqlite_where=text("revoked_ms IS NULL"),
    postgresql_where=text("revoked_ms IS NULL"),
)
Index(
    "tokens_name",
    tokens.c.name,
    unique=True,
    sqlite_where=text("revoked_ms IS NULL"),
    postgresql_where=text("revoked_ms IS NULL"),
)
Index("accounts_person", accounts.c.person)
Index("passkeys_person", passkeys.c.person)
Index("passkey_challenges_expires", passkey_challenges.c.expires_ms)
Index("push_subscriptions_person", push_subscriptions.c.person)
Index("push_answers_of", push_answers.c.subscription, push_answers.c.approval_id)
Index("push_answers_expires", push_answers.c.expires_ms)

# Other machines that take whole requests, and those that nobody has allowed yet.
nodes = Table(
    "nodes",
    metadata,
    Column("id", Text, primary_key=True),  # the hex of its public key
    Column("token_hash", Text, nullable=False),  # SHA-256: the node alone holds the token
    Column("name", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("paired_by", Text, nullable=False),
    Column("paired_ms", BigInteger, nullable=False),
    Column("seen_ms", BigInteger),
)

node_requests = Table(
    "node_requests",
    metadata,
    Column("id", Text, primary_key=True),
    Column("code", Text, nullable=False, unique=True),
    Column("token_hash", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger, nullable=False),
)

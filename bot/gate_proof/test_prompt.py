"""Name the sessions of the test prompts of `sayso init` and `sayso doctor channels --prompt`."""

import secrets

_SESSION = "test-prompt-"


def new_session() -> str:
    """Return a new session for one test prompt."""
    return f"{_SESSION}{secrets.token_hex(4)}"


def is_test(session: str) -> bool:
    """Return whether a session, with or without its agent, is a test prompt's."""
    return session.rpartition(":")[2].startswith(_SESSION)

"""Read S2's own spelling of ``execution``, in file and environment."""

from pathlib import Path

import pytest

from bot.settings import InvalidConfig, Settings, read

S2 = """{
  execution: {
    run_as_unix_user: true,
    executor_unix_user: "agor_executor",
    executor_pool: { max_executors: 4, idle_timeout_ms: 1000 },
    ipc: { connection_timeout_ms: 100 },
    session_tokens: { expiration_ms: 5, max_uses: 2 },
  },
}"""
OURS = """{
  execution: {
    runAsUnixUser: true,
    executorUnixUser: "agor_executor",
    executorPool: { maxExecutors: 4, idleTimeoutMs: 1000 },
    ipc: { connectionTimeoutMs: 100 },
    sessionTokens: { expirationMs: 5, maxUses: 2 },
  },
}"""


def settings(home: Path, text: str, **environ: str) -> Settings:
    """Read a file's text."""
    home.chmod(0o700)
    (home / "config.json5").write_text(text)
    return read(home, environ).settings


def test_both_spellings_mean_the_same(tmp_path: Path) -> None:
    """And each value is found at its line."""
    ours = settings(tmp_path, OURS).execution
    reading = (settings(tmp_path, S2), read(tmp_path, {}))[1]

    assert reading.settings.execution == ours
    assert reading.origins.of(("execution", "executorPool", "maxExecutors")) == "config.json5:5"


def test_a_key_in_both_spellings_is_refused(tmp_path: Path) -> None:
    """Like every doubled key; and an unknown one is named with the nearest."""
    text = "{\n execution: {\n run_as_unix_user: true, runAsUnixUser: false,\n executor_poo: {} } }"
    with pytest.raises(InvalidConfig) as caught:
        settings(tmp_path, text)

    assert str(caught.value).splitlines() == [
        "config.json5:3: execution.run_as_unix_user: unknown key; did you mean `runAsUnixUser`?",
        "config.json5:4: execution.executor_poo: unknown key; did you mean `executorPool`?",
    ]


def test_other_sections_keep_one_spelling(tmp_path: Path) -> None:
    """Nothing else was ever spelled so."""
    with pytest.raises(InvalidConfig, match="askFallback"):
        settings(tmp_path, '{ tools: { exec: { ask_fallback: "deny" } } }')


def test_the_short_variables_override_the_file(tmp_path: Path) -> None:
    """S2's three, under our name."""
    found = settings(
        tmp_path,
        OURS,
        SAYSO_EXECUTOR_ENABLED="false",
        SAYSO_EXECUTOR_UNIX_USER="other",
        SAYSO_EXECUTOR_DEBUG="true",
    ).execution

    assert (found.run_as_unix_user, found.executor_unix_user, found.debug) == (False, "other", True)


def test_a_short_variable_that_is_wrong_is_named(tmp_path: Path) -> None:
    """By its own name, not by the long one."""
    with pytest.raises(InvalidConfig, match="SAYSO_EXECUTOR_ENABLED"):
        settings(tmp_path, "{}", SAYSO_EXECUTOR_ENABLED="yes please")

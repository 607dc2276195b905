"""Map S2's tests and acceptance lines to the tests that hold them; they must exist."""

import re
from pathlib import Path

from tests.support.tables import rows

ROOT = Path(__file__).resolve().parents[2]
ISOLATION, EXECUTOR = "core/isolation", "bot/executor"
HELD = {
    # Unit tests
    "handles incoming request": (f"{EXECUTOR}/test_executor.py", "test_handles_incoming_request"),
    "unknown method": (f"{EXECUTOR}/test_executor.py", "test_an_unknown_method_is_named"),
    "sends notification": (
        f"{EXECUTOR}/test_executor.py",
        "test_run_starts_a_supervisor_and_reports_its_end",
    ),
    "handles malformed JSON": (f"{EXECUTOR}/test_executor.py", "test_handles_malformed_json"),
    "--socket by hand": (f"{EXECUTOR}/test_own_socket.py", "test_one_client_is_served"),
    "spawns executor subprocess": (
        f"{ISOLATION}/test_pool.py",
        "test_daemon_spawns_executor_and_sends_ping",
    ),
    "detects impersonation mode": (
        f"{ISOLATION}/test_pool.py",
        "test_what_does_not_answer_is_no_executor",
    ),
    "builds correct spawn command": (
        f"{ISOLATION}/test_pool.py",
        "test_builds_correct_spawn_command",
    ),
    # Integration tests
    "daemon spawns executor and sends ping": (
        f"{ISOLATION}/test_pool.py",
        "test_daemon_spawns_executor_and_sends_ping",
    ),
    "executor runs as correct Unix user": (
        f"{ISOLATION}/test_pool.py",
        "test_an_executor_of_the_wrong_user_is_refused",
    ),
    "execute_prompt via executor": (f"{ISOLATION}/agents/test_agents.py", "test_answers_a_prompt"),
    # End to end
    "full prompt execution flow": ("e2e/test_prompt_api.py", "test_full_prompt_execution_flow"),
    "terminal spawns as correct user": ("e2e/test_terminals.py", "test_terminals"),
    "prompt by command line, key nowhere": ("e2e/test_prompt_page.py", "test_the_page_as_written"),
    # Security tests
    "executor cannot access database": (
        "e2e/test_executors.py",
        "test_the_wall_between_the_users_holds",
    ),
    "executor cannot access other users files": (
        "e2e/test_executors.py",
        "test_the_wall_between_the_users_holds",
    ),
    "session token expires": ("faults/test_executor_tokens.py", "test_session_token_expires"),
    # Success metrics
    "zero API key theft": (
        f"{ISOLATION}/agents/test_agents_that_lie.py",
        "test_an_agent_cannot_look_into_its_executor",
    ),
    "100 % of IPC calls logged": (
        f"{ISOLATION}/test_calls.py",
        "test_the_audit_has_every_call_and_no_secret",
    ),
    "rate limiting": ("faults/test_executor_tokens.py", "test_calls_are_limited_by_rate"),
    "invalidation after use": (
        "faults/test_executor_tokens.py",
        "test_its_own_token_is_accepted_once",
    ),
    "latency below 5 % more": ("benchmarks/bench_executor.py", "test_a_whole_run"),
    "spawn below 500 ms": ("benchmarks/bench_executor.py", "test_start_to_pong"),
    "round trip below 1 ms": ("benchmarks/bench_executor.py", "test_a_call"),
    "failures do not crash the daemon": (
        f"{ISOLATION}/agents/test_agents.py",
        "test_an_executor_that_dies_fails_the_prompt",
    ),
    "a crash at any moment": ("faults/test_executor_kills.py", "test_kill_9_at_random"),
    "no hanging requests": (
        f"{ISOLATION}/test_client.py",
        "test_a_peer_that_is_silent_is_not_waited_for",
    ),
    "no hanging requests, at load": (
        f"{ISOLATION}/test_pool.py",
        "test_ten_executors_answer_a_thousand_requests_each",
    ),
    "clear errors when setup incomplete": ("e2e/test_executors.py", "test_the_page_as_written"),
    "works without setup": ("core/settings/test_isolation.py", "test_off_by_default"),
    # Configuration
    "keys in S2's spelling": (
        "bot/settings/test_s2_spelling.py",
        "test_both_spellings_mean_the_same",
    ),
    "variables": ("bot/settings/test_s2_spelling.py", "test_the_short_variables_override_the_file"),
    "idle timeout": (
        f"{ISOLATION}/test_pool.py",
        "test_a_spare_is_used_once_and_goes_when_nobody_wants_it",
    ),
    # Hosts
    "sandbox inside the executor": ("e2e/test_sandbox_users.py", "test_bubblewrap_as_that_user"),
}


def missing(path: str, name: str) -> bool:
    """Return whether there is no such test."""
    file = ROOT / "tests" / path
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return re.search(rf"^(async )?def {name}\(", text, re.MULTILINE) is None


@rows("line, where", HELD.items())
def test_each_line_has_its_test(line: str, where: tuple[str, str]) -> None:
    """A renamed test is renamed here too."""
    assert not missing(*where), (line, where)


def test_a_test_that_is_not_there_is_missed() -> None:
    """The control."""
    assert missing("e2e/test_executors.py", "test_that_nobody_wrote")
    assert missing("e2e/test_nowhere.py", "test_each_line_has_its_test")

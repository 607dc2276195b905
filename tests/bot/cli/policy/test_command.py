"""Run `sayso policy explain` as a real process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.plans import CORPUS
from tests.support.product_process import run, start

SAYSO = [sys.executable, "-m", "bot", "policy", "explain"]
ALLOWLIST: dict[str, Any] = {
    "SAYSO_TOOLS__EXEC__HOST": "gateway",
    "SAYSO_TOOLS__EXEC__SECURITY": "allowlist",
}
CONTRACT = {"id", "decision", "reason", "segments"}


def explain(
    home: Path, *words: str, stdin: bytes = b"", **environ: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a home of its own."""
    return run(
        [*SAYSO, *words],
        input=stdin,
        capture_output=True,
        timeout=50,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "SAYSO_HOME": str(home / "state")}
        | environ,
    )


def batch(home: Path, *lines: object) -> list[dict[str, Any]]:
    """Judge lines; bytes are sent as they are, everything else as JSON."""
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    done = explain(home, "--batch", stdin=b"\n".join(raw) + b"\n")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_batch_answers_in_order_with_the_contract_fields(tmp_path: Path) -> None:
    """Each line is answered with id, decision, reason and segments, in the same order."""
    answers = batch(
        tmp_path,
        {"id": "a", "command": "ls -la | head -5", "allowlist": ["/usr/bin/ls"]},
        {"id": 2, "argv": ["/usr/bin/cat", "x y"]},
        {"id": None, "command": "ls > x", "allowlist": ["/usr/bin/ls"]},
    )
    assert [one["id"] for one in answers] == ["a", 2, None]
    assert [one["decision"] for one in answers] == ["allow", "ask", "ask"]
    assert [one["reason"] for one in answers] == ["allowlisted", "not_listed", "unreadable"]
    assert all(set(one) == CONTRACT for one in answers)
    assert answers[0]["segments"][0] == {
        "argv": ["ls", "-la"],
        "resolved": "/usr/bin/ls",
        "rule": "/usr/bin/ls",
        "decision": "allow",
    }
    assert answers[2]["segments"][0]["rule"] == "a redirection"


def test_batch_defaults_and_knobs(tmp_path: Path) -> None:
    """Absent safe_bins are the configured ones, null is none; other settings do what they say."""
    answers = batch(
        tmp_path,
        {"id": 1, "command": "head -5"},
        {"id": 2, "command": "head -5", "safe_bins": None},
        {"id": 3, "command": "head -5", "safe_bins": ["wc"]},
        {"id": 4, "command": "git push", "allowlist": ["/usr/bin/git"]},
        {"id": 5, "command": "git push", "allowlist": ["/usr/bin/git"], "trust": "classical"},
        {"id": 6, "command": "cal", "security": "full"},
        {"id": 7, "command": "ls", "security": "deny"},
        {"id": 8, "command": "git status", "ask": "off"},
        {"id": 9, "argv": ["df", "-h"], "acl": [["df", "-h"]]},
        {"id": 10, "argv": ["df"], "acl": [["df", "-h"]]},
        {"id": 11, "argv": ["ls"], "allowlist": ["/usr/bin/ls"], "env": {"LD_PRELOAD": "x"}},
        {"id": 12, "argv": ["./ls"], "allowlist": ["/usr/bin/ls"], "cwd": "/usr/bin"},
        {"id": 13, "argv": ["git", "-C", "/", "status"], "acl": [["git", "status"]]},
        {"id": 14, "argv": ["git", "-C", "/", "status"], "acl": [["git", "-C", "/", "status"]]},
    )
    assert [one["decision"] for one in answers] == [
        *("allow", "ask", "ask", "ask", "allow"),
        *("deny" if not Path("/usr/bin/cal").exists() else "allow", "deny", "deny"),
        *("allow", "deny", "deny", "allow", "deny", "allow"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"no json",
        b"[1]",
        b"\xff\xfe",
        b'{"id": 7}',
        b'{"id": 7, "command": "ls", "argv": ["ls"]}',
        b'{"id": 7, "argv": ["ls", 5]}',
        b'{"id": 7, "argv": ["ls", null]}',
        b'{"id": 7, "argv": "ls"}',
        b'{"id": 7, "command": 5}',
        b'{"id": 7, "command": "ls", "env": {"A": 1}}',
        b'{"id": 7, "command": "ls", "trust": "blind"}',
        b'{"id": 7, "command": "ls", "allowlist": "/usr/bin/ls"}',
        b'{"id": 7, "command": "ls", "safe_bins": "jq"}',
        b'{"id": 7, "argv": ["x"], "acl": [["<FOO>"]]}',
        b'{"id": 7, "argv": ["x"], "acl": [[]]}',
        b"[" * 100_000,
    ],
)
def test_a_bad_line_is_answered_and_the_batch_goes_on(tmp_path: Path, line: bytes) -> None:
    """A line that cannot be understood gets an error; the next one is judged."""
    bad, good = batch(tmp_path, line, {"id": "next", "command": "head"})
    assert set(bad) == {"id", "error"}
    assert bad["id"] == (7 if line.startswith(b'{"id": 7') else None)
    assert good["decision"] == "allow"


@pytest.mark.parametrize(
    "request_fields",
    [
        {"argv": []},
        {"argv": [""]},
        {"argv": ["ls", "a\0b"]},
        {"argv": ["ls", "\ud800"]},
        {"argv": ["ls\n"]},
        {"argv": ["ls"], "cwd": "relative"},
        {"argv": ["ls"], "cwd": "/does/not/exist"},
        {"argv": ["ls"], "env": {"": "x"}},
        {"argv": ["ls"], "env": {"A": "\ud800"}},
        {"command": ""},
        {"command": "   "},
        {"command": "# nothing"},
        {"command": "ls\0"},
        {"command": "echo \ud800"},
        {"command": "x" * 100_000},
    ],
)
def test_odd_requests_are_never_allowed(tmp_path: Path, request_fields: dict[str, Any]) -> None:
    """NUL, surrogates, emptiness, missing folders: an answer, and not an allow."""
    (answer,) = batch(
        tmp_path, {"id": 1, "allowlist": ["/**"], "trust": "classical", **request_fields}
    )
    assert answer.get("decision") in {"ask", "deny", None}


def test_the_corpus_goes_through_one_process(tmp_path: Path) -> None:
    """All corpus entries, with their fields, are answered one for one."""
    entries = json.loads((CORPUS / "commands.json").read_text(encoding="utf-8"))
    answers = batch(tmp_path, *entries)
    assert [one["id"] for one in answers] == [entry["id"] for entry in entries]
    wrong = [
        entry["id"]
        for entry, one in zip(entries, answers, strict=True)
        if entry["must"] == "not-auto-allow" and one.get("decision") == "allow"
    ]
    assert wrong == []


def test_one_answer_comes_before_the_next_question(tmp_path: Path) -> None:
    """Answers are flushed line by line, so that a caller may ask one at a time."""
    with start(
        [*SAYSO, "--batch"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": "/usr/bin", "HOME": str(tmp_path)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(json.dumps({"id": number, "command": "head"}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()


def test_nothing_runs(tmp_path: Path) -> None:
    """Judging an allowed command does not run it."""
    mark = tmp_path / "mark"
    (answer,) = batch(
        tmp_path, {"id": 1, "argv": ["/usr/bin/touch", str(mark)], "security": "full"}
    )
    assert answer["decision"] == "allow"
    assert not mark.exists()


def test_a_person_sees_decision_segments_knobs_and_the_way_out(tmp_path: Path) -> None:
    """The text begins with the decision and ends with each setting's source."""
    done = explain(tmp_path, "-c", "cat 'a b' | head -5", **ALLOWLIST)
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert text.startswith("ASK  ")
    assert "1. 'cat'  'a b'" in text
    assert "program   /usr/bin/head" in text
    assert "sayso approvals allowlist add --agent main '/usr/bin/cat'" in text
    assert "SAYSO_TOOLS__EXEC__SECURITY" in text or "tools.exec" in text
    assert "built-in default" in text


def test_the_folder_of_a_command_is_shown_where_it_is_another(tmp_path: Path) -> None:
    """A command runs in the folder of ``cd`` or of ``git -C``; what stays says nothing."""
    (tmp_path / "sub").mkdir()
    lines = f"ls && git -C {tmp_path}/sub log && cd {tmp_path}/sub && ls"

    text = explain(tmp_path, "-c", lines, **ALLOWLIST).stdout.decode()

    rows = [line.strip() for line in text.splitlines() if line[:5] == "   fo" or line[1:2] == "."]
    folder = f"folder    {tmp_path}/sub"
    assert rows == ["1. 'ls'", "2. 'git'  'log'", folder, "3. 'ls'", folder]


def test_the_default_policy_denies_and_says_what_to_set(tmp_path: Path) -> None:
    """Without configuration all is denied except in the sandbox, and the setting is named."""
    inside = explain(tmp_path, "-c", "ls").stdout.decode()
    text = explain(tmp_path, "-c", "ls", SAYSO_TOOLS__EXEC__HOST="gateway").stdout.decode()
    assert inside.startswith("ALLOW  Every command may run in the sandbox")
    assert text.startswith("DENY  ")
    assert "set security to allowlist" in text


def test_another_host_is_explained_as_the_call_that_names_it(tmp_path: Path) -> None:
    """The gateway's rules apply there, a call to the sandbox is judged as one, other words fail."""
    there = explain(tmp_path, "--host", "gateway", "-c", "ls").stdout.decode()
    back: dict[str, Any] = {
        "SAYSO_TOOLS__EXEC__HOST": "gateway",
        "SAYSO_TOOLS__EXEC__ASK": "always",
    }
    found = explain(tmp_path, "--host", "sandbox", "--json", "-c", "ls", **back)
    wrong = explain(tmp_path, "--host", "moon", "-c", "ls")

    assert there.startswith("DENY  ")
    assert "host          gateway  (call)" in there
    assert json.loads(found.stdout)["policy"]["host"] == {"value": "sandbox", "source": "call"}
    assert wrong.returncode == 2


def test_json_holds_the_same_facts(tmp_path: Path) -> None:
    """``--json`` gives verdict, reason in words, promise and settings with sources."""
    done = explain(tmp_path, "--json", "--", "cat", "a b", **ALLOWLIST)
    found = json.loads(done.stdout)
    assert (found["decision"], found["promise"]) == ("ask", ["/usr/bin/cat"])
    assert found["segments"][0]["argv"] == ["cat", "a b"]
    assert found["policy"]["security"]["value"] == "allowlist"
    assert found["why"].endswith(".")


RULES = """{tools: {exec: {security: "allowlist", rules: [
  {match: {argv: ["touch", "<PATH>"]}, decide: "allow"},
  {match: {argv: ["touch", "secret"]}, decide: "deny", reason: "ask the owner"},
  {match: {glob: "/opt/**"}, decide: "ask"},
]}}}"""


def test_each_rule_is_shown_and_the_winner_named(tmp_path: Path) -> None:
    """All that were checked, in order, with the strictest one marked."""
    home = tmp_path / ".sayso"
    home.mkdir(mode=0o700)
    (home / "config.json5").write_text(RULES)
    text = explain(tmp_path, "--", "env", "touch", "secret", SAYSO_HOME=str(home)).stdout.decode()
    assert text.startswith("DENY  A rule forbids this: ask the owner (tools.exec.rules[1])")
    assert "rules checked for 'env'  'touch'  'secret':" in text
    lines = text.partition("rules checked for 'touch'")[2].splitlines()[1:4]
    assert [line.split() for line in lines] == [
        ["allow", "tools.exec.rules[0]"],
        ["=>", "deny", "ask", "the", "owner", "(tools.exec.rules[1])"],
        ["no", "match", "tools.exec.rules[2]"],
    ]
    done = explain(tmp_path, "--json", "--", "touch", "secret", SAYSO_HOME=str(home))
    (looked,) = json.loads(done.stdout)["rules"]
    assert [one["winner"] for one in looked["rules"]] == [False, True, False]
    assert [one["decision"] for one in looked["rules"]] == ["allow", "deny", None]


def test_the_exact_arguments_are_proposed_for_a_carrier(tmp_path: Path) -> None:
    """The command to copy lets exactly this pass."""
    done = explain(tmp_path, "--", "touch", "a b", **ALLOWLIST)
    text = done.stdout.decode()
    assert "allowlist add --agent main '/usr/bin/touch' --argv 'a b'" in text


def test_misleading_characters_are_shown_as_escapes(tmp_path: Path) -> None:
    """What a terminal would hide or act on is escaped in the text."""
    done = explain(tmp_path, "--", "ls", "a\u202eb\x1b[2J", **ALLOWLIST)
    assert b"\\u202e" in done.stdout
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize(
    "words", [[], ["-c", "ls", "--", "ls"], ["--batch", "-c", "ls"], ["--what"]]
)
def test_wrong_usage_is_exit_2(tmp_path: Path, words: list[str]) -> None:
    """Exactly one of a line, a vector and a batch is needed."""
    done = explain(tmp_path, *words)
    assert done.returncode == 2
    assert b"sayso" in done.stderr


def ruled(tmp_path: Path, *rules: object) -> None:
    """Give the home a configuration with rules and heavier terms for critical questions."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    critical = {"tiers": {"critical": {"quorum": 2, "timeout": 90}}}
    config = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist", "rules": rules}},
        "approvals": {"exec": critical},
    }
    (state / "config.json5").write_text(json.dumps(config))
    (state / "config.json5").chmod(0o600)


NET = {"match": {"effect": "network"}, "decide": "ask", "tier": "critical", "reason": "net"}


def test_what_a_question_needs_is_told(tmp_path: Path) -> None:
    """Tier, people and time are in the text and in JSON; none of it if no one is asked."""
    ruled(tmp_path, NET)

    text = explain(tmp_path, "--", "curl", "http://a").stdout.decode()
    told = json.loads(explain(tmp_path, "--json", "--", "curl", "http://a").stdout)
    free = json.loads(explain(tmp_path, "--json", "--", "wc", "-l").stdout)

    assert "2 people must allow it within 1 min 30 s (tier critical)" in text
    assert {"tier": "critical", "quorum": 2, "timeoutMs": 90_000} == told["asks"]
    assert ("allow", None) == (free["decision"], free["asks"])


def test_a_rule_does_not_hide_that_the_line_is_unreadable(tmp_path: Path) -> None:
    """Both are named, since the line would ask without the rule as well."""
    ruled(tmp_path, NET)

    told = json.loads(explain(tmp_path, "--json", "-c", "ls > x").stdout)

    assert "rule_asked" == told["reason"]
    assert "net" in told["why"]
    assert "cannot be parsed with certainty (a redirection)" in told["why"]


def test_a_wrapper_shows_no_effect_that_does_not_count(tmp_path: Path) -> None:
    """Effects are those of what it runs, so its own table entry decides nothing."""
    ruled(tmp_path, NET)

    looks = json.loads(explain(tmp_path, "--json", "--", "timeout", "5", "cat", "x").stdout)

    assert [["timeout", "5", "cat", "x"], ["cat", "x"]] == [one["argv"] for one in looks["rules"]]
    assert [[False], [False]] == [
        [rule["matched"] for rule in one["rules"]] for one in looks["rules"]
    ]


def rendered(tmp_path: Path, *words: str, cwd: Path) -> tuple[dict[str, Any], str]:
    """Render a prompt for Slack from a folder; return it with the remarks."""
    done = run(
        [sys.executable, "-m", "bot", "prompt", "render", "--channel", "slack", *words],
        capture_output=True,
        timeout=50,
        check=True,
        text=True,
        cwd=cwd,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "SAYSO_HOME": str(tmp_path / "state"),
            "PYTHONPATH": str(Path(__file__).parents[4]),
        },
    )
    return json.loads(done.stdout), done.stderr


def test_a_rendered_prompt_is_that_of_the_configuration(tmp_path: Path) -> None:
    """Programs are looked up where it would run; the rule, its reason and its quorum are shown."""
    ruled(tmp_path, {**NET, "match": {"glob": "/**/x.sh"}})
    script = tmp_path / "x.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)

    answer, _ = rendered(tmp_path, "-c", "./x.sh", cwd=tmp_path)
    _, note = rendered(tmp_path, "--", "wc", "-l", cwd=tmp_path)

    text = json.dumps(answer["payloads"])
    assert "does not exist" not in text
    assert "net (tools.exec.rules[0])" in text
    assert "2 people" in text
    assert "Nobody is asked" in note

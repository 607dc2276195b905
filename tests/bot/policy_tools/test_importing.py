"""`sayso policy import`: nothing comes over looser than it was meant."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bot.policy_tools.importing import claude_code, codex, gemini, openclaw
from bot.policy_tools.importing.carrying import LONGEST, Imported, carried
from bot.policy_tools.importing.source import rules_text
from bot.policy_tools.importing.statements import Statement
from bot.settings.json5_file import read_json5
from core.errors import BadRequest
from core.model.approval import AllowlistEntry
from core.model.command import PinnedFile
from core.model.decision import Decision, Promise
from core.policy.allowlist import Allowlist
from core.policy.evaluate import evaluate
from core.policy.provisions import Provisions, compiled
from core.settings import CoreSettings
from tests.bot.policy_tools.past import home, sayso, write
from tests.core.policy.plans import LISTED, pinned, plan_of, wrapped

Read = Callable[[bytes, str], tuple[Statement, ...]]


def find(word: str) -> PinnedFile | None:
    """Return the program that Debian would have; some names are not installed."""
    if word == "missing":
        return None
    return pinned(word if word.startswith("/") else f"/usr/bin/{word}")


def imported(read: Read, text: str) -> Imported:
    """Import a text."""
    return carried(read(text.encode(), "file"), "file", find, "/home/alice")


def claude(**lists: Sequence[str]) -> Imported:
    """Import Claude Code's permissions."""
    return imported(claude_code.read, json.dumps({"permissions": lists}))


def decision(found: Imported, *argv: str) -> Decision:
    """Judge a vector under what was imported, as the gateway would."""
    text = f"{{{rules_text(found)}}}"
    document = read_json5(text, "rules")
    assert isinstance(document.value, dict)
    assert not document.problems
    settings = CoreSettings.model_validate({"tools": {"exec": document.value}})
    entries = [AllowlistEntry(one.entry.pattern, argv=one.entry.argv) for one in found.entries]
    held: Provisions = compiled(settings, "/home/alice").everyone
    plan = plan_of(wrapped(*argv))
    return evaluate(plan, LISTED, Allowlist(entries, "/home/alice"), provisions=held).decision


def entries(found: Imported) -> list[Promise]:
    """Return the entries without their agents."""
    return [one.entry for one in found.entries]


def reason(found: Imported, text: str) -> str:
    """Return why a line was left."""
    (why,) = [one.why for one in found.left if text in one.text]
    return why


# Claude Code


def test_an_exact_command_becomes_exactly_that() -> None:
    """`Bash(npm run build)` allows neither more nor fewer words."""
    found = claude(allow=["Bash(npm run build)"])

    assert [Promise("/usr/bin/npm", ("run", "build"))] == entries(found)
    assert Decision.ALLOW is decision(found, "npm", "run", "build")
    assert Decision.ASK is decision(found, "npm", "run", "build", "--x")
    assert Decision.ASK is decision(found, "npm", "run")


def test_a_prefix_becomes_templates_where_no_other_program_runs() -> None:
    """`Bash(git log:*)` allows the prefix and plain words after it, never an option."""
    for rule in ("Bash(git log:*)", "Bash(git log *)"):
        found = claude(allow=[rule])
        assert Decision.ALLOW is decision(found, "git", "log")
        assert Decision.ALLOW is decision(found, "git", "log", "main", "src")
        assert Decision.ASK is decision(found, "git", "log", "--output=/tmp/x")
        assert Decision.ASK is decision(found, "git", "status")
        assert "no options" in reason(found, rule)


def test_a_prefix_that_runs_other_programs_stays_alone() -> None:
    """`npm run test` with more words may be anything; so may `docker run`."""
    found = claude(allow=["Bash(npm run test:*)", "Bash(docker run:*)"])

    assert Decision.ALLOW is decision(found, "npm", "run", "test")
    assert Decision.ASK is decision(found, "npm", "run", "test", "x")
    assert Decision.ASK is decision(found, "docker", "run", "alpine")


def test_a_bare_program_becomes_its_path() -> None:
    """Strict trust still asks about what may do harm."""
    found = claude(allow=["Bash(ls:*)", "Bash(git:*)"])

    assert [Promise("/usr/bin/ls"), Promise("/usr/bin/git")] == entries(found)
    assert Decision.ALLOW is decision(found, "git", "status")
    assert Decision.ASK is decision(found, "git", "push")


@pytest.mark.parametrize(
    "rule",
    [
        *("Bash", "Bash(*)", "Bash(:*)", "Bash(python:*)", "Bash(bash:*)", "Bash(env *)"),
        *("Bash(node script:*)", "Bash(sudo ls)", "Bash(timeout 5 ls)", "Bash(missing)"),
        *("Bash(git * main)", "Bash(cat *.md)", "Bash(ls*)", "Bash(git add . && git push)"),
        *("Bash(ls > x)", "Bash(echo $HOME)", "Bash(cd src)", "Read(x)", "WebFetch", "what?"),
        *("Bash(./x.sh)", "Bash(echo <NAME>)", "Bash(echo '<ANY>':*)"),
    ],
)
def test_what_no_entry_says_is_left_with_its_reason(rule: str) -> None:
    """Everything that a template cannot say, and every open interpreter, asks as before."""
    found = claude(allow=[rule])

    assert ([], ()) == (entries(found), found.rules)
    assert found.left[0].why


def test_ask_and_deny_become_rules_that_win() -> None:
    """A denied prefix covers every length up to the longest, a bare program all of them."""
    found = claude(
        allow=["Bash(git push origin main)"],
        ask=["Bash(git push:*)"],
        deny=["Bash(rm -rf:*)", "Bash(curl:*)", "Bash(sudo:*)"],
    )

    assert Decision.ASK is decision(found, "git", "push", "origin", "main")
    assert Decision.DENY is decision(found, "rm", "-rf", "/")
    assert Decision.DENY is decision(found, "rm", "-rf", *("x",) * (LONGEST - 2))
    assert Decision.DENY is decision(found, "curl", *("-s",) * 30)
    assert Decision.DENY is decision(found, "sudo", "ls")
    assert Decision.DENY is decision(found, "env", "rm", "-rf", "/")


def test_a_narrowed_program_is_not_listed_by_its_path() -> None:
    """Else a command longer than the rules for the prefix would run."""
    found = claude(allow=["Bash(ls:*)", "Bash(cat:*)"], deny=["Bash(ls -R:*)"])

    assert [Promise("/usr/bin/cat")] == entries(found)
    assert Decision.DENY is decision(found, "ls", "-R", "/")
    assert Decision.ASK is decision(found, "ls", "-R", *("x",) * LONGEST)


def test_an_exact_denial_leaves_the_path() -> None:
    """Its rule says all of it, so that nothing of it is lost."""
    found = claude(allow=["Bash(ls:*)"], deny=["Bash(ls -R)"])

    assert Decision.DENY is decision(found, "ls", "-R")
    assert Decision.ALLOW is decision(found, "ls", "-R", "src")


def test_an_exact_command_longer_than_the_rules_that_narrow_is_left() -> None:
    """The source denies it by its prefix, and no rule here is that long."""
    words = " ".join(["x"] * LONGEST)
    found = claude(allow=[f"Bash(ls -R {words})"], deny=["Bash(ls -R:*)"])

    assert [] == entries(found)


@pytest.mark.parametrize("lost", ["Bash(git * --force)", "Bash(git push $X)", "Bash", "Ba*", "*"])
@pytest.mark.parametrize("key", ["ask", "deny"])
def test_what_narrows_and_is_lost_takes_the_allows_with_it(key: str, lost: str) -> None:
    """A deny that no rule says must not leave an allow that it would have cut."""
    found = claude(allow=["Bash(git log)"], **{key: [lost]})

    assert [] == entries(found)
    assert "may narrow it" in reason(found, "Bash(git log)")


def test_a_lost_rule_about_one_program_leaves_the_others() -> None:
    """`git * --force` says nothing about ls."""
    found = claude(allow=["Bash(git log)", "Bash(ls:*)"], deny=["Bash(git * --force)"])

    assert [Promise("/usr/bin/ls")] == entries(found)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"permissions": []}', '{"permissions": {"ask": 1}}']
)
def test_what_is_no_settings_file_is_refused(text: str) -> None:
    """The message names the file or the key."""
    with pytest.raises(BadRequest, match=r"file|permissions"):
        imported(claude_code.read, text)


# Codex


def test_prefix_rules_come_over_with_alternatives_and_reasons() -> None:
    """Allow is the default; prompt asks, forbidden denies with its justification."""
    found = imported(
        codex.read,
        """
# a comment
prefix_rule(pattern=["git", ["status", "diff"]])
prefix_rule(pattern=["cp"], decision="prompt", match=[["cp", "a"], "cp -r x y"])
prefix_rule(
    pattern = ["rm"], decision = "forbidden", justification = "use trash",
    not_match = ["trash x"],
)
""",
    )

    assert Decision.ALLOW is decision(found, "git", "status")
    assert Decision.ALLOW is decision(found, "git", "diff", "main")
    assert Decision.ASK is decision(found, "cp", "a", "b")
    assert Decision.DENY is decision(found, "rm", "x")
    assert "use trash" == found.rules[-1].reason


@pytest.mark.parametrize(
    "text",
    [
        'prefix_rule(pattern=["ls"], decision="maybe")',
        'prefix_rule(pattern=["ls"], decision="forbidden", host="x")',
        'prefix_rule(pattern=[], decision="prompt")',
        'prefix_rule(pattern=["ls", []], decision="prompt")',
        'prefix_rule(pattern=["ls", 5], decision="prompt")',
        'prefix_rule(pattern=["ls"] + ["-l"], decision="prompt")',
        'prefix_rule(pattern=[x], decision="prompt")',
        'prefix_rule(["ls"])',
        'prefix_rule(**{"pattern": ["ls"]})',
        'prefix_rule(pattern=["cp"], decision="prompt", match=["mv a b"])',
        'prefix_rule(pattern=["cp"], decision="prompt", not_match=["cp a b"])',
        'load("x", "y")',
        "x = 1",
        "for x in []: pass",
        'print("x")',
        '__import__("os").system("touch /tmp/sayso-import")',
    ],
)
def test_what_is_no_literal_rule_is_never_run_and_takes_the_allows_with_it(text: str) -> None:
    """Whatever else stands in the file may narrow what it allows."""
    found = imported(codex.read, f'prefix_rule(pattern=["ls"])\n{text}\n')

    assert ([], ()) == (entries(found), found.rules)
    assert not Path("/tmp/sayso-import").exists()


def test_an_unknown_key_of_an_allow_costs_only_that_rule() -> None:
    """It may limit the rule; others stand."""
    text = 'prefix_rule(pattern=["ls"], when="x")\nprefix_rule(pattern=["cat"])'

    assert [Promise("/usr/bin/cat")] == entries(imported(codex.read, text))


def test_a_host_executable_limits_the_name() -> None:
    """A program that is found elsewhere is not the one that was meant."""
    rule = 'prefix_rule(pattern=["ls"])\nhost_executable(name="ls", paths=["{}"])'

    assert [Promise("/usr/bin/ls")] == entries(imported(codex.read, rule.format("/usr/bin/ls")))
    assert [] == entries(imported(codex.read, rule.format("/opt/bin/ls")))


def test_broken_syntax_is_refused() -> None:
    """Half a file is no policy."""
    for text in ("prefix_rule(", "\0", "(" * 500, 'prefix_rule(pattern=["ls"]) garbage'):
        with pytest.raises(BadRequest, match="cannot be read as rules"):
            imported(codex.read, text)


# Gemini


def gemini_rule(decide: str, priority: int = 10, **more: object) -> str:
    """Return one rule."""
    keys = {"toolName": "run_shell_command", "decision": decide, "priority": priority, **more}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return f"[[rule]]\n{lines}"


def test_command_prefixes_come_over() -> None:
    """One or several; denials carry their message."""
    found = imported(
        gemini.read,
        gemini_rule("allow", commandPrefix=["git status", "ls"])
        + gemini_rule("ask_user", commandPrefix="git push")
        + gemini_rule("deny", commandPrefix="rm -rf", denyMessage="it is permanent"),
    )

    assert Decision.ALLOW is decision(found, "git", "status")
    assert Decision.ALLOW is decision(found, "ls", "-la")
    assert Decision.ASK is decision(found, "git", "push", "origin")
    assert Decision.DENY is decision(found, "rm", "-rf", "x")
    assert "it is permanent" in {rule.reason for rule in found.rules}


@pytest.mark.parametrize(
    "more",
    [
        *({"modes": ["yolo"]}, {"subagent": "x"}, {"interactive": True}, {"commandRegex": "ls.*"}),
        *({"argsPattern": "ls"}, {"toolAnnotations": {"a": True}}, {"surprise": 1}),
    ],
)
def test_an_allow_under_a_condition_is_left(more: dict[str, object]) -> None:
    """Sayso does not know the condition, so it must not forget it."""
    if "toolAnnotations" in more:
        text = gemini_rule("allow", commandPrefix="ls") + "toolAnnotations = { a = true }\n"
    else:
        text = gemini_rule("allow", commandPrefix="ls", **more)
    found = imported(gemini.read, text)

    assert [] == entries(found)
    assert 1 == len(found.left)


def test_a_denial_under_a_condition_always_holds() -> None:
    """Stricter is never looser."""
    found = imported(gemini.read, gemini_rule("deny", commandPrefix="curl", modes=["plan"]))

    assert Decision.DENY is decision(found, "curl", "x")


def test_a_lost_narrowing_takes_only_what_it_outranks() -> None:
    """Ask about everything at priority 5, allow ls at 50: ls stays; the reverse loses it."""
    everything = {"decide": "ask_user"}
    over = gemini_rule(**everything, priority=50) + gemini_rule("allow", 5, commandPrefix="ls")
    under = gemini_rule(**everything, priority=5) + gemini_rule("allow", 50, commandPrefix="ls")
    same = gemini_rule(**everything, priority=5) + gemini_rule("allow", 5, commandPrefix="ls")

    assert [] == entries(imported(gemini.read, over))
    assert [Promise("/usr/bin/ls")] == entries(imported(gemini.read, under))
    assert [] == entries(imported(gemini.read, same))


def test_without_a_priority_an_allow_outranks_nothing() -> None:
    """Gemini demands one; what lacks it is read as narrowly as it can be meant."""
    allow = '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "ls"\ndecision = "allow"\n'

    assert [] == entries(imported(gemini.read, gemini_rule("deny", 0) + allow))
    assert [Promise("/usr/bin/ls")] == entries(imported(gemini.read, allow))


def test_rules_about_other_tools_narrow_nothing() -> None:
    """MCP and file tools are not commands; a wildcard over all tools is."""
    other = '[[rule]]\ntoolName = "{}"\ndecision = "deny"\npriority = 99\n'
    allow = gemini_rule("allow", commandPrefix="ls")

    for tool, kept in (("write_file", 1), ("mcp_*", 1), ("*", 0)):
        assert kept == len(imported(gemini.read, other.format(tool) + allow).entries), tool


# The reference product


def approvals(**agents: object) -> str:
    """Return an exec-approvals.json."""
    return json.dumps({"version": 1, "agents": agents})


def test_entries_come_over_for_their_agents() -> None:
    """Patterns and text entries; `default` is main, `*` reaches those that are named."""
    found = imported(
        openclaw.read,
        approvals(
            default={"allowlist": [{"pattern": "/usr/bin/rg", "lastUsedAt": 1}, "~/bin/*"]},
            coder={"allowlist": [{"pattern": "/usr/bin/jq", "id": "x", "source": "allow-always"}]},
            **{"*": {"allowlist": [{"pattern": "/usr/bin/cat"}]}},
        ),
    )
    listed = {(one.agent, one.entry.pattern) for one in found.entries}

    assert {
        *(("main", "/usr/bin/rg"), ("main", "~/bin/*"), ("main", "/usr/bin/cat")),
        *(("coder", "/usr/bin/jq"), ("coder", "/usr/bin/cat")),
    } == listed


@pytest.mark.parametrize(
    "entry",
    [
        {"pattern": "/usr/bin/rg", "argPattern": "^x$"},
        {"pattern": "/usr/bin/rg", "expiresAt": 5},
        *({"pattern": "=command:0123456789abcdef"}, {"pattern": "*"}, {"pattern": "**"}),
        *({"pattern": "r*"}, {"pattern": "bin/rg"}, {"pattern": "/usr/../x"}, {"pattern": "bash"}),
        *({"pattern": "missing"}, {"pattern": "python3"}, {"path": "/usr/bin/rg"}, 5),
        *({"pattern": "cat"}, "jq", {"pattern": "/bin/bash"}, {"pattern": "/usr/bin/env"}),
        *({"pattern": "/usr/bin/python3"}, {"pattern": "/opt/**/sudo"}, {"pattern": "/usr/bin/"}),
    ],
)
def test_entries_with_a_limit_or_without_a_path_are_left(entry: object) -> None:
    """Each with its reason."""
    found = imported(openclaw.read, approvals(main={"allowlist": [entry]}))

    assert [] == entries(found)
    assert 1 == len(found.left)


@pytest.mark.parametrize("knob", [{"ask": "always"}, {"security": "deny"}])
@pytest.mark.parametrize("place", ["own", "defaults", "*"])
def test_an_agent_that_always_asks_gets_no_entries(place: str, knob: dict[str, str]) -> None:
    """Else its listed programs would run here without a person."""
    listed = {"allowlist": [{"pattern": "/usr/bin/rg"}]}
    document: dict[str, object] = {
        "version": 1,
        "defaults": knob if place == "defaults" else {},
        "agents": {
            "main": {**listed, **(knob if place == "own" else {})},
            "*": knob if place == "*" else {},
        },
    }

    assert [] == entries(imported(openclaw.read, json.dumps(document)))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "agents": 1}'])
def test_another_version_is_refused(text: str) -> None:
    """What is not known is not guessed."""
    with pytest.raises(BadRequest):
        imported(openclaw.read, text)


# The command


def test_write_makes_a_configuration_with_the_rules_and_adds_the_entries(tmp_path: Path) -> None:
    """In a home without one; after that explain says allow and deny."""
    state = tmp_path / "state"
    file = write(
        tmp_path / "settings.json",
        {"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Bash(cat:*)"]}},
    )
    done = sayso(state, "policy", "import", "--from", "claude-code", str(file), "--write")

    assert 0 == done.returncode, done.stderr
    assert 0o600 == (state / "config.json5").stat().st_mode & 0o777
    assert "/usr/bin/ls" in (state / "exec-approvals.json").read_text(encoding="utf-8")
    checked = write(
        tmp_path / "e.jsonl",
        '{"command": "ls", "expect": "allow", "security": "allowlist"}\n'
        '{"command": "cat x", "expect": "deny", "security": "allowlist"}\n',
    )
    tested = sayso(state, "policy", "test", str(checked))
    assert 0 == tested.returncode, tested.stdout


def test_write_waits_for_the_rules_that_narrow(tmp_path: Path) -> None:
    """An owner's configuration is not rewritten; without its rules no entry is added."""
    state = home(tmp_path, "{ tools: { exec: {} } } // mine\n")
    permissions = {"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Bash(cat:*)"]}}
    file = write(tmp_path / "settings.json", permissions)
    words = ("policy", "import", "--from", "claude-code", str(file))
    done = sayso(state, *words, "--write")

    assert 2 == done.returncode
    assert "1 of the rules are not in tools.exec.rules" in done.stderr
    assert not (state / "exec-approvals.json").exists()
    assert "// mine" in (state / "config.json5").read_text(encoding="utf-8")
    printed = json.loads(sayso(state, *words, "--json").stdout)
    home(tmp_path, {"tools": {"exec": {"rules": printed["rules"]}}})
    assert 0 == sayso(state, *words, "--write").returncode
    assert (state / "exec-approvals.json").exists()


def test_without_write_nothing_is_changed(tmp_path: Path) -> None:
    """The text has the rules, the commands to copy and what was left."""
    state = tmp_path / "state"
    file = write(tmp_path / "x.rules", 'prefix_rule(pattern=["ls"])\nload("a")\n')
    done = sayso(state, "policy", "import", "--from", "codex", str(file))

    assert 0 == done.returncode, done.stderr
    assert not state.exists()
    assert "0 rules for tools.exec of config.json5" in done.stdout
    assert "2 lines that did not come over" in done.stdout
    assert 2 == sayso(state, "policy", "import", "--from", "codex", "/none").returncode

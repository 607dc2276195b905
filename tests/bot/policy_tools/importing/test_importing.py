"""Import with `sayso policy import` nothing looser than it was meant."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.policy_tools.importing.import_files import Source, import_texts
from bot.policy_tools.importing.report import shown
from bot.policy_tools.importing.result import Fate, Imported
from bot.policy_tools.importing.scope import Origin
from bot.policy_tools.importing.write import rules_text
from bot.settings.json5_file import read_json5
from core.errors import BadRequest
from core.model.approval import AllowlistEntry
from core.model.command import PinnedFile
from core.model.decision import Decision, Promise
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist
from core.policy.rules.compiled import Provisions, compiled
from core.settings import CoreSettings
from tests.bot.policy_tools.past import home, sayso, write
from tests.support.plans import LISTED, pinned, plan_of, wrapped
from tests.support.tables import rows

LONG = ("x",) * 30


def find(word: str) -> PinnedFile | None:
    """Return the program that Debian would have; some names are not installed."""
    if word == "missing":
        return None
    return pinned(word if word.startswith("/") else f"/usr/bin/{word}")


def imported(source: Source, text: str, name: str = "file", *, trust: bool = False) -> Imported:
    """Import a text."""
    origin = Origin(name, "/home/alice")
    return import_texts(source, [(text, origin)], find, "/home/alice", trust_source=trust)


def claude(*, trust: bool = False, **lists: Sequence[str]) -> Imported:
    """Import Claude Code's permissions."""
    return imported(Source.CLAUDE_CODE, json.dumps({"permissions": lists}), trust=trust)


def decision(found: Imported, *argv: str) -> Decision:
    """Judge a vector under what was imported, as the gateway would."""
    text = f"{{{rules_text(found.rules)}}}"
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


def allowed(found: Imported) -> list[object]:
    """Return the vectors of the rules that allow."""
    return [rule.value for rule in found.rules if rule.decide is Decision.ALLOW]


def fates(found: Imported) -> list[Fate]:
    """Return the result for each line."""
    return [one.fate for one in found.outcomes]


def reason(found: Imported, text: str) -> str:
    """Return why a line is not the same."""
    (why,) = [one.why for one in found.outcomes if text in one.place.text]
    return why or ""


# Claude Code


def test_an_exact_command_becomes_exactly_that() -> None:
    """`Bash(npm run build)` allows neither more nor fewer words."""
    found = claude(allow=["Bash(npm run build)"])

    assert [("npm", "run", "build")] == allowed(found)
    assert [Fate.EXACT] == fates(found)
    assert Decision.ALLOW is decision(found, "npm", "run", "build")
    assert Decision.ASK is decision(found, "npm", "run", "build", "--x")
    assert Decision.ASK is decision(found, "npm", "run")


@pytest.mark.parametrize("rule", ["Bash(git log:*)", "Bash(git log *)", "Bash(npm run test:*)"])
def test_a_prefix_becomes_one_rule_with_any_words_after_it(rule: str) -> None:
    """Any number, options too: that is what the source allows."""
    found = claude(allow=[rule])
    (vector,) = allowed(found)
    words = list(vector)[:-1] if isinstance(vector, tuple) else []

    assert [Fate.EXACT] == fates(found)
    assert Decision.ALLOW is decision(found, *words)
    assert Decision.ALLOW is decision(found, *words, "--output=/tmp/x", *LONG)
    assert Decision.ASK is decision(found, *words[:-1], "other")


def test_a_bare_carrier_keeps_its_profile_unless_the_source_is_trusted() -> None:
    """`Bash(git:*)` does not restrict git's arguments; `--trust-source` takes it as it is."""
    found = claude(allow=["Bash(git:*)"])
    trusted = claude(allow=["Bash(git:*)"], trust=True)

    assert [("git", "<REST>")] == allowed(found)
    assert Decision.ALLOW is decision(found, "git", "status")
    assert Decision.ASK is decision(found, "git", "push")
    assert "--trust-source" in reason(found, "git")
    assert Decision.ALLOW is decision(trusted, "git", "push")
    assert Decision.ASK is decision(trusted, "git", "-c", "core.pager=x", "log")
    assert [Fate.NARROWER] == fates(trusted)
    assert "carry code" in reason(trusted, "git")


def test_options_alone_do_not_say_what_a_carrier_does() -> None:
    """`git -C /x` may still be given anything."""
    found = claude(allow=["Bash(git --no-pager:*)"])

    assert Decision.ASK is decision(found, "git", "--no-pager", "push")


def test_a_program_that_runs_no_other_takes_any_words() -> None:
    """Listing mkdir, or one's own tool, says what it does."""
    found = claude(allow=["Bash(mkdir:*)", "Bash(mytool:*)", "Bash(ls:*)"])

    assert [Fate.EXACT] * 3 == fates(found)
    assert Decision.ALLOW is decision(found, "mkdir", "-p", "a/b")


def test_code_in_arguments_is_asked_about_though_the_source_is_trusted() -> None:
    """No rule lifts it, and the import says so."""
    found = claude(allow=["Bash(python3:*)", "Bash(python3 -c:*)", "Bash(bash:*)"], trust=True)

    assert Decision.ALLOW is decision(found, "python3", "x.py")
    assert Decision.ASK is decision(found, "python3", "-c", "x")
    assert "code" in reason(found, "Bash(python3:*)")
    assert [Fate.NARROWER, Fate.DROPPED, Fate.DROPPED] == fates(found)


def test_a_star_at_the_end_of_a_word_takes_the_rest_of_it_and_more_words() -> None:
    """`npm run test*` is test:unit as well, with whatever follows."""
    found = claude(allow=["Bash(npm run test*)"])

    assert Decision.ALLOW is decision(found, "npm", "run", "test:unit", "--x")
    assert Decision.ASK is decision(found, "npm", "run", "tes")
    assert [Fate.EXACT] == fates(found)


def test_a_star_in_the_middle_is_narrower_and_says_so() -> None:
    """Up to three words, of which the first is not an option."""
    found = claude(allow=["Bash(git * main)"])

    assert Decision.ALLOW is decision(found, "git", "checkout", "main")
    assert Decision.ASK is decision(found, "git", "main")
    assert Decision.ASK is decision(found, "git", "-c", "main")
    assert "at most 3 words" in reason(found, "git")


def test_find_asks_about_what_the_source_asks_about() -> None:
    """Whatever is allowed, `-exec` and `-delete` ask there."""
    found = claude(allow=["Bash(find:*)"])

    assert Decision.ALLOW is decision(found, "find", ".", "-name", "x")
    assert Decision.ASK is decision(found, "find", ".", "-delete")
    assert Decision.ASK is decision(found, "find", ".", "-exec", "rm", "{}", "+")


def test_a_home_and_quotes_are_read_as_a_shell_reads_them() -> None:
    """The words that a command really has are compared."""
    found = claude(allow=["Bash(ls ~/x:*)", "Bash(grep -n 'a b' f)"])

    assert Decision.ALLOW is decision(found, "ls", "/home/alice/x", "y")
    assert Decision.ALLOW is decision(found, "grep", "-n", "a b", "f")


@rows(
    "rule",
    [
        *("Bash", "Bash(*)", "Bash(:*)", "Bash(bash:*)", "Bash(env *)", "Bash(sudo ls)"),
        *("Bash(timeout 5 ls)", "Bash(* --version)", "Bash(git add . && git push)"),
        *("Bash(ls > x)", "Bash(echo $HOME)", "Bash(cd src)", "WebFetch", "what?", "Read(x)"),
        *("Bash(./x.sh)", "Bash(echo <NAME>)", "Bash(echo '<ANY>':*)", "Bash(FOO=1 make:*)"),
    ],
)
def test_what_no_rule_says_is_left_with_its_reason(rule: str) -> None:
    """Wrappers, shell syntax and relative paths ask as before."""
    found = claude(allow=[rule])

    assert ([], ()) == (entries(found), found.rules)
    assert found.outcomes[0].why


def test_ask_and_deny_become_rules_that_win() -> None:
    """A denied prefix covers any number of words, through wrappers as well."""
    found = claude(
        allow=["Bash(git push origin main)"],
        ask=["Bash(git push:*)"],
        deny=["Bash(rm -rf:*)", "Bash(curl:*)", "Bash(sudo:*)"],
    )

    assert Decision.ASK is decision(found, "git", "push", "origin", "main")
    assert Decision.DENY is decision(found, "rm", "-rf", "/")
    assert Decision.DENY is decision(found, "rm", "-rf", *LONG)
    assert Decision.DENY is decision(found, "curl", *("-s",) * 30)
    assert Decision.DENY is decision(found, "sudo", "ls")
    assert Decision.DENY is decision(found, "env", "rm", "-rf", "/")


@pytest.mark.parametrize(
    ("rule", "denied", "left"),
    [
        ("Bash(./deploy:*)", ("/srv/app/deploy", "x"), ("/srv/app/other", "x")),
        ("Bash(bin/deploy:*)", ("/srv/app/deploy", "x"), ("/srv/app/other", "x")),
        ("Bash(/opt/bin/curl:*)", ("/opt/bin/curl", "x"), ("/usr/bin/curl", "x")),
    ],
)
def test_a_denied_path_covers_its_file_and_a_relative_one_every_file_of_that_name(
    rule: str, denied: tuple[str, ...], left: tuple[str, ...]
) -> None:
    """Where a relative path leads is unknown when the rule is written, and its line says so."""
    found = claude(deny=[rule])

    assert Decision.DENY is decision(found, *denied)
    assert Decision.DENY is not decision(found, *left)
    relative = "any program of that name" in reason(found, rule)
    assert relative is not rule.startswith("Bash(/")


def test_an_exact_denial_leaves_the_rest() -> None:
    """Its rule says all of it, so that nothing of it is lost."""
    found = claude(allow=["Bash(ls:*)"], deny=["Bash(ls -R)"])

    assert Decision.DENY is decision(found, "ls", "-R")
    assert Decision.ALLOW is decision(found, "ls", "-R", "src")


@pytest.mark.parametrize("key", ["ask", "deny"])
@rows(
    "rule, argv",
    [
        ("Bash(git * --force)", ("git", "push", *LONG, "--force")),
        ("Bash(* --force*)", ("mytool", "--force-it", "x")),
        ("Bash(*prod*)", ("cp", "a", "/srv/prod/b")),
        ("Bash(mytool '<NAME>')", ("mytool", "<NAME>")),
        ("Bash", ("ls",)),
        ("Ba*", ("ls",)),
        ("*", ("ls",)),
    ],
)
def test_a_star_in_what_narrows_covers_any_number_of_words(
    key: str, rule: str, argv: tuple[str, ...]
) -> None:
    """Such a rule is a pattern of the words, so nothing of it is lost."""
    allow = ["Bash(git push:*)", "Bash(mytool:*)", "Bash(cp:*)", "Bash(ls:*)"]
    narrowed: dict[str, Any] = {key: [rule]}
    found = claude(allow=allow, **narrowed)

    assert Decision[key.upper()] is decision(found, *argv)
    assert not found.of(Fate.LOST)


@pytest.mark.parametrize("rule", ["Bash(git push $X)", "Bash(git push && ls)", "Bash(git push|sh)"])
def test_shell_syntax_in_what_narrows_asks_about_more(rule: str) -> None:
    """What comes before it asks, with whatever follows; the rule's line says so."""
    found = claude(allow=["Bash(git:*)", "Bash(git push:*)"], deny=[rule])

    assert Decision.ASK is decision(found, "git", "push", "x")
    assert "is asked about instead" in reason(found, rule)


@pytest.mark.parametrize("lost", ["Bash($X)", "Bash((ls))", "De ny", "Bash(cd:*)"])
def test_a_lost_denial_takes_the_allows_with_it_and_comes_first(lost: str) -> None:
    """A deny that no rule expresses must not leave an allow that it would have narrowed."""
    found = claude(allow=["Bash(git log)"], deny=[lost])

    assert Fate.LOST in fates(found)
    assert shown(found).startswith("WARNING: 1 denial or question LOST.")
    if lost != "Bash(cd:*)":
        assert [] == allowed(found)


def test_a_denial_that_is_no_valid_rule_here_is_lost() -> None:
    """It is not just dropped, as something that allows is: `--write` refuses while one is lost."""
    found = claude(deny=["Bash(git log \x07)"])

    assert fates(found) == [Fate.LOST]
    assert "control or invisible characters" in reason(found, "git log")


@pytest.mark.parametrize(
    ("program", "fate"),
    [("pwd", Fate.EXACT), ("/usr/bin/pwd", Fate.EXACT), ("/opt/bin/pwd", Fate.NARROWER)],
)
def test_a_file_denial_costs_nothing_where_a_program_reads_no_file(
    program: str, fate: Fate
) -> None:
    """A name is the system's program; at a path elsewhere it may be anything."""
    found = claude(allow=[f"Bash({program})"], deny=["Read(./secrets/**)"])

    assert fate in fates(found)
    assert (fate is Fate.NARROWER) is ("unnamed" in reason(found, f"Bash({program})"))


def test_a_file_denial_holds_for_commands_that_read_the_file() -> None:
    """`deny Read(./.env)` next to `allow Bash(cat:*)`: `cat .env` is denied."""
    found = claude(allow=["Bash(cat:*)"], deny=["Read(./.env)", "Read(~/.ssh/**)"])

    assert Decision.DENY is decision(found, "cat", ".env")
    assert Decision.DENY is decision(found, "cat", "sub/../.env")
    assert Decision.DENY is decision(found, "cat", "/home/alice/.ssh/id_ed25519")
    assert Decision.ALLOW is decision(found, "cat", "README.md")


def test_the_rules_of_a_project_hold_in_its_folder_and_its_denials_everywhere() -> None:
    """`cd` is a way out of the folder, so what is denied must not end there."""
    text = json.dumps(
        {"permissions": {"allow": ["Bash(ls:*)", "Bash(./x.sh)"], "deny": ["Bash(rm)"]}}
    )
    origin = Origin("settings.json", "/home/alice", "/srv/app")
    found = import_texts(Source.CLAUDE_CODE, [(text, origin)], find, "/home/alice")

    assert {
        ("/srv/app", ("ls", "<REST:any>")),
        ("/srv/app", ("/srv/app/x.sh",)),
        (None, ("rm",)),
    } == {(rule.cwd, rule.value) for rule in found.rules}


def test_a_secret_in_a_rule_is_neither_kept_nor_printed() -> None:
    """A rule that allows is dropped; one that denies has a star instead."""
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    found = claude(allow=[f"Bash(mytool --token {key})"], deny=[f"Bash(mytool {key}:*)"])

    assert [] == allowed(found)
    assert key not in shown(found)
    assert Decision.DENY is decision(found, "mytool", key, "x")


def test_everything_that_is_ignored_is_named() -> None:
    """Hooks, modes, folders, settings and rules of other tools, without their values."""
    document = {
        "permissions": {
            "allow": ["WebFetch(domain:x)", "mcp__a__b"],
            "defaultMode": "plan",
            "additionalDirectories": ["/x"],
        },
        "hooks": {"PreToolUse": []},
        "env": {"TOKEN": "hush"},
    }
    text = shown(imported(Source.CLAUDE_CODE, json.dumps(document)))

    for name in ("WebFetch(domain:x)", "mcp__a__b", "defaultMode", "additionalDirectories"):
        assert name in text
    assert "file, hooks\n" in text
    assert "file, env\n" in text
    assert "hush" not in text


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"permissions": []}', '{"permissions": {"ask": 1}}']
)
def test_what_is_no_settings_file_is_refused(text: str) -> None:
    """The message names the file or the key."""
    with pytest.raises(BadRequest, match=r"file|permissions"):
        imported(Source.CLAUDE_CODE, text)


# Codex


def test_prefix_rules_come_over_with_alternatives_and_reasons() -> None:
    """Allow is the default; prompt asks, forbidden denies with its justification."""
    found = imported(
        Source.CODEX,
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
    assert "use trash" == found.rules[0].reason


@rows(
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
        "x = y",
        "x = [1, 2][0]",
        "for x in []: pass",
        'print("x")',
        '__import__("os").system("touch /tmp/sayso-import")',
    ],
)
def test_what_is_no_literal_rule_is_never_run_and_takes_the_allows_with_it(text: str) -> None:
    """Anything else in the file may narrow what it allows."""
    found = imported(Source.CODEX, f'prefix_rule(pattern=["ls"])\n{text}\n')

    assert ([], ()) == (allowed(found), found.rules)
    assert not Path("/tmp/sayso-import").exists()


def test_an_unknown_key_of_an_allow_costs_only_that_rule() -> None:
    """It may limit the rule; others are unaffected."""
    text = 'prefix_rule(pattern=["ls"], when="x")\nprefix_rule(pattern=["cat"])'

    assert [("cat", "<REST:any>")] == allowed(imported(Source.CODEX, text))


def test_a_host_executable_limits_the_name() -> None:
    """A program that is found elsewhere is not the one that was meant."""
    rule = 'prefix_rule(pattern=["ls"])\nhost_executable(name="ls", paths=["{}"])'

    assert [("/usr/bin/ls", "<REST:any>")] == allowed(
        imported(Source.CODEX, rule.format("/usr/bin/ls"))
    )
    assert [] == allowed(imported(Source.CODEX, rule.format("/opt/bin/ls")))


def test_names_of_literals_are_read() -> None:
    """A list of words that a file names once is not code."""
    text = 'READ = ["log", "diff"]\nprefix_rule(pattern=["git", "log"], match=READ)\n'
    found = imported(Source.CODEX, text.replace(", match=READ", ""))

    assert [("git", "log", "<REST:any>")] == allowed(found)


def test_the_rules_of_requirements_toml_come_over() -> None:
    """Tokens and alternatives; what else the file contains is named."""
    text = """
approval_policy = "never"
[rules]
prefix_rules = [
  { pattern = [{ token = "git" }, { any_of = ["push", "reset"] }], decision = "forbidden" },
]
"""
    found = imported(Source.CODEX, text, "requirements.toml")

    assert Decision.DENY is decision(found, "git", "reset", "--hard")
    assert [Fate.IGNORED] == fates(found)[:1]


def test_broken_syntax_is_refused() -> None:
    """Half a file is not a policy."""
    for text in ("prefix_rule(", "\0", "(" * 500, 'prefix_rule(pattern=["ls"]) garbage'):
        with pytest.raises(BadRequest, match="cannot be read as rules"):
            imported(Source.CODEX, text)


# Gemini


def gemini_rule(decide: str, priority: int = 10, **more: object) -> str:
    """Return one rule."""
    keys = {"toolName": "run_shell_command", "decision": decide, "priority": priority, **more}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    return f"[[rule]]\n{lines}"


def test_command_prefixes_come_over() -> None:
    """One or several; denials carry their message."""
    found = imported(
        Source.GEMINI,
        gemini_rule("allow", commandPrefix=["git status", "ls"])
        + gemini_rule("ask_user", commandPrefix="git push")
        + gemini_rule("deny", commandPrefix="rm -rf", denyMessage="it is permanent"),
    )

    assert Decision.ALLOW is decision(found, "git", "status")
    assert Decision.ALLOW is decision(found, "ls", "-la")
    assert Decision.ASK is decision(found, "git", "push", "origin")
    assert Decision.DENY is decision(found, "rm", "-rf", "x")
    assert "it is permanent" in {rule.reason for rule in found.rules}


@pytest.mark.parametrize(("decide", "asked"), [("deny", True), ("allow", False)])
def test_a_prefix_that_cannot_be_read_asks_where_it_narrows(decide: str, *, asked: bool) -> None:
    """Only the words before the odd one are known: a denial asks about them, an allow is lost."""
    found = imported(Source.GEMINI, gemini_rule(decide, commandPrefix="git push $(x) y"))

    assert [rule.decide for rule in found.rules] == ([Decision.ASK] if asked else [])


@pytest.mark.parametrize(("decide", "kept"), [("deny", False), ("allow", True)])
def test_a_prefix_without_a_known_word_takes_the_allows_only_where_it_narrows(
    decide: str, *, kept: bool
) -> None:
    """A denial that no rule expresses might have covered any command; a lost allow covers none."""
    lost = gemini_rule(decide, commandPrefix="$(x) y")
    found = imported(Source.GEMINI, gemini_rule("allow", commandPrefix="ls") + lost)

    assert kept is bool(allowed(found))


@pytest.mark.parametrize(
    "more",
    [
        *({"modes": ["yolo"]}, {"subagent": "x"}, {"interactive": True}, {"commandRegex": "ls.*"}),
        *({"argsPattern": "ls"}, {"toolAnnotations": {"a": True}}, {"surprise": 1}),
    ],
)
def test_an_allow_under_a_condition_is_left(more: dict[str, Any]) -> None:
    """Sayso does not know the condition, so it must not forget it."""
    if "toolAnnotations" in more:
        text = gemini_rule("allow", commandPrefix="ls") + "toolAnnotations = { a = true }\n"
    else:
        text = gemini_rule("allow", commandPrefix="ls", **more)
    found = imported(Source.GEMINI, text)

    assert [] == allowed(found)
    assert [Fate.DROPPED] == fates(found)


def test_a_denial_under_a_condition_always_holds() -> None:
    """Stricter is never looser."""
    found = imported(Source.GEMINI, gemini_rule("deny", commandPrefix="curl", modes=["plan"]))

    assert Decision.DENY is decision(found, "curl", "x")


def test_a_lost_narrowing_takes_only_what_it_outranks() -> None:
    """Ask about everything at priority 5, allow ls at 50: ls stays; the reverse loses it."""
    everything = {"decide": "ask_user"}
    over = gemini_rule(**everything, priority=50) + gemini_rule("allow", 5, commandPrefix="ls")
    under = gemini_rule(**everything, priority=5) + gemini_rule("allow", 50, commandPrefix="ls")
    same = gemini_rule(**everything, priority=5) + gemini_rule("allow", 5, commandPrefix="ls")

    assert [] == allowed(imported(Source.GEMINI, over))
    assert [("ls", "<REST:any>")] == allowed(imported(Source.GEMINI, under))
    assert [] == allowed(imported(Source.GEMINI, same))


def test_without_a_priority_an_allow_outranks_nothing() -> None:
    """Gemini requires one; without it a rule is read as narrowly as it can be meant."""
    allow = '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "ls"\ndecision = "allow"\n'

    assert [] == allowed(imported(Source.GEMINI, gemini_rule("deny", 0) + allow))
    assert [("ls", "<REST:any>")] == allowed(imported(Source.GEMINI, allow))


def test_shell_rules_of_settings_json_come_over() -> None:
    """Allowed within core, excluded before both; comments are read, other tools are named."""
    text = """{ // mine
  "tools": {
    "allowed": ["run_shell_command(git log)", "run_shell_command(rm)", "read_file"],
    "exclude": ["run_shell_command(git log --all)"],
    "core": ["ShellTool(git)"],
  },
}"""
    found = imported(Source.GEMINI, text, "settings.json")

    assert [("git", "log", "<REST:any>")] == allowed(found)
    assert Decision.DENY is decision(found, "git", "log", "--all", "x")
    assert "tools.core" in reason(found, "run_shell_command(rm)")


@pytest.mark.parametrize(
    ("asked", "wins"),
    [("git", True), ("git log", True), ("git log -p", True), ("git push", False)],
)
def test_an_ask_of_lower_priority_is_named_where_it_wins_here(asked: str, *, wins: bool) -> None:
    """There the allow of the higher priority decides."""
    allow = gemini_rule("allow", 50, commandPrefix="git log")
    found = imported(Source.GEMINI, allow + gemini_rule("ask_user", 5, commandPrefix=asked))
    why = found.outcomes[0].why or ""

    assert found.outcomes[1].fate is Fate.CARRIED
    assert wins is ("wins here" in why)


def test_rules_about_other_tools_narrow_nothing() -> None:
    """MCP and file tools are not commands; a wildcard over all tools is."""
    other = '[[rule]]\ntoolName = "{}"\ndecision = "deny"\npriority = 99\n'
    allow = gemini_rule("allow", commandPrefix="ls")

    for tool, kept in (("write_file", 1), ("mcp_*", 1), ("*", 0)):
        assert kept == len(allowed(imported(Source.GEMINI, other.format(tool) + allow))), tool


def test_a_star_in_geminis_list_of_tools_is_itself() -> None:
    """It is no pattern there: such a list leaves no command at all."""

    def listed(core: str) -> tuple[str, int]:
        call = "run_shell_command({})"
        tools = {"core": [call.format(core)], "allowed": [call.format("git status")]}
        found = imported(Source.GEMINI, json.dumps({"tools": tools}))
        return found.outcomes[0].place.text, len(allowed(found))

    assert listed("git *") == ("no command at all", 0)
    assert listed("git") == ("git", 1)


# The reference product


def approvals(**agents: object) -> str:
    """Return an exec-approvals.json."""
    return json.dumps({"version": 1, "agents": agents})


def test_entries_come_over_for_their_agents() -> None:
    """Patterns and text entries; `default` is main, `*` reaches the named ones."""
    found = imported(
        Source.OPENCLAW,
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


@rows(
    "entry",
    [
        {"pattern": "/usr/bin/rg", "argPattern": "^[xy]$"},
        {"pattern": "/usr/bin/rg", "expiresAt": 5},
        *({"pattern": "=command:0123456789abcdef"}, {"pattern": "*"}, {"pattern": "**"}),
        *({"pattern": "r*"}, {"pattern": "bin/rg"}, {"pattern": "/usr/../x"}, {"pattern": "bash"}),
        *({"pattern": "missing"}, {"pattern": "python3"}, {"path": "/usr/bin/rg"}, 5),
        *({"pattern": "cat"}, "jq", {"pattern": "/bin/bash"}, {"pattern": "/usr/bin/env"}),
        *({"pattern": "/opt/**/sudo"}, {"pattern": "/usr/bin/"}),
    ],
)
def test_entries_with_a_limit_or_without_a_path_are_left(entry: object) -> None:
    """Each with its reason."""
    found = imported(Source.OPENCLAW, approvals(main={"allowlist": [entry]}))

    assert [] == entries(found)
    assert Fate.DROPPED in fates(found)


@pytest.mark.parametrize("setting", [{"ask": "always"}, {"security": "deny"}])
@pytest.mark.parametrize("place", ["own", "defaults", "*"])
def test_an_agent_that_always_asks_gets_no_entries(place: str, setting: dict[str, str]) -> None:
    """Otherwise its listed programs would run here without a person."""
    listed = {"allowlist": [{"pattern": "/usr/bin/rg"}]}
    document: dict[str, object] = {
        "version": 1,
        "defaults": setting if place == "defaults" else {},
        "agents": {
            "main": {**listed, **(setting if place == "own" else {})},
            "*": setting if place == "*" else {},
        },
    }

    assert [] == entries(imported(Source.OPENCLAW, json.dumps(document)))


@pytest.mark.parametrize(
    ("settings", "narrowed"),
    [
        ({"ask": "always"}, [Decision.ASK]),
        ({"security": "deny"}, [Decision.DENY]),
        ({"mode": "deny"}, [Decision.DENY]),
        ({"ask": "off"}, []),
        ({"security": "full"}, []),
        ({"mode": "always", "host": "deny"}, []),
    ],
)
def test_exec_settings_that_narrow_everything_come_over(
    settings: dict[str, str], narrowed: list[Decision]
) -> None:
    """Each value counts only for its own key; one that widens is left with its reason."""
    found = imported(Source.OPENCLAW, json.dumps({"tools": {"exec": settings}}))

    assert narrowed == [rule.decide for rule in found.rules]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "agents": 1}'])
def test_another_version_is_refused(text: str) -> None:
    """What is not known is not guessed."""
    with pytest.raises(BadRequest):
        imported(Source.OPENCLAW, text)


def test_plain_expressions_over_arguments_become_their_words() -> None:
    """`^run test$` is exactly that; `( .*)?` at the end is more words."""
    rows = [
        {"pattern": "/usr/bin/npm", "argPattern": "^run test$"},
        {"pattern": "/usr/bin/git", "argPattern": "^log( .*)?$"},
    ]
    found = imported(Source.OPENCLAW, approvals(main={"allowlist": rows}))

    assert [
        Promise("/usr/bin/npm", ("run", "test")),
        Promise("/usr/bin/git", ("log", "<REST:any>")),
    ] == entries(found)


def test_unknown_keys_and_settings_are_named() -> None:
    """At the top, of an agent and of the configuration; values are not printed."""
    text = approvals(main={"surprise": "hush", "allowlist": []})
    found = imported(Source.OPENCLAW, text[:-1] + ', "socket2": {"token": "hush"}}')
    config = imported(Source.OPENCLAW, '{tools: {exec: {security: "deny", x: 1}, y: 2}, z: 3}')

    assert {"socket2", "agents.main.surprise"} <= {one.place.where for one in found.outcomes}
    assert "hush" not in shown(found)
    assert {"tools.exec.x", "tools.y", "z"} <= {one.place.where for one in config.outcomes}
    assert Decision.DENY is decision(config, "ls")


def test_a_setting_that_is_not_carried_over_is_named_unless_it_is_null() -> None:
    """A null one says nothing there, so nothing is lost."""
    agent: dict[str, object] = {"ask": "on-miss", "security": None, "allowlist": []}
    found = imported(Source.OPENCLAW, approvals(main=agent))

    assert [("agents.main.ask", '"on-miss"')] == [
        (one.place.where, one.place.text) for one in found.outcomes
    ]


# The command


def test_write_makes_a_configuration_that_asks_about_all_else(tmp_path: Path) -> None:
    """In a home without one; commands run on this machine, and the sandbox lets nothing pass."""
    state = tmp_path / "state"
    file = write(
        tmp_path / "settings.json",
        {"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Bash(cat:*)"]}},
    )
    done = sayso(state, "policy", "import", "--from", "claude-code", str(file), "--write")

    assert 0 == done.returncode, done.stderr
    assert 0o600 == (state / "config.json5").stat().st_mode & 0o777
    for line, wanted in (("ls", "allow"), ("cat x", "deny"), ("touch x", "ask"), ("sort", "ask")):
        told = sayso(state, "policy", "explain", "--json", "-c", line)
        assert wanted == json.loads(told.stdout)["decision"], line


def test_write_needs_the_rules_in_a_configuration_that_is_there(tmp_path: Path) -> None:
    """An owner's configuration is not rewritten; without its rules nothing is added."""
    exec_ = {"host": "gateway", "security": "allowlist"}
    state = home(tmp_path, "{ tools: { exec: {} } } // mine\n")
    rows = [{"pattern": "/usr/bin/ls"}]
    file = write(tmp_path / "x.json", {"version": 1, "agents": {"main": {"allowlist": rows}}})
    claude_file = write(tmp_path / "s.json", {"permissions": {"deny": ["Bash(cat:*)"]}})
    words = ("policy", "import", "--from", "claude-code", str(claude_file))
    done = sayso(state, *words, "--write")

    assert 2 == done.returncode
    assert "1 of the rules are not in tools.exec.rules" in done.stderr
    assert "// mine" in (state / "config.json5").read_text(encoding="utf-8")
    printed = json.loads(sayso(state, *words, "--json").stdout)
    home(tmp_path, {"tools": {"exec": {**exec_, "rules": printed["rules"]}}})
    assert 0 == sayso(state, *words, "--write").returncode
    listed = sayso(state, "policy", "import", "--from", "openclaw", str(file), "--write")
    assert 0 == listed.returncode, listed.stderr
    assert (state / "exec-approvals.json").exists()


@pytest.mark.parametrize(
    ("loose", "word"),
    [
        ({}, "host is sandbox"),
        ({"host": "gateway", "security": "full"}, "security is full"),
        (
            {"host": "gateway", "security": "allowlist", "askFallback": "full"},
            "askFallback is full",
        ),
    ],
)
def test_write_is_refused_where_the_result_would_be_looser(
    tmp_path: Path, loose: dict[str, str], word: str
) -> None:
    """What is not listed would run unasked, although the source asks about it."""
    state = home(tmp_path, {"tools": {"exec": loose}})
    rows = [{"pattern": "/usr/bin/ls"}]
    file = write(tmp_path / "x.json", {"version": 1, "agents": {"main": {"allowlist": rows}}})
    done = sayso(state, "policy", "import", "--from", "openclaw", str(file), "--write")

    assert 2 == done.returncode
    assert word in done.stderr
    assert not (state / "exec-approvals.json").exists()


def test_write_is_refused_where_a_denial_was_lost_and_names_what_runs_already(
    tmp_path: Path,
) -> None:
    """An older entry may allow what the source denies."""
    exec_ = {"host": "gateway", "security": "allowlist"}
    state = home(
        tmp_path,
        {"tools": {"exec": exec_}},
        {"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/cat"}]}}},
    )
    file = write(tmp_path / "x.rules", 'load("a", "b")\n')
    done = sayso(state, "policy", "import", "--from", "codex", str(file), "--write")

    assert 2 == done.returncode
    assert "/usr/bin/cat of main" in done.stderr
    assert "x.rules, line 1" in done.stderr


def test_write_names_what_runs_already_where_the_source_asks_about_all_else(tmp_path: Path) -> None:
    """A rule of the lowest priority asks about everything; an older entry here does not."""
    text = gemini_rule("ask_user", 1) + gemini_rule("allow", 50, commandPrefix="ls")
    rules = [{"match": {"argv": ["ls", "<REST:any>"]}, "decide": "allow"}]
    state = home(
        tmp_path,
        {"tools": {"exec": {"host": "gateway", "security": "allowlist", "rules": rules}}},
        {"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/touch"}]}}},
    )
    file = write(tmp_path / "x.toml", text)
    words = ("policy", "import", "--from", "gemini", str(file), "--write")
    done = sayso(state, *words)
    write(state / "exec-approvals.json", {"version": 1, "agents": {"main": {"allowlist": []}}})

    assert 2 == done.returncode
    assert "/usr/bin/touch of main" in done.stderr
    assert "tools.exec.rules[0]" not in done.stderr
    assert 0 == sayso(state, *words).returncode


def test_several_files_come_over_at_once_with_one_summary(tmp_path: Path) -> None:
    """A project's rules are bound to its folder, the user's are not; nothing is changed."""
    state, project = tmp_path / "state", tmp_path / "app" / ".claude"
    project.mkdir(parents=True)
    mine = write(tmp_path / "settings.json", {"permissions": {"allow": ["Bash(ls:*)"]}})
    its = write(project / "settings.json", {"permissions": {"allow": ["Bash(cat:*)"]}})
    words = ("policy", "import", "--from", "claude-code", str(mine), str(its))
    done = sayso(state, *words)
    printed = json.loads(sayso(state, *words, "--json").stdout)

    assert 0 == done.returncode, done.stderr
    assert not state.exists()
    assert "allow: 2 (2 exact, 0 narrower, 0 dropped)" in done.stdout
    assert {"exact": 2} == {fate: count for fate, count in printed["summary"].items() if count}
    assert [None, str(tmp_path / "app")] == [rule["match"].get("cwd") for rule in printed["rules"]]


def test_a_folder_can_be_given(tmp_path: Path) -> None:
    """For a file that is elsewhere."""
    file = write(tmp_path / "x.rules", 'prefix_rule(pattern=["ls"])\n')
    words = ("policy", "import", "--from", "codex", str(file), "--folder", "/srv/app", "--json")
    (rule,) = json.loads(sayso(tmp_path / "state", *words).stdout)["rules"]

    assert "/srv/app" == rule["match"]["cwd"]


def test_thousands_of_rules_take_seconds() -> None:
    """And no more rules than there were."""
    rules = [f"Bash(mytool{number} run:*)" for number in range(3_000)]
    begun = time.monotonic()
    found = claude(allow=rules, deny=[f"Bash(other{number} x:*)" for number in range(1_000)])

    assert len(found.rules) == 4_000
    assert time.monotonic() - begun < 10

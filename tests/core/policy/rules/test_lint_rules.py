"""Warn about a rule that looks narrow and is not."""

from typing import Any

import pytest

from core.policy.rules.compiled import BadRule, compiled
from core.policy.rules.lint_rules import idle_rules, lint, open_effects, open_paths, open_rests
from tests.core.policy.configured_rules import HOME, rule, settings
from tests.support.tables import rows


def told(*rules: dict[str, Any], **more: Any) -> tuple[str, ...]:
    """Return the warnings about rules."""
    return open_paths(compiled(settings(*rules, **more), HOME))


@pytest.mark.parametrize(
    "argv",
    [
        ("touch", "<PATH>"),
        ("cp", "<PATH>", "<PATH:work>"),
        ("git", "add", "<PATH>"),
        ("/opt/own/tool", "<PATH>"),
        ("make", "-C", "<PATH>"),
        ("touch", "<PATH>…"),
        ("touch", "<PATH>..."),
    ],
)
def test_a_writer_below_the_working_directory_is_told(argv: tuple[str, ...]) -> None:
    """An agent chooses its folder, which does not limit programs that write or run others."""
    (line,) = told(rule("allow", *argv), roots={"work": "/srv"})

    assert "tools.exec.rules[0] allows" in line
    assert " ".join(argv) in line
    assert "<PATH:name>" in line


@rows(
    "wanted",
    [
        rule("allow", "cat", "<PATH>"),
        rule("allow", "git", "diff", "--", "<PATH>"),
        rule("allow", "touch", "<PATH:work>"),
        rule("allow", "touch", "<PATH:work>…"),
        rule("allow", "touch", "<PATH>", cwd="/srv"),
        rule("allow", "touch", "made"),
        rule("ask", "touch", "<PATH>"),
        rule("deny", "touch", "<PATH>"),
        rule("allow", glob="/usr/bin/touch"),
        rule("allow", effect="writes"),
    ],
)
def test_what_is_narrow_or_restricts_is_not(wanted: dict[str, Any]) -> None:
    """Readers, named roots and rules that ask or deny are as they should be."""
    assert () == told(wanted, roots={"work": "/srv"})


def test_a_rule_of_one_agent_is_told_once_by_its_place() -> None:
    """Shared rules are every agent's, but named once."""
    lines = told(rule("allow", "touch", "<PATH>"), own=(rule("allow", "mkdir", "<PATH>"),))

    assert ["tools.exec.rules[0]", "agents.list[coder].tools.exec.rules[0]"] == [
        line.split(" ")[0] for line in lines
    ]


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (rule("allow", glob="/usr/bin/env"), "env is a wrapper"),
        (rule("allow", glob="/usr/bin/busybox"), "busybox is many programs in one"),
        (rule("allow", "/usr/bin/env"), "env is a wrapper"),
        (rule("allow", "sudo", "ls"), "sudo is a wrapper that changes privilege"),
        (rule("allow", "bash", "-c", "ls"), "bash is a shell"),
        (rule("allow", "python3", "-c", "<ANY>"), "takes code or a program"),
        (rule("deny", "cd", "<PATH>"), "no rule sees"),
    ],
)
def test_a_rule_that_never_counts_is_reported(wanted: dict[str, Any], why: str) -> None:
    """What hides another program is judged by that one, whatever a rule allows."""
    (line,) = idle_rules(compiled(settings(wanted), HOME))

    assert "tools.exec.rules[0] never takes effect" in line
    assert why in line


@pytest.mark.parametrize(
    "wanted",
    [
        *(rule("deny", "sudo", "ls"), rule("ask", glob="/usr/bin/env"), rule("deny", "bash")),
        *(rule("allow", "python3", "-V"), rule("allow", "arch"), rule("allow", glob="/usr/bin/*")),
    ],
)
def test_what_restricts_a_wrapper_or_may_count_is_not_told(wanted: dict[str, Any]) -> None:
    """A wrapper can be denied and asked about in its own right."""
    assert () == idle_rules(compiled(settings(wanted), HOME))


@pytest.mark.parametrize(("effect", "words"), [("writes", "rm -rf"), ("network", "any file")])
def test_an_allowed_effect_is_told_unless_capabilities_bound_it(effect: str, words: str) -> None:
    """It covers every program that the tables know, in every folder."""
    allowed = rule("allow", effect=effect)
    bounded = settings(own=(allowed,), capabilities={"files": {"write": ["/srv"]}})

    (line,) = open_effects(compiled(settings(allowed), HOME))
    assert words in line
    assert (line,) == lint(compiled(settings(allowed), HOME))
    assert () == open_effects(compiled(bounded, HOME))


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("git push", '["git", "push"]'),
        ("/usr/bin/*", "under `glob`"),
        ("/usr//bin/git", "can never match"),
        ("/usr/bin/", "names a folder"),
    ],
)
def test_a_program_that_nothing_is_named_is_a_mistake(head: str, why: str) -> None:
    """A denial of it would stop nothing, so the configuration is refused."""
    with pytest.raises(BadRule) as refused:
        compiled(settings(rule("deny", head)), HOME)

    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("argv", "warned"),
    [
        (("git", "<REST:any>"), True),
        (("zyzzyva", "<REST:any>"), True),
        (("git", "push", "<REST:any>"), False),
        (("git", "<REST>"), False),
        (("cat", "<REST:any>"), False),
    ],
)
def test_a_program_that_is_free_whatever_it_is_given_is_named(
    argv: tuple[str, ...], warned: bool
) -> None:
    """The warning says what to write instead."""
    found = open_rests(compiled(settings(rule("allow", *argv)), HOME))
    assert len(found) == warned
    assert all("<REST>" in line and "<REST:any>" in line for line in found)
    assert () == open_rests(compiled(settings(rule("deny", *argv)), HOME))


@pytest.mark.parametrize(
    ("argv", "idle"),
    [(("scp", "<REST>"), True), (("zyzzyva", "<REST>"), True), (("git", "<REST>"), False)],
)
def test_a_rest_that_no_profile_judges_is_named(argv: tuple[str, ...], idle: bool) -> None:
    """Under strict trust such a rule matches nothing."""
    found = idle_rules(compiled(settings(rule("allow", *argv)), HOME))
    assert len(found) == idle
    assert all("write <REST:any>" in line for line in found)
    assert () == idle_rules(compiled(settings(rule("deny", *argv)), HOME))

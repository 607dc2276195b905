"""Suggest a correction for mistyped words, in text or in JSON; guess nothing else."""

import json

import pytest

from bot.cli import main


def usage(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a mistyped command; return what it says."""
    with pytest.raises(SystemExit) as ended:
        main([*words])
    found = capsys.readouterr()
    assert (ended.value.code, found.out) == (2, "")
    return found.err


@pytest.mark.parametrize(
    ("words", "suggested"),
    [
        (("peple",), "unknown command 'peple'; did you mean 'people'?"),
        (("statsu", "--json"), "unknown command 'statsu'; did you mean 'status'?"),
        (("people", "lst"), "unknown command 'lst'; did you mean 'list'?"),
        (("approvals", "allowlist", "ad"), "unknown command 'ad'; did you mean 'add'?"),
        (("allowlist", "add", "x"), "command 'allowlist'; did you mean 'approvals allowlist'?"),
        (("approvals", "add", "x"), "unknown command 'add'; did you mean 'allowlist add'?"),
        (("approve", "K3F7QZ"), "are required: DECISION; see `sayso approve --help`"),
        (
            ("approvals", "deny", "x"),
            "command 'deny'; choose from get, set, allowlist, or did you mean `sayso deny`?",
        ),
        (("ask", "ls"), "unknown command 'ask'; did you mean 'run'?"),
        (("start",), "unknown command 'start'; did you mean 'serve'?"),
        (("logs", "--json"), "unknown command 'logs'; did you mean 'history'?"),
        (("history", "--agnt", "x"), "unrecognized arguments: --agnt; did you mean '--agent'?"),
        (("run", "ls", "-l"), "arguments: -l; the command to run goes after --, or in -c 'LINE'"),
        (("-c", "ls -l"), "no command before -c; did you mean `sayso run -c 'ls -l'`?"),
        (("-cls", "--json"), "no command before -c; did you mean `sayso run -cls --json`?"),
        (("--agent=coder", "-c", "ls"), "did you mean `sayso run --agent=coder -c ls`?"),
        (("--", "ls"), "no command before --; did you mean `sayso run -- ls`?"),
        (("grants", "list", "--jsn"), "unrecognized arguments: --jsn; did you mean '--json'?"),
        (("grants", "list", "-json"), "unrecognized arguments: -json; did you mean '--json'?"),
        (("history", "-agent", "x"), "unrecognized arguments: -agent; did you mean '--agent'?"),
    ],
)
def test_a_mistyped_word_gets_a_suggestion(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], suggested: str
) -> None:
    """Commands, commands of commands, and options; the exit code is that of a misuse."""
    assert suggested in usage(capsys, *words)


def test_other_options_before_a_command_are_not_taken_for_those_of_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The control: what is only not an option of `sayso run` is left to the parser."""
    for words in (("--json", "xyzzy"), ("--xyzzy", "run")):
        assert "did you mean `sayso run" not in usage(capsys, *words)


def test_a_word_that_resembles_nothing_gets_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    """The control: no wild guess, but what there is to choose from; if many, where to find it."""
    of_all, of_few = usage(capsys, "xyzzy"), usage(capsys, "approvals", "xyzzy")

    assert "did you mean" not in of_all + of_few
    assert of_all.endswith("unknown command 'xyzzy'; see `sayso --help`\n")
    assert of_few.endswith("unknown command 'xyzzy'; choose from get, set, allowlist\n")


@pytest.mark.parametrize("option", ["--bogus", "--plan", "--tee", "--exit"])
def test_an_option_that_resembles_nothing_gets_no_guess(
    capsys: pytest.CaptureFixture[str], option: str
) -> None:
    """The control: two dashes make no two options alike."""
    for words in (("run", "-c", "ls"), ("history",), ("serve",)):
        assert "did you mean" not in usage(capsys, *words, option)


def test_a_misuse_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    """One object on one line, with the exit code; nothing else is printed."""
    found = json.loads(usage(capsys, "people", "lst", "--json"))["error"]

    assert (found["type"], found["exitCode"]) == ("usage", 2)
    assert found["message"].endswith("did you mean 'list'?")


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--json"),
        ("policy", "explain", "--json"),
        ("exec", "web1", "--json"),
        ("prompt", "render", "--channel", "slack", "--json"),
        ("approve", "K3F7QZ", "maybe", "30m", "--json"),
        ("pending", "--json"),
        ("exec", "nobody", "--json", "--", "ls"),
    ],
)
def test_what_a_command_refuses_itself_is_json_too(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: object,
    words: tuple[str, ...],
) -> None:
    """Misuse that the parser does not see, and a missing gateway."""
    monkeypatch.setenv("SAYSO_HOME", f"{tmp_path}/none")
    code = main([*words])
    found = capsys.readouterr()

    assert found.out == ""
    assert json.loads(found.err)["error"]["exitCode"] == code


def test_json_behind_two_dashes_is_the_commands_own(capsys: pytest.CaptureFixture[str]) -> None:
    """`sayso run -- tool --json` fails in words."""
    assert main(["exec", "nobody", "--", "tool", "--json"]) == 2
    assert capsys.readouterr().err.startswith("sayso: No contact is named 'nobody'")


@pytest.mark.parametrize("group", ["lockdown", "policy", "audit"])
def test_a_command_of_commands_alone_did_nothing(
    capsys: pytest.CaptureFixture[str], group: str
) -> None:
    """It says so and fails, because `sayso lockdown && …` must not look locked."""
    assert main([group]) == 2
    found = capsys.readouterr()

    assert found.out == ""
    assert f"sayso {group}: no subcommand given; choose from " in found.err


@pytest.mark.parametrize("group", ["people", "grants", "token", "node"])
def test_a_command_of_commands_with_a_list_shows_it(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: object,
    group: str,
) -> None:
    """Alone it does what its `list` does: here neither finds a gateway."""
    monkeypatch.setenv("SAYSO_HOME", f"{tmp_path}/none")
    alone = main([group]), capsys.readouterr().err
    listed = main([group, "list"]), capsys.readouterr().err

    assert alone == listed
    assert "No gateway is listening" in alone[1]

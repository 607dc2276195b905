"""Parse the grammar of what people type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.commands import (
    HELP,
    REPLY_USAGE,
    SLASH_COMMANDS,
    AgentList,
    Approve,
    BareReply,
    Command,
    Elevated,
    Help,
    HistoryList,
    LogIn,
    Malformed,
    Pair,
    PendingList,
    PromptAgent,
    ResetExec,
    RunLine,
    SetExec,
    SlashCommand,
    Stop,
    StopAgent,
    Tail,
    usage_of,
)
from channels.grammar import parse
from core.model.approval import HALF_HOUR, THIS_SESSION, THIS_TASK, ApprovalReply, GrantTerms
from core.model.command import ExecOverrides
from core.model.policy import Elevation, ExecAsk, ExecHost, ExecSecurity
from tests.support.tables import rows

ONCE, ALWAYS, DENY = ApprovalReply
CODE = "7k3f9q"
BOT = "sayso_bot"


@rows(
    "word, reply",
    [
        ("allow-once", ONCE),
        ("allow", ONCE),
        ("once", ONCE),
        ("allowonce", ONCE),
        ("ALLOW-ONCE", ONCE),
        ("allow-always", ALWAYS),
        ("always", ALWAYS),
        ("allowalways", ALWAYS),
        ("deny", DENY),
        ("reject", DENY),
        ("block", DENY),
    ],
)
@pytest.mark.parametrize(
    "slash", ["/approve", "approve", "/approve@sayso_bot", "@sayso_bot approve"]
)
def test_each_alias_in_each_word_order(slash: str, word: str, reply: ApprovalReply) -> None:
    """Aliases, either word order, slash or mention all mean the same."""
    expected = Approve(CODE, reply)

    assert parse(f"{slash} 7K3F9Q {word}", bot_name=BOT) == expected
    assert parse(f"{slash} {word} 7K3F9Q", bot_name=BOT) == expected


@rows(
    "text, expected",
    [
        ("/approve 7K3F9Q deny because it is live", Approve(CODE, DENY, "it is live")),
        ("/approve 7K3F9Q deny: too broad", Approve(CODE, DENY, "too broad")),
        ("/approve 7K3F9Q deny too broad", Approve(CODE, DENY, "too broad")),
        ("/approve #7K3F9Q allow-once", Approve(CODE, ONCE)),
        ("/approve `7K3F9Q` allow-once", Approve(CODE, ONCE)),
        ("/approve 7K3F9QO1L2 allow-once", Approve("7k3f9q0112", ONCE)),
        ("/approve reject deny", Approve("reject", DENY)),
        ("  /approve\n7K3F9Q\tallow-once ", Approve(CODE, ONCE)),
        ("/pending", PendingList()),
        ("/pending@Sayso_Bot", PendingList()),
        ("@sayso_bot pending", PendingList()),
        ("/help", Help()),
        ("/start", Help()),
        ("/start 12345678", Pair("12345678")),
        ("/start over please", Help()),
        ("@sayso_bot", Help()),
        ("@Sayso_Bot, help", Help()),
    ],
)
def test_what_is_understood(text: str, expected: Command) -> None:
    """Well-formed commands become typed ones."""
    assert parse(text, bot_name=BOT) == expected


@rows(
    "text",
    [
        "/approve",
        "/approve 7K3F9Q",
        "/approve 7K3F9Q perhaps",
        "/approve 7K3F9Q allow-once please",
        "/approve 7K3F9Q allow-once allow-always",
        "/approve 7K3 allow-once",
        "/approve 7K3F9\u200bQ allow-once",
        "approve 7K3F9Q yes please",
        "@sayso_bot approve it",
        "@sayso_bot do something",
        "/frobnicate@sayso_bot",
    ],
)
def test_what_was_meant_for_us_and_is_not_understood_is_answered(text: str) -> None:
    """A strict grammar says so instead of guessing."""
    assert isinstance(parse(text, bot_name=BOT), Malformed)


@rows(
    "text",
    [
        "",
        "   ",
        "hello",
        "yes",
        "no",
        "deny",
        "approve",
        "I approve of this",
        "approve the deny list tomorrow",
        "pending",
        "help",
        "/frobnicate",
        "/approve@other_bot 7K3F9Q allow-once",
        "please /approve 7K3F9Q allow-once",
        "@other_bot approve 7K3F9Q allow-once",
    ],
)
def test_ordinary_talk_and_other_bots_commands_are_nothing(text: str) -> None:
    """Chatter never becomes an answer."""
    assert parse(text, bot_name=BOT) is None


@rows(
    "text, expected",
    [
        ("yes", BareReply(ONCE)),
        ("Yes.", BareReply(ONCE)),
        ("y", BareReply(ONCE)),
        ("once", BareReply(ONCE)),
        ("always", BareReply(ALWAYS)),
        ("no", BareReply(DENY)),
        ("deny", BareReply(DENY)),
        ("deny because it is live", BareReply(DENY, "it is live")),
        ("reject too broad", BareReply(DENY, "too broad")),
        ("no, because it is live", BareReply(DENY, "it is live")),
        ("no because it is live", BareReply(DENY, "it is live")),
        ("yes but wait", Malformed(REPLY_USAGE)),
        ("no problem, go on", Malformed(REPLY_USAGE)),
        ("always look twice", Malformed(REPLY_USAGE)),
        ("approve", BareReply(ONCE)),
        ("what does it do?", None),
        ("/approve 7K3F9Q deny", Approve(CODE, DENY)),
    ],
)
def test_a_reply_to_a_prompt_may_be_bare(text: str, expected: Command | None) -> None:
    """Bare words count in a reply, and only whole ones."""
    assert parse(text, bot_name=BOT, is_reply=True) == expected


@given(st.text(max_size=80))
def test_no_text_allows_unless_it_names_an_approval(text: str) -> None:
    """Whatever is typed outside a reply, an allowing command names an id and a decision."""
    command = parse(text, bot_name=BOT)

    assert not isinstance(command, BareReply)
    if isinstance(command, Approve):
        assert "approve" in text.lower()


@given(st.sampled_from(["yes", "once", "always", "approve"]), st.text(min_size=1, max_size=30))
def test_an_allowing_reply_with_more_words_never_allows(word: str, more: str) -> None:
    """``yes`` followed by more than punctuation is not an answer; only ``always`` takes a limit."""
    command = parse(f"{word} {more}", is_reply=True)

    allows = isinstance(command, BareReply) and command.reply is not DENY
    limited = isinstance(command, BareReply) and command.terms is not None
    assert not allows or not more.split() or (limited and word == "always")


def test_a_note_is_bounded() -> None:
    """A reason is cut at 500 characters."""
    command = parse("/approve 7K3F9Q deny " + "x" * 5_000)

    assert isinstance(command, Approve)
    assert len(command.note) == 500


@rows(
    "text, terms",
    [
        ("/approve 7K3F9Q 30m", HALF_HOUR),
        ("/approve 30m 7K3F9Q", HALF_HOUR),
        ("/approve 7K3F9Q 30min", HALF_HOUR),
        ("/approve 7K3F9Q always 30m", HALF_HOUR),
        ("approve 7K3F9Q allow-always for 2h", GrantTerms(for_ms=7_200_000)),
        ("/approve 7K3F9Q 7d", GrantTerms(for_ms=604_800_000)),
        ("/approve 7K3F9Q 5x", GrantTerms(uses=5)),
        ("/approve 7K3F9Q session", THIS_SESSION),
        ("/approve 7K3F9Q task", THIS_TASK),
        ("/approve 7K3F9Q allow-always for task", THIS_TASK),
    ],
)
def test_grants_have_limits(text: str, terms: GrantTerms) -> None:
    """A time, a count or this session limits an allow-always."""
    assert Approve(CODE, ALWAYS, terms=terms) == parse(text, bot_name=BOT)


@rows(
    "text",
    [
        "/approve 7K3F9Q 0m",
        "/approve 7K3F9Q 31d",
        "/approve 7K3F9Q 99999h",
        "/approve 7K3F9Q once 30m",
        "/approve 7K3F9Q 30m please",
        "/approve 7K3F9Q always for ever and ever",
        "/approve 7K3F9Q \uff130m",
        "/run",
        "/tail",
        "/tail 7K3F9Q now",
        "/stop it all",
        "/history 0",
        "/history 51",
        "/history five",
        "/exec host=moon",
        "/exec host=gateway host=sandbox",
        "/exec node=a/b",
        "/exec please",
        "/elevated",
        "/elevated maybe",
        "/pair",
        "/login ana",
    ],
)
def test_values_that_are_no_values_are_told(text: str) -> None:
    """A limit, setting or code that cannot be meant is answered with the usage."""
    assert isinstance(parse(text, bot_name=BOT), Malformed)


@rows(
    "text, expected",
    [
        ("/run ls  -l 'a  b' && pwd", RunLine("ls  -l 'a  b' && pwd")),
        ("@sayso_bot run ls", RunLine("ls")),
        ("/tail 7K3F9Q", Tail(CODE)),
        ("/stop #7k3f9q", Stop(CODE)),
        ("/history", HistoryList(10)),
        ("/history 5", HistoryList(5)),
        ("/exec", SetExec(ExecOverrides())),
        (
            "/exec host=gateway security:allowlist ask=ALWAYS",
            SetExec(ExecOverrides(ExecHost.GATEWAY, ExecSecurity.ALLOWLIST, ExecAsk.ALWAYS)),
        ),
        ("/exec node=build-1", SetExec(ExecOverrides(node="build-1"))),
        ("/exec node=B\u00fcro-Mac", SetExec(ExecOverrides(node="B\u00fcro-Mac"))),
        ("/exec node=fd00::2 ask:off", SetExec(ExecOverrides(ask=ExecAsk.OFF, node="fd00::2"))),
        ("/exec node:::1", SetExec(ExecOverrides(node="::1"))),
        ("/elevated on", Elevated(Elevation.ON)),
        ("/exec reset", ResetExec()),
        ("/elev off", Elevated(Elevation.OFF)),
        ("/pair 7K3F9QAB", Pair("7k3f9qab")),
        ("/login", LogIn()),
        ("/agent", AgentList()),
        ("/agent main fix  this\nand that", PromptAgent("main", "fix  this\nand that")),
        (f"@{BOT} agent Coder: go", PromptAgent("Coder", "go")),
        ("/agent main", Malformed(usage_of("agent"))),
        ("/agent stop", StopAgent()),
        ("/agent Stop 7K3F9Q", StopAgent("7k3f9q")),
        ("/agent stop it now", Malformed(usage_of("agent"))),
    ],
)
def test_the_other_commands(text: str, expected: Command) -> None:
    """Each command is read with its values, and ``/run`` keeps the line as typed."""
    assert expected == parse(text, bot_name=BOT)


@pytest.mark.parametrize(
    "text", ["run ls", "agent main go", "exec host=gateway", "stop 7K3F9Q", "tail it"]
)
def test_without_slash_or_mention_only_answers_count(text: str) -> None:
    """Ordinary talk that begins with a command's word is left alone."""
    assert parse(text, bot_name=BOT) is None


@rows("command", SLASH_COMMANDS)
def test_each_registered_command_is_understood(command: SlashCommand) -> None:
    """No platform registers a command that the grammar does not know."""
    assert parse(f"/{command.name}", bot_name=BOT) is not None
    assert command.name in HELP


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", BareReply(ALWAYS, terms=HALF_HOUR)),
        ("always 30m", BareReply(ALWAYS, terms=HALF_HOUR)),
        ("session", BareReply(ALWAYS, terms=THIS_SESSION)),
        ("always task", BareReply(ALWAYS, terms=THIS_TASK)),
        ("yes 30m", Malformed(REPLY_USAGE)),
    ],
)
def test_a_reply_may_name_a_limit(text: str, expected: Command) -> None:
    """A bare reply takes the limits that the command takes, after always only."""
    assert expected == parse(text, is_reply=True)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("/aprove 7K3F9Q allow-once", "/approve"),
        ("/APPROVR 7K3F9Q deny", "/approve"),
        ("/pendign", "/pending"),
        ("/frobnicate", ""),
        ("/", ""),
        ("aprove 7K3F9Q allow-once", "/approve"),
    ],
)
def test_an_unknown_command_in_a_private_chat_is_answered(text: str, near: str) -> None:
    """No one else can be meant there, so a typing error never meets silence."""
    command = parse(text, bot_name=BOT, private=True)
    assert isinstance(command, Malformed)
    assert command.usage.startswith("Unknown command, so nothing was changed.")
    assert (f"Did you mean {near}?" in command.usage) is bool(near)
    assert parse(text, bot_name=BOT) is None


@pytest.mark.parametrize(
    "text", ["hello", "I approve of this", "aprove that", "/approve@otherbot 7K3F9Q deny"]
)
def test_ordinary_talk_in_a_private_chat_is_nothing(text: str) -> None:
    """Only a slash, or words that name an approval, turn a misspelling into a command."""
    assert parse(text, bot_name=BOT, private=True) is None


def test_a_misspelt_command_with_our_name_is_answered_everywhere() -> None:
    """In a group the name says who is meant."""
    command = parse(f"/aprove@{BOT} 7K3F9Q deny", bot_name=BOT)
    assert isinstance(command, Malformed)
    assert "Did you mean /approve?" in command.usage

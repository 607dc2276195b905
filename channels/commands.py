"""Define what people may ask for in a chat, and the texts that explain it (S1 "Reply in chat").

``channels.grammar`` parses these from typed text, ``channels.button_payload`` from buttons.
"""

from dataclasses import dataclass, field

from core.model.approval import ApprovalReply, GrantTerms
from core.model.command import ExecOverrides
from core.model.policy import Elevation

MOST_LISTED = 50
"""The most lines that a list in a chat may be asked for."""

USAGE = (
    "Not understood, so nothing was changed. Send: /approve CODE allow-once, "
    "/approve CODE allow-always or /approve CODE deny REASON. /pending lists what is waiting."
)
REPLY_USAGE = (
    "Not understood, so nothing was changed. Reply to the prompt with yes, no, always, 30m or "
    "deny REASON."
)


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command as the platforms register it: its name, what it does, its arguments."""

    name: str
    description: str
    usage: str = ""

    @property
    def line(self) -> str:
        """Return the command as typed."""
        return f"/{self.name} {self.usage}".rstrip()


SLASH_COMMANDS = (
    SlashCommand(
        "approve", "Answer a prompt", "CODE allow-once|allow-always|30m|session|task|deny"
    ),
    SlashCommand("pending", "List pending approvals"),
    SlashCommand("history", "List past requests and how they ended", "[COUNT]"),
    SlashCommand("run", "Run a command through the policy", "COMMAND"),
    SlashCommand("tail", "Show the last lines of a running command", "CODE"),
    SlashCommand("stop", "End a running command", "CODE"),
    SlashCommand(
        "agent", "Give an agent a prompt, list the agents, or stop one", "[NAME TEXT | stop [CODE]]"
    ),
    SlashCommand(
        "exec",
        "Show or set where this chat's commands run",
        "[host=…] [security=…] [ask=…] [node=…] | reset",
    ),
    SlashCommand("elevated", "Full access on the gateway for this chat", "on|off|ask|full"),
    SlashCommand("node", "List nodes that ask to be paired, or answer one", "[approve|deny CODE]"),
    SlashCommand("pair", "Link this account to a person", "CODE"),
    SlashCommand("login", "Get a link into the control page, in a private chat"),
    SlashCommand("help", "List these commands"),
)
"""All commands; a platform with its own slash commands registers each."""

HELP = (
    "/approve CODE allow-once: run it this once\n"
    "/approve CODE allow-always: run it, and allow what the prompt names from now on\n"
    "/approve CODE 30m, 5x, session or task: the same, but only for that long\n"
    "/approve CODE deny REASON: do not run it; the agent reads the reason\n"
    "A reply to a prompt may be just yes, no, always, 30m or deny REASON.\n"
    + "\n".join(f"{command.line}: {command.description}" for command in SLASH_COMMANDS[1:])
)


@dataclass(frozen=True, slots=True)
class Approve:
    """An answer to the approval whose id, code or unique prefix is ``ref`` (lower-case).

    ``typed``: the person typed the approval's id. This is only about how the answer was given: a
    press means the same answer.
    """

    ref: str
    reply: ApprovalReply
    note: str = ""
    terms: GrantTerms | None = None
    typed: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class BareReply:
    """An answer to the prompt that the message replies to."""

    reply: ApprovalReply
    note: str = ""
    terms: GrantTerms | None = None


@dataclass(frozen=True, slots=True)
class Choose:
    """A press on "Always allow…": shows next what would be stored, and for how long."""

    ref: str


@dataclass(frozen=True, slots=True)
class Details:
    """A press on "Details": shows next what a prompt has no room for; nothing is decided."""

    ref: str


@dataclass(frozen=True, slots=True)
class HistoryList:
    """A request to see what was asked and how it ended, newest first."""

    limit: int = 10


@dataclass(frozen=True, slots=True)
class SetExec:
    """``/exec``: settings for this chat's session; without any, a request to see them."""

    overrides: ExecOverrides


@dataclass(frozen=True, slots=True)
class ResetExec:
    """``/exec reset``: clear what was set for this chat's session."""


@dataclass(frozen=True, slots=True)
class Elevated:
    """``/elevated``: an alias for full access on the gateway host."""

    mode: Elevation


@dataclass(frozen=True, slots=True)
class RunLine:
    """``/run``: a command line that goes through the same policy as an agent's."""

    line: str


@dataclass(frozen=True, slots=True)
class Tail:
    """``/tail``: the last lines that a running command printed."""

    ref: str


@dataclass(frozen=True, slots=True)
class Stop:
    """``/stop``: end a running command, or withdraw one that still waits."""

    ref: str


@dataclass(frozen=True, slots=True)
class AgentList:
    """``/agent``: a request to see the agents that take prompts."""


@dataclass(frozen=True, slots=True)
class PromptAgent:
    """``/agent NAME TEXT``: a prompt for an agent, as it was written."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class StopAgent:
    """``/agent stop``: end the prompt ``ref``; empty means the requester's newest one here."""

    ref: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """``/pair``: link this account to a person by the code that ``sayso people pair`` showed."""

    code: str


@dataclass(frozen=True, slots=True)
class LogIn:
    """``/login``: a request for a one-time link into the control page."""


@dataclass(frozen=True, slots=True)
class NodeRequests:
    """``/node``: a request to see which nodes ask to be paired."""


@dataclass(frozen=True, slots=True)
class PairNode:
    """``/node approve CODE`` or ``/node deny CODE``: answer a node that asks to be paired."""

    code: str
    allow: bool


@dataclass(frozen=True, slots=True)
class PendingList:
    """A request to see what is waiting."""


@dataclass(frozen=True, slots=True)
class Help:
    """A request to see the commands."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """Something meant for us that is not a valid command; ``usage`` shows a valid one.

    ``usage`` is our own text, never anything that was typed: it is shown as it is.
    """

    usage: str = USAGE


Command = (
    Approve
    | BareReply
    | Choose
    | Details
    | PendingList
    | HistoryList
    | SetExec
    | ResetExec
    | Elevated
    | RunLine
    | Tail
    | Stop
    | AgentList
    | PromptAgent
    | StopAgent
    | Pair
    | LogIn
    | NodeRequests
    | PairNode
    | Help
    | Malformed
)


def usage_of(name: str) -> str:
    """Return the reply to a command that was not understood."""
    line = next(command.line for command in SLASH_COMMANDS if command.name == name)
    return f"Not understood, so nothing was changed. Send: {line}"


def unknown_command(near: str) -> str:
    """Return the reply to an unknown command; ``near`` is one with a similar name."""
    question = f" Did you mean /{near}?" if near else ""
    return f"Unknown command, so nothing was changed.{question} /help lists all commands."

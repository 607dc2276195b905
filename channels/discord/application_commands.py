"""Offer every command of ``channels.commands`` as an application command.

Each is turned into the text that would be typed, so that one grammar parses all. They are
registered globally, because only then do they also appear in direct messages.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import discord

from channels.commands import MOST_LISTED, SLASH_COMMANDS, SlashCommand
from channels.discord.errors import FAILURES, translate
from core.model.policy import Elevation, ExecAsk, ExecHost, ExecSecurity

_log = logging.getLogger(__name__)
_CHAT_INPUT = 1
_IN_SERVERS = [0]
_SERVERS_AND_DIRECT = [0, 1]
_LONGEST_DESCRIPTION = 100
_COMPARED = (
    *("name", "description", "type", "required", "value", "options", "choices"),
    *("min_length", "max_length", "min_value", "max_value", "contexts", "integration_types"),
)


class Kind(IntEnum):
    """Discord's option types, as sent."""

    TEXT = 3
    NUMBER = 4


_BOUNDS = {Kind.TEXT: ("min_length", "max_length"), Kind.NUMBER: ("min_value", "max_value")}


@dataclass(frozen=True, slots=True)
class Option:
    """One field of a command; ``longest`` is the most characters, or the greatest number.

    A field with ``named`` is written as ``name=value``, others as their value alone.
    """

    name: str
    description: str
    required: bool = False
    choices: tuple[str, ...] = ()
    longest: int | None = None
    kind: Kind = Kind.TEXT
    named: bool = False

    def body(self) -> dict[str, object]:
        """Return the field as Discord registers it."""
        least, most = _BOUNDS[self.kind]
        made: dict[str, object] = {
            "type": int(self.kind),
            "name": self.name,
            "description": self.description[:_LONGEST_DESCRIPTION],
            "required": self.required,
        }
        if self.choices:
            made["choices"] = [{"name": choice, "value": choice} for choice in self.choices]
        elif self.longest is not None:
            made |= {least: 1, most: self.longest}
        return made


_CODE = Option("id", "the code that the prompt shows", required=True, longest=26)
_OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "approve": (
        _CODE,
        Option(
            "decision",
            "the decision",
            required=True,
            choices=("allow-once", "allow-always", "30m", "session", "task", "deny"),
        ),
        Option("note", "the reason, shown to the agent", longest=500),
    ),
    "history": (Option("count", "how many lines", longest=MOST_LISTED, kind=Kind.NUMBER),),
    "run": (Option("command", "what to run, as in a shell", required=True),),
    "tail": (_CODE,),
    "stop": (_CODE,),
    "agent": (
        Option("agent", "its name, or stop; without it, the agents are listed", longest=64),
        Option("text", "what it is to do; after stop, the code of its prompt"),
    ),
    "exec": (
        Option("host", "the machine", choices=tuple(ExecHost), named=True),
        Option("security", "what may run", choices=tuple(ExecSecurity), named=True),
        Option("ask", "when a person is asked", choices=tuple(ExecAsk), named=True),
        Option("node", "the node's name", longest=64, named=True),
        Option("clear", "clear all of these", choices=("reset",)),
    ),
    "elevated": (Option("mode", "how", required=True, choices=tuple(Elevation)),),
    "node": (
        Option("answer", "allow or deny it", choices=("approve", "deny")),
        Option("code", "the code that the notice shows", longest=6),
    ),
    "pair": (Option("code", "the pairing code", required=True, longest=64),),
}


def bodies() -> list[dict[str, Any]]:
    """Return the application commands in the form in which they are registered."""
    return [
        {
            "name": command.name,
            "description": command.description[:_LONGEST_DESCRIPTION],
            "type": _CHAT_INPUT,
            "options": [option.body() for option in _options(command)],
            "integration_types": _IN_SERVERS,
            "contexts": _SERVERS_AND_DIRECT,
        }
        for command in SLASH_COMMANDS
    ]


def typed(interaction: discord.Interaction) -> str:
    """Return an application command as it would be typed; empty if it is not one."""
    data: Mapping[str, Any] = interaction.data or {}
    name = str(data.get("name", ""))
    known = next((command for command in SLASH_COMMANDS if command.name == name), None)
    if known is None:
        return ""
    given = {option["name"]: str(option.get("value", "")) for option in data.get("options", ())}
    words = [
        f"{option.name}={given[option.name]}" if option.named else given[option.name]
        for option in _options(known)
        if given.get(option.name)
    ]
    return " ".join((f"/{name}", *words))


async def register(client: discord.Client) -> None:
    """Register the commands with Discord if they differ from what is registered."""
    application = client.application_id
    if application is None:
        return
    try:
        present = await client.http.get_global_commands(application)
        if sorted(map(_words, present)) != sorted(map(_words, bodies())):
            made = await client.http.bulk_upsert_global_commands(application, bodies())
            if {one["name"] for one in made} != {command.name for command in SLASH_COMMANDS}:
                raise ValueError("an answer that does not list the commands")
    except FAILURES as error:
        # Buttons and typed answers work without them; the next start tries again.
        _log.warning("Cannot register the slash commands: %s", translate(error))


def _options(command: SlashCommand) -> tuple[Option, ...]:
    if command.name in _OPTIONS or not command.usage:
        return _OPTIONS.get(command.name, ())
    return (Option("words", command.usage),)


def _words(part: object) -> str:
    if isinstance(part, Mapping):
        return repr([(key, _words(part[key])) for key in _COMPARED if part.get(key)])
    if isinstance(part, list):
        return repr([_words(one) for one in part])
    return str(part)

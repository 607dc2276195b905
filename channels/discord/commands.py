"""Offer /approve and /pending as application commands.

Both are worded as they would be typed, so that one grammar (``channels.commands``) reads all.
They are registered globally: only so do they appear in direct messages too.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Literal

import discord
from discord import app_commands

from channels.discord.errors import FAILURES, translate

_log = logging.getLogger(__name__)

Take = Callable[[discord.Interaction, str], Awaitable[None]]
Tree = app_commands.CommandTree[discord.Client]


def command_tree(client: discord.Client, take: Take) -> Tree:
    """Return the commands; ``take`` receives each use with its words."""
    tree = app_commands.CommandTree(
        client,
        allowed_contexts=app_commands.AppCommandContext(
            guild=True, dm_channel=True, private_channel=False
        ),
        allowed_installs=app_commands.AppInstallationType(guild=True, user=False),
    )

    @tree.command(name="approve", description="Answer a command that waits for a person")
    @app_commands.rename(code="id")
    @app_commands.describe(
        code="the code that the prompt shows",
        decision="what is to happen",
        note="why not; the agent reads it",
    )
    async def approve(
        interaction: discord.Interaction,
        code: app_commands.Range[str, 1, 26],
        decision: Literal["allow-once", "allow-always", "deny"],
        note: app_commands.Range[str, 0, 500] = "",
    ) -> None:
        await take(interaction, f"/approve {code} {decision} {note}")

    @tree.command(name="pending", description="Show what waits for an answer")
    async def pending(interaction: discord.Interaction) -> None:
        await take(interaction, "/pending")

    del approve, pending  # the tree holds them
    return tree


async def register(tree: Tree) -> None:
    """Register the commands at Discord where they differ from what stands there."""
    try:
        present = {_words(command.to_dict()) for command in await tree.fetch_commands()}
        if present != {_words(command.to_dict(tree)) for command in tree.get_commands()}:
            await tree.sync()
    except FAILURES as error:
        # Buttons and typed answers work without; the next start tries again.
        _log.warning("The slash commands could not be registered: %s", translate(error))


def _words(command: object) -> str:
    if isinstance(command, dict):
        kept = ("name", "description", "type", "required", "value", "options", "choices")
        return repr([(key, _words(command[key])) for key in kept if command.get(key)])
    if isinstance(command, list):
        return repr([_words(part) for part in command])
    return str(command)

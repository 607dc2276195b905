"""Hand a rendered message to the library, so that exactly its JSON body goes out."""

import io
from re import Match
from typing import Any, Self

import discord

from channels.discord.buttons import PREFIX, Button
from channels.discord.views import Message

_LONGEST_REST = 100 - len(PREFIX)


class Press(
    discord.ui.DynamicItem[discord.ui.Button[discord.ui.View]],
    template=rf"{PREFIX}.{{0,{_LONGEST_REST}}}",
):
    """A button that is recognised by its custom id alone, also on a message of an earlier life."""

    @classmethod
    def of(cls, button: Button) -> Self:
        """Make the button to send."""
        style = discord.ButtonStyle(int(button.style))
        return cls(discord.ui.Button(style=style, label=button.label, custom_id=button.custom_id))

    @classmethod
    async def from_custom_id(
        cls,
        interaction: discord.Interaction,  # noqa: ARG003 - the library's signature
        item: discord.ui.Item[Any],
        match: Match[str],
        /,
    ) -> Self:
        """Take up a press on a message that may be older than this process."""
        if not isinstance(item, discord.ui.Button):
            raise TypeError(f"{match[0]} is no button")
        return cls(item)

    async def callback(self, interaction: discord.Interaction) -> None:
        """Pass the press on, to whoever listens to ``on_press``."""
        interaction.client.dispatch("press", interaction, self.custom_id)


async def send(
    place: discord.abc.Messageable,
    message: Message,
    nonce: str,
    reference: discord.Message | None = None,
) -> discord.Message:
    """Send one message; sent again with the same nonce it stays one message."""
    view = discord.ui.View(timeout=None)
    for button in message.buttons:
        view.add_item(Press.of(button))
    extra: dict[str, Any] = {}
    if message.buttons:
        extra["view"] = view
    if message.file is not None:
        extra["file"] = attachment(message)
    if reference is not None:
        extra["reference"] = reference.to_reference(fail_if_not_exists=False)
    return await place.send(message.content, nonce=nonce, suppress_embeds=True, **extra)


def attachment(message: Message) -> discord.File:
    """Return the file that goes along, or the library's mark for none."""
    if message.file is None:
        missing: discord.File = discord.utils.MISSING
        return missing
    return discord.File(io.BytesIO(message.file), message.file_name)

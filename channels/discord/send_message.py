"""Pass a rendered message to the library, so that exactly its JSON body is sent."""

import io
from typing import Any

import discord

from channels.discord.render.buttons import Button
from channels.discord.render.messages import Message


async def send(
    place: discord.abc.Messageable,
    message: Message,
    nonce: str,
    reference: discord.Message | discord.PartialMessage | None = None,
) -> discord.Message:
    """Send one message; sent again with the same nonce, it remains one message."""
    extra: dict[str, Any] = {}
    if message.buttons:
        extra["view"] = view_of(message.buttons)
    if message.file is not None:
        extra["file"] = attachment(message)
    if reference is not None:
        extra["reference"] = reference.to_reference(fail_if_not_exists=False)
    return await place.send(message.content, nonce=nonce, suppress_embeds=True, **extra)


def view_of(buttons: tuple[Button, ...]) -> discord.ui.View:
    """Return the library's form of buttons, or its marker for none."""
    if not buttons:
        missing: discord.ui.View = discord.utils.MISSING
        return missing
    view = discord.ui.View(timeout=None)
    for button in buttons:
        style = discord.ButtonStyle(int(button.style))
        view.add_item(
            discord.ui.Button(
                style=style,
                label=button.label,
                custom_id=button.custom_id or None,
                url=button.url or None,
                row=button.row,
            )
        )
    # The library does not keep a stopped view: presses are decoded from their ids alone.
    view.stop()
    return view


def attachment(message: Message) -> discord.File:
    """Return the attached file, or the library's marker for none."""
    if message.file is None:
        missing: discord.File = discord.utils.MISSING
        return missing
    return discord.File(io.BytesIO(message.file), message.file_name)

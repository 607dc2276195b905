"""Render a prompt as Telegram and the terminal show it, for checks over both."""

import io
from dataclasses import dataclass

from telegram import MessageEntity

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import OutcomeCard, PromptCard
from channels.telegram.render.messages import Message, render_outcome, render_prompt
from channels.terminal.card import Page, outcome_lines, prompt_lines
from core.model.approval import Approval
from tests.contracts.channel_examples import resolved


@dataclass(frozen=True, slots=True)
class Rendered:
    """One prompt and its end on both surfaces."""

    card: PromptCard
    outcome: OutcomeCard
    messages: tuple[Message, ...]
    final: Message
    terminal: str

    @property
    def texts(self) -> tuple[str, ...]:
        """Return every text that leaves."""
        files = [message.file.decode() for message in self.messages if message.file]
        words = [message.text for message in (*self.messages, self.final)]
        return (*words, *files, self.terminal)

    @property
    def last(self) -> Message:
        """Return the message with the buttons."""
        return self.messages[-1]

    @property
    def labels(self) -> list[str]:
        """Return the labels of the buttons."""
        markup = self.last.markup
        return [button.text for row in markup.inline_keyboard for button in row] if markup else []

    @property
    def offered(self) -> str:
        """Return all that was offered for reading before and with the buttons, on Telegram."""
        bodies = [
            message.file.decode() if message.file else message.text for message in self.messages
        ]
        return "\n".join(bodies)

    def blocks(self, message: Message | None = None) -> list[str]:
        """Return the monospaced parts of a message."""
        of = message or self.last
        return [
            covered(of.text, entity)
            for entity in of.entities
            if entity.type in (MessageEntity.PRE, MessageEntity.CODE)
        ]


def covered(text: str, entity: MessageEntity) -> str:
    """Return the text that an entity covers, counted in UTF-16 units."""
    encoded = text.encode("utf-16-le")
    return encoded[2 * entity.offset : 2 * (entity.offset + entity.length)].decode("utf-16-le")


def render(of: Approval) -> Rendered:
    """Render an approval's prompt and its end."""
    card = build_prompt(of)
    ended = Approval(
        of.id, of.plan, of.evaluation, of.requester, None, of.created_ms, of.deadline_ms, resolved()
    )
    outcome = build_outcome(ended)
    page = io.StringIO()
    lines = (*prompt_lines(card, Page(100)), *outcome_lines(outcome, Page(100)))
    page.writelines(f"{line}\n" for line in lines)
    return Rendered(card, outcome, render_prompt(card), render_outcome(outcome), page.getvalue())

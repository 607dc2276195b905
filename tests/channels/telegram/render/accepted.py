"""Check messages as Telegram does."""

from channels.telegram.render.messages import Message
from tests.emulators.telegram_rules import check_entities, check_text


def accepted(messages: tuple[Message, ...]) -> None:
    """Check messages by the platform's own rules."""
    for message in messages:
        check_text(message.text, 1024 if message.file else 4096)
        entities = ",".join(entity.to_json() for entity in message.entities)
        check_entities(message.text, f"[{entities}]")

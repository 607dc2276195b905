"""Make the objects of the local Discord's world in the form of the API."""

from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]
GUILD = 700_000_000_000_000_001
CHANNEL = 700_000_000_000_000_002
THREAD = 700_000_000_000_000_003
OTHER_GUILD = 700_000_000_000_000_004
OTHER_CHANNEL = 700_000_000_000_000_005
BOT = 700_000_000_000_000_009
ROLE = 700_000_000_000_000_010
TEXT_TYPE, DIRECT_TYPE, NEWS_TYPE, THREAD_TYPE = 0, 1, 5, 11


def person(number: int) -> Json:
    """Return a user."""
    bot = number == BOT
    name = "sayso" if bot else f"person{number}"
    shown = None if bot else f"Person {number}"
    plain = {"avatar": None, "public_flags": 0, "flags": 0, "discriminator": "0"}
    return {"id": str(number), "username": name, "global_name": shown, "bot": bot, **plain}


def roles_of(guild: int) -> list[Json]:
    """Return the roles of a server."""
    plain: Json = {"color": 0, "hoist": False, "position": 0, "permissions": "0", "flags": 0}
    named = [(guild, "@everyone")] + ([(ROLE, "deployers")] if guild == GUILD else [])
    return [
        {"id": str(number), "name": name, "managed": False, "mentionable": False, **plain}
        for number, name in named
    ]


def thread_of(parent: int, *, archived: bool) -> Json:
    """Return what a thread has in addition to a channel."""
    metadata: Json = {"archived": archived, "auto_archive_duration": 60, "locked": False}
    metadata["archive_timestamp"] = datetime.now(UTC).isoformat()
    counts = {"message_count": 0, "member_count": 2}
    owner = {"owner_id": "1", "parent_id": str(parent)}
    return {"type": THREAD_TYPE, **owner, **counts, "thread_metadata": metadata}

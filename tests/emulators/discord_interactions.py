"""Keep one interaction: its answers, what the person sees, when it is too late."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.emulators.discord_objects import BOT, Json
from tests.emulators.discord_rules import EPHEMERAL, Refusal, invalid

LOADING = 1 << 7
_REPLY, _LATER_REPLY, _LATER_UPDATE, _UPDATE = 4, 5, 6, 7


@dataclass(slots=True)
class Interaction:
    """A press or a slash command, and what the person saw.

    ``replies`` are the messages that answered it, private ones too; ``source`` is the message whose
    button was pressed, and ``updates`` means that the first answer changes that one.
    """

    id: int
    token: str
    payload: Json
    make: Callable[[int, int, Json], Json]
    source: Json | None = None
    at: float = field(default_factory=time.monotonic)
    answered: bool = False
    loading: bool = False
    late: bool = False
    updates: bool = False
    replies: list[Json] = field(default_factory=list)
    ephemeral: bool = True

    @property
    def notes(self) -> list[str]:
        """Return what the replies say."""
        return [reply["content"] for reply in self.replies]

    @property
    def person(self) -> int:
        """Return the person who pressed or typed."""
        payload = self.payload
        return int((payload.get("member") or payload)["user"]["id"])

    def answer_first(self, body: Json, seconds: float) -> None:
        """Take the first answer, once and within some seconds."""
        if time.monotonic() - self.at > seconds:
            self.late = True
            raise Refusal(404, 10062, "Unknown interaction")
        if self.answered:
            raise Refusal(400, 40060, "Interaction has already been acknowledged.")
        updates = body["type"] in (_LATER_UPDATE, _UPDATE)
        if updates and self.source is None:
            raise invalid("type", "only a component has a message to update")
        data = body.get("data") or {}
        self.answered, self.updates = True, updates
        self.loading = body["type"] == _LATER_REPLY
        if not updates:
            self.ephemeral = bool(data.get("flags", 0) & EPHEMERAL)
        if body["type"] == _REPLY:
            self._reply(data)
        if body["type"] == _UPDATE and self.source is not None:
            change(self.source, data)

    def first_message(self) -> Json:
        """Return the message that the first answer made or changed."""
        if self.updates and self.source is not None:
            return self.source
        if self.loading:
            loading = {"content": "", "flags": LOADING | EPHEMERAL}
            return self.make(int(self.payload["channel_id"]), BOT, loading)
        if not self.replies:
            raise Refusal(404, 10008, "Unknown Message")
        return self.replies[0]

    def answer_later(self, body: Json, seconds: float, *, first: bool) -> Json:
        """Take an edit of the first answer, or a further one, for some time."""
        if time.monotonic() - self.at > seconds:
            raise Refusal(401, 50027, "Invalid Webhook Token")
        if not self.answered:
            raise Refusal(404, 10015, "Unknown Webhook")
        if first and self.updates and self.source is not None:
            return change(self.source, body)
        if first and not (self.replies or self.loading):
            raise Refusal(404, 10008, "Unknown Message")
        opened, self.loading = self.loading, False
        if first and not opened:
            return change(self.replies[0], body)
        # The first answer after a deferral keeps the deferral's privacy.
        private = EPHEMERAL if opened and self.ephemeral else 0
        return self._reply({**body, "flags": body.get("flags", 0) | private})

    def _reply(self, data: Json) -> Json:
        shown: Json = {key: data[key] for key in ("content", "components", "flags") if key in data}
        made = self.make(int(self.payload["channel_id"]), BOT, {"content": "", **shown})
        self.replies.append(made)
        return made


def change(message: Json, body: Json) -> Json:
    """Edit a message in place, and return it."""
    message |= {key: body[key] for key in ("content", "components", "flags") if key in body}
    message["edited_timestamp"] = datetime.now(UTC).isoformat()
    return message

"""Take what is sent to the response addresses of a press or a command."""

from dataclasses import dataclass, field

from tests.emulators.slack_rules import MAX_RESPONSES, Json, Refusal, check_blocks

_FIELDS = {"text", "blocks", "response_type", "replace_original", "delete_original", "thread_ts"}


@dataclass(slots=True)
class AnswerAddress:
    """The member that an address answers, and the pressed message, if any; five uses."""

    channel: str
    user: str
    original: Json | None = None
    uses: int = 0


@dataclass(slots=True)
class AnswerAddresses:
    """The addresses given out; ``whispers`` is what single members were shown."""

    whispers: list[Json] = field(default_factory=list)
    _given: dict[str, AnswerAddress] = field(default_factory=dict)

    def give(self, token: str, address: AnswerAddress) -> None:
        """Let a token answer."""
        self._given[token] = address

    def take(self, token: str, body: Json, ts: str) -> None:
        """Show an answer to its member, or replace the pressed message with it.

        Raises:
            Refusal: the address was used up or never given, or the answer breaks a rule.
        """
        address = self._given.get(token)
        if address is None or address.uses >= MAX_RESPONSES:
            raise Refusal("expired_url", 404)
        address.uses += 1
        if body.keys() - _FIELDS:
            raise Refusal("invalid_payload", 400)
        check_blocks(body.get("blocks", []))
        if body.get("replace_original") or body.get("delete_original"):
            self._replace(address, body)
        else:
            where = {"channel": address.channel, "user": address.user, "message_ts": ts}
            self.whispers.append(body | where)

    def _replace(self, address: AnswerAddress, body: Json) -> None:
        original = address.original
        if original is None:
            raise Refusal("no_original", 404)
        deleted = bool(body.get("delete_original"))
        if deleted and original in self.whispers:
            self.whispers.remove(original)
        else:
            original.update(text=body.get("text", ""), blocks=body.get("blocks", []))

"""Do what members do in a Slack client: press, type, send slash commands."""

from contextlib import suppress
from dataclasses import dataclass

from tests.emulators.slack_answers import AnswerAddress
from tests.emulators.slack_delivery import Deliverer, Delivery
from tests.emulators.slack_rules import Json
from tests.emulators.slack_state import SlackState, named_button


@dataclass(slots=True)
class People:
    """The members; ``base`` is the start of the addresses that answer a press or command."""

    state: SlackState
    delivery: Deliverer
    base: str = ""

    async def press(self, channel: str, ts: str, user: str, button: str) -> Delivery:
        """Press a button, named by its label or action id."""
        message = self.state.message(channel, ts)
        found = self.state.button(channel, ts, button)
        return await self.press_action(message, channel, user, found)

    async def press_choice(self, user: str, label: str) -> Delivery:
        """Press a button below the newest reply that only this member reads and that has it.

        Raises:
            LookupError: no reply to this member has such a button.
        """
        private = [one for one in self.state.whispers if one["user"] == user]
        direct = self.state.places.get(self.state.dms.get(user, ""))
        ours = direct.messages.values() if direct else ()
        replies = [*private, *(one for one in ours if one["user"] == self.state.bot_user)]
        for reply in sorted(replies, key=_when, reverse=True):
            with suppress(LookupError):
                button = named_button(reply, label)
                channel = reply["channel"] if "message_ts" in reply else self.state.dms[user]
                return await self.press_action(reply, channel, user, button)
        raise LookupError(f"no reply to {user} has a button {label!r}")

    async def press_action(self, message: Json, channel: str, user: str, button: Json) -> Delivery:
        """Send a press as a client with an old copy of a message can.

        A message that only one member sees is named by its container, and not sent along.
        """
        action = {**button, "type": "button", "action_ts": f"9.{self.state.number():06d}"}
        thread = {"thread_ts": message["thread_ts"]} if "thread_ts" in message else {}
        alone = "message_ts" in message
        ts = message["message_ts"] if alone else message["ts"]
        shown = {} if alone else {"message": {"ts": ts, "user": message["user"], **thread}}
        container = {"type": "message", "message_ts": ts, "channel_id": channel, **thread}
        payload: Json = {
            "type": "block_actions",
            "team": {"id": self.state.team, "domain": "example"},
            "user": {"id": user, "username": user.lower(), "team_id": self.state.team},
            "api_app_id": self.state.app,
            "container": {**container, "is_ephemeral": alone},
            "trigger_id": f"t.{self.state.number()}",
            "channel": {"id": channel, "name": "ops"},
            "response_url": self._response_url(AnswerAddress(channel, user, message)),
            "actions": [action],
            **shown,
        }
        return await self.delivery.once("interactive", payload)

    async def slash(self, channel: str, user: str, line: str, thread: str = "") -> Delivery:
        """Type a slash command.

        Raises:
            LookupError: the client refuses it: not registered, or typed in a thread.
        """
        command, _, text = line.partition(" ")
        if command not in self.state.commands or thread:
            raise LookupError(f"{command} is not a valid command here")
        payload = {
            "command": command,
            "text": text,
            "team_id": self.state.team,
            "channel_id": channel,
            "user_id": user,
            "user_name": user.lower(),
            "api_app_id": self.state.app,
            "response_url": self._response_url(AnswerAddress(channel, user)),
            "trigger_id": f"t.{self.state.number()}",
        }
        return await self.delivery.once("slash_commands", payload)

    async def say(
        self, channel: str, user: str, text: str, thread: str = "", event: Json | None = None
    ) -> list[Delivery]:
        """Type a message; ``event`` overrides fields. A mention of the bot makes a second event."""
        typed = self.state.typed(channel, user, text, thread)
        kind = "im" if channel.startswith("D") else "channel"
        told = {**typed, "channel": channel, "channel_type": kind, **(event or {})}
        events = []
        if f"<@{self.state.bot_user}>" in told["text"]:
            mention = {name: told[name] for name in told if name != "parent_user_id"}
            events.append({**mention, "type": "app_mention"})
        if ("im:history" if kind == "im" else "channels:history") in self.state.scopes:
            events.append(told)
        return [self.delivery.later("events_api", self._callback(one)) for one in events]

    def _callback(self, event: Json) -> Json:
        return {
            "type": "event_callback",
            "team_id": self.state.team,
            "api_app_id": self.state.app,
            "event": event,
            "event_id": f"Ev{self.state.number():09d}",
            "authorizations": [{"team_id": self.state.team, "user_id": self.state.bot_user}],
        }

    def _response_url(self, address: AnswerAddress) -> str:
        token = str(self.state.number())
        self.state.answers.give(token, address)
        return f"{self.base}/respond/{token}"


def _when(reply: Json) -> float:
    return float(reply.get("message_ts") or reply["ts"])

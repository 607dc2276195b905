"""Turn what Slack sends into what a person did; pure.

Bots, apps and edits are ignored. A message and the mention in it are two events of one message, so
the key is the message's own and not the event's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from channels.base import Inbound
from channels.commands import BareReply, Malformed
from channels.grammar import parse
from channels.slack.render.buttons import decode_press
from core.model.identity import Actor, Target

NAME = "slack"

Body = Mapping[str, Any]
"""The body of a request as Slack sent it; the SDK does not type it."""

_WRITTEN = (None, "thread_broadcast")
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>([,:]?)")
_LINK = re.compile(r"<(?:(?P<url>[a-z]+:[^|>]*)|#[A-Z0-9]+)(?:\|(?P<label>[^>]*))?>")


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of our bot in its workspace."""

    user: str
    bot: str | None
    name: str
    team: str


@dataclass(frozen=True, slots=True)
class ReplyPlace:
    """Who gets a private reply, and where.

    ``response_url`` accepts the answer to a slash command, or to a choice below a reply: then
    ``replaces`` means that the answer replaces that reply and its buttons.
    """

    channel: str
    user: str
    thread: str = ""
    response_url: str = ""
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class InboundAction:
    """What a person did, and where the answer goes.

    ``unproved``: it counts only if the thread that it was written in is one of ours.
    """

    inbound: Inbound
    reply_to: ReplyPlace
    unproved: bool = False


def message_id(channel: str, ts: str) -> str:
    """Return an id of a message that is unique across all channels."""
    return f"{channel}:{ts}"


def read_action(body: Body, us: Identity) -> InboundAction | None:
    """Parse a request; ``None`` if it is not from a person or does not concern us.

    Raises:
        LookupError: somebody pressed or typed a command, and a field that it needs is absent.
    """
    if body.get("type") == "block_actions" or "actions" in body:
        return _pressed(body)
    if "command" in body:
        return _commanded(body, us)
    event = body.get("event")
    if isinstance(event, Mapping) and event.get("type") in ("message", "app_mention"):
        return _written(event, us)
    return None


def _pressed(body: Body) -> InboundAction | None:
    """Return a press; one that opened a page means nothing."""
    channel, actions = body.get("channel"), body.get("actions")
    # A message that only one member sees is not included; its container is.
    container, message = body.get("container") or {}, body.get("message") or {}
    ts = str(container.get("message_ts") or message.get("ts", ""))
    if not (ts and channel and actions):
        raise LookupError("a press without its channel, message or button")
    user, action = body["user"], actions[0]
    if action.get("url"):
        return None
    command, chosen = decode_press(
        str(action.get("action_id", "")), str(action.get("block_id", ""))
    )
    place = ReplyPlace(
        channel=str(channel["id"]),
        user=str(user["id"]),
        thread=str(message.get("thread_ts") or container.get("thread_ts", "")),
        response_url=str(body.get("response_url", "")) if chosen else "",
        replaces=chosen,
    )
    key = f"{message_id(place.channel, ts)}:{place.user}:{action.get('action_ts', '')}"
    actor = Actor(NAME, place.user, str(user.get("username") or user.get("name") or ""))
    to = "" if chosen else message_id(place.channel, ts)
    return InboundAction(Inbound(actor, _target(place), command, f"{NAME}:{key}", to), place)


def _commanded(body: Body, us: Identity) -> InboundAction:
    text = f"{body['command']} {body.get('text', '')}"
    command = parse(text, bot_name=us.name) or Malformed()
    url = str(body.get("response_url", ""))
    place = ReplyPlace(str(body["channel_id"]), str(body["user_id"]), response_url=url)
    actor = Actor(NAME, place.user, str(body.get("user_name", "")))
    key = f"{NAME}:{body['trigger_id']}"
    # Only this member sees its answer, as with the one to a message: `Replies`.
    return InboundAction(Inbound(actor, _target(place), command, key, private=True), place)


def _written(event: Body, us: Identity) -> InboundAction | None:
    user, text = event.get("user"), event.get("text")
    if not user or not text or user == us.user or event.get("subtype") not in _WRITTEN:
        return None
    if event.get("bot_id") or event.get("app_id"):
        return None
    place = ReplyPlace(str(event["channel"]), str(user), str(event.get("thread_ts", "")))
    # A mention's event does not say whose message the thread began with, nor does each message's.
    begun_by = event.get("parent_user_id")
    ours = bool(place.thread) and (begun_by == us.user or event["type"] == "app_mention")
    words = _typed(str(text), us)
    is_reply = ours or bool(place.thread and not begun_by)
    private = place.channel.startswith("D")
    command = parse(words, bot_name=us.name, is_reply=is_reply, private=private)
    if command is None:
        return None
    to = message_id(place.channel, place.thread) if ours or isinstance(command, BareReply) else ""
    written = message_id(place.channel, str(event["ts"]))
    key = f"{NAME}:{written}"
    actor = Actor(NAME, place.user)
    inbound = Inbound(actor, _target(place), command, key, to, private=True, message=written)
    # If it mentions us, the inbox knows whether it replies to a prompt; otherwise Slack is asked.
    alone = parse(words, bot_name=us.name, private=private)
    return InboundAction(inbound, place, unproved=not ours and alone is None)


def _target(place: ReplyPlace) -> Target:
    # A direct message is named by its member, as in a target's `to`, whatever Slack calls it.
    to = place.user if place.channel.startswith("D") else place.channel
    return Target(NAME, to, thread=place.thread)


def _typed(text: str, us: Identity) -> str:
    """Return the text as the member sees it: Slack turns addresses and channels into links."""

    def named(found: re.Match[str]) -> str:
        return f"@{us.name}{found[2]} " if found[1] == us.user else found[0]

    def unlinked(found: re.Match[str]) -> str:
        channel = "#" if found["url"] is None else ""
        return channel + found["label"] if found["label"] else found["url"] or found[0]

    words = _LINK.sub(unlinked, _MENTION.sub(named, text))
    return words.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")

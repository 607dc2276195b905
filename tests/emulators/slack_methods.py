"""Carry out the Web API's methods on the emulator's state."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.emulators.slack_rules import MAX_TEXT, Json, Refusal, check_blocks, check_metadata
from tests.emulators.slack_state import Place, SlackState

_LAYOUT = {"text", "blocks", "parse", "link_names"}
_PAGES = {"channel", "oldest", "latest", "inclusive", "limit", "cursor", "include_all_metadata"}


@dataclass(frozen=True, slots=True)
class Method:
    """One method: the function that carries it out, its scope, its arguments, its rate."""

    run: Callable[[SlackState, Json], Json]
    scope: str
    arguments: frozenset[str]
    as_json: bool = False
    per_minute: int = 0


def call(state: SlackState, name: str, token: str, arguments: Json, *, as_json: bool) -> Json:
    """Check a call and carry it out."""
    method = METHODS.get(name)
    if method is None:
        raise Refusal("unknown_method")
    if token != (state.app_token if name == "apps.connections.open" else state.bot_token):
        raise Refusal("invalid_auth" if token else "not_authed")
    if method.scope and method.scope not in state.scopes:
        raise Refusal("missing_scope", needed=method.scope, provided=",".join(sorted(state.scopes)))
    # The library adds the team to each call of a listener's client.
    if unknown := arguments.keys() - method.arguments - {"team_id"}:
        raise Refusal("invalid_arguments", unknown=sorted(unknown))
    if method.as_json and not as_json:
        raise Refusal("invalid_post_type")
    if method.per_minute:
        state.rate(name, method.per_minute)
    return method.run(state, arguments)


def _auth_test(state: SlackState, arguments: Json) -> Json:
    return {
        "url": "https://example.slack.com/",
        "team": "Example",
        "user": state.name,
        "team_id": state.team,
        "user_id": state.bot_user,
        "bot_id": state.bot,
        "is_enterprise_install": False,
    }


def _post(state: SlackState, arguments: Json) -> Json:
    channel = arguments.get("channel", "")
    place = state.dm(channel) if channel.startswith("U") else state.writable(channel)
    _check_layout(arguments)
    if "metadata" in arguments:
        check_metadata(arguments["metadata"])
    state.spend(place)
    kept = {name: arguments[name] for name in _KEPT if name in arguments}
    message = state.add(place, state.bot_user, {"bot_id": state.bot, "app_id": state.app, **kept})
    return {"channel": place.id, "ts": message["ts"], "message": message}


def _update(state: SlackState, arguments: Json) -> Json:
    place = state.writable(arguments.get("channel", ""))
    message = state.message(place.id, arguments.get("ts", ""))
    if message["user"] != state.bot_user:
        raise Refusal("cant_update_message")
    _check_layout(arguments)
    message.update(text=arguments["text"], blocks=arguments.get("blocks", []))
    message["edited"] = {"user": state.bot_user, "ts": message["ts"]}
    return {"channel": place.id, "ts": message["ts"], "text": arguments["text"]}


def _whisper(state: SlackState, arguments: Json) -> Json:
    place = state.writable(arguments.get("channel", ""))
    if arguments.get("user") not in place.members:
        raise Refusal("user_not_in_channel")
    _check_layout(arguments)
    ts = state.new_ts()
    state.whispers.append({**arguments, "message_ts": ts})
    return {"message_ts": ts}


def _user(state: SlackState, arguments: Json) -> Json:
    account = arguments.get("user", "")
    if account not in {*state.members, state.bot_user}:
        raise Refusal("user_not_found")
    told = {"id": account, "team_id": state.team, "name": account.lower()}
    flags = {"deleted": account in state.deactivated, "is_bot": account == state.bot_user}
    return {"user": told | flags}


def _group(state: SlackState, arguments: Json) -> Json:
    members = state.user_groups.get(arguments.get("usergroup", ""))
    if members is None:
        raise Refusal("no_such_subteam")
    return {"users": sorted(members)}


def _open(state: SlackState, arguments: Json) -> Json:
    return {"channel": {"id": state.dm(arguments.get("users", "")).id}}


def _history(state: SlackState, arguments: Json) -> Json:
    place = _readable(state, arguments)
    roots = [one for one in place.messages.values() if one.get("thread_ts", one["ts"]) == one["ts"]]
    return _page(sorted(roots, key=lambda one: str(one["ts"]), reverse=True), arguments)


def _replies(state: SlackState, arguments: Json) -> Json:
    place = _readable(state, arguments)
    if arguments.get("ts") not in place.messages:
        raise Refusal("thread_not_found")
    wanted = arguments["ts"]
    return _page(
        [one for one in place.messages.values() if wanted in (one["ts"], one.get("thread_ts"))],
        arguments,
    )


def _readable(state: SlackState, arguments: Json) -> Place:
    channel = arguments.get("channel", "")
    scope = "im:history" if channel.startswith("D") else "channels:history"
    if scope not in state.scopes:
        raise Refusal("missing_scope", needed=scope, provided=",".join(sorted(state.scopes)))
    return state.writable(channel)


def _page(messages: list[Json], arguments: Json) -> Json:
    oldest = float(arguments.get("oldest", 0))
    found = [one for one in messages if float(one["ts"]) > oldest]
    start, limit = int(arguments.get("cursor") or 0), int(arguments.get("limit", 100))
    page = found[start : start + limit]
    if str(arguments.get("include_all_metadata", "0")) not in ("1", "true"):
        page = [{name: one[name] for name in one if name != "metadata"} for one in page]
    more = start + limit < len(found)
    cursor = {"next_cursor": str(start + limit) if more else ""}
    return {"messages": page, "has_more": more, "response_metadata": cursor}


def _check_layout(arguments: Json) -> None:
    if not arguments.get("text") and not arguments.get("blocks"):
        raise Refusal("no_text")
    if len(arguments.get("text", "")) > MAX_TEXT:
        raise Refusal("msg_too_long")
    if "blocks" in arguments:
        check_blocks(arguments["blocks"])


_TIER_2, _TIER_3, _TIER_4 = 20, 50, 100
_KEPT = ("text", "blocks", "metadata", "thread_ts", "mrkdwn", "parse", "link_names")
_POSTED = _LAYOUT | {"channel", "thread_ts", "mrkdwn", "metadata", "unfurl_links", "unfurl_media"}
_POSTED |= {"reply_broadcast"}

METHODS: dict[str, Method] = {
    "auth.test": Method(_auth_test, "", frozenset()),
    "apps.connections.open": Method(lambda *_: {}, "", frozenset({"token"})),
    "chat.postMessage": Method(_post, "chat:write", frozenset(_POSTED), as_json=True),
    "chat.update": Method(
        _update,
        "chat:write",
        frozenset(_LAYOUT | {"channel", "ts", "metadata"}),
        as_json=True,
        per_minute=_TIER_3,
    ),
    "chat.postEphemeral": Method(
        _whisper, "chat:write", frozenset(_LAYOUT | {"channel", "user", "thread_ts"}), as_json=True
    ),
    "conversations.open": Method(
        _open, "im:write", frozenset({"users", "return_im"}), per_minute=_TIER_3
    ),
    "conversations.history": Method(_history, "", frozenset(_PAGES), per_minute=_TIER_3),
    "conversations.replies": Method(_replies, "", frozenset(_PAGES | {"ts"}), per_minute=_TIER_3),
    "users.info": Method(
        _user, "users:read", frozenset({"user", "include_locale"}), per_minute=_TIER_4
    ),
    "usergroups.users.list": Method(
        _group,
        "usergroups:read",
        frozenset({"usergroup", "include_disabled"}),
        per_minute=_TIER_2,
    ),
}
"""What the bot may call; any other argument is refused, to catch mistakes."""

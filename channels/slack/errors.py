"""Translate Slack's refusals into ours, with what to do next."""

from collections.abc import Mapping

import aiohttp
from slack_sdk.errors import SlackApiError

from channels.base import UNREADABLE, out_of_reach, unreadable
from core.errors import ChannelError
from core.text.render import redact

FAILURES = (SlackApiError, aiohttp.ClientError, OSError, TimeoutError, *UNREADABLE)
"""What a call of the Web API raises, and what reading an odd response raises."""

_TOKEN = "Slack rejected a token ({}). Get the current one from the app's pages and restart."  # noqa: S105 - words
_PLACE = "Slack: {}. Check the target's `to`, and invite the bot to that channel."
_SCOPE = "Slack: {}. Add the scope to the app, install it again and use the new token."
_BARRED = "Slack: {}. The workspace does not let the bot post there; choose another target."
_PERSON = "Slack: {}. Check the id: a member's is in the profile, a user group's on its page."
_PLAN = "Slack: {}. This workspace's plan has no user groups; list the member ids instead."
_TOO_LONG = "Slack: {}. The message breaks one of Slack's limits; please report this."
_PERMANENT = {
    **dict.fromkeys(("invalid_auth", "not_authed", "account_inactive", "token_revoked"), _TOKEN),
    **dict.fromkeys(("token_expired", "not_allowed_token_type", "no_permission"), _TOKEN),
    **dict.fromkeys(("missing_scope", "no_app_token"), _SCOPE),
    **dict.fromkeys(("channel_not_found", "not_in_channel", "is_archived"), _PLACE),
    **dict.fromkeys(("user_not_found", "user_disabled", "users_not_found", "not_found"), _PLACE),
    **dict.fromkeys(("no_such_subteam", "user_not_visible"), _PERSON),
    "plan_upgrade_required": _PLAN,
    **dict.fromkeys(("cannot_dm_bot", "invalid_thread_ts", "thread_not_found"), _PLACE),
    **dict.fromkeys(("messages_tab_disabled", "restricted_action", "ekm_access_denied"), _BARRED),
    **dict.fromkeys(("restricted_action_read_only_channel", "user_not_in_channel"), _BARRED),
    **dict.fromkeys(("cant_update_message", "edit_window_closed", "team_access_denied"), _BARRED),
    **dict.fromkeys(("invalid_blocks", "msg_too_long", "msg_blocks_too_long"), _TOO_LONG),
    **dict.fromkeys(("invalid_arguments", "no_text", "metadata_too_large"), _TOO_LONG),
}
_PAGE = (
    "HTTP {} without an error of Slack. Check channels.slack.apiBaseUrl and the proxies on the way."
)
_NO_SOCKET = (
    "Slack did not open a socket: HTTP {} at the address that it gave. Check that WebSockets pass "
    "the proxies on the way."
)
_LIMITED = {"ratelimited", "rate_limited", "message_limit_exceeded"}
_UNSURE = {"internal_error", "fatal_error", "request_timeout", "service_unavailable"}
_GONE = "message_not_found"
_LIMIT_STATUS = 429
_SERVER_STATUS = 500
_DEFAULT_WAIT_S = 30


class Unconfirmed(ChannelError):
    """Slack may or may not have accepted a message, so look for it before it is sent again."""


class Gone(ChannelError):
    """The message no longer exists, so there is nothing to edit."""


def translate(error: Exception) -> ChannelError:
    """Return the channel error for a failed call."""
    if isinstance(error, SlackApiError):
        return _refused(error)
    if isinstance(error, UNREADABLE):
        return Unconfirmed(str(unreadable("Slack", error, setting="channels.slack.apiBaseUrl")))
    if isinstance(error, aiohttp.WSServerHandshakeError):
        return ChannelError(_NO_SOCKET.format(error.status))  # its own text contains the ticket
    said = str(error) or type(error).__name__
    if isinstance(error, aiohttp.ClientConnectorError):
        return out_of_reach("Slack", said)
    return Unconfirmed(f"Slack did not confirm: {redact(said)}.")


def _refused(error: SlackApiError) -> ChannelError:
    code = _code(error)
    # The cause of a proxy's page is the library's own response or aiohttp's.
    given = getattr(error.response, "status_code", None) or getattr(error.response, "status", None)
    status = int(given or 0)
    if status == _LIMIT_STATUS or code in _LIMITED:
        wait = _wait_s(error) * 1000
        return ChannelError("Slack is rate limiting; slowing down.", retry_after_ms=wait)
    if code == _GONE:
        return Gone(permanent=True)
    if code in _PERMANENT:
        return ChannelError(_PERMANENT[code].format(redact(_said(error))), permanent=True)
    if code in _UNSURE or status >= _SERVER_STATUS or not code:
        return Unconfirmed(f"Slack failed: {redact(code) if code else _PAGE.format(status)}")
    return ChannelError(f"Slack: {redact(_said(error))}")


def _data(error: SlackApiError) -> Mapping[str, object]:
    # With a proxy's error page, it may be text, bytes or another library's response.
    data = getattr(error.response, "data", None)
    return data if isinstance(data, Mapping) else {}


def _code(error: SlackApiError) -> str:
    return str(_data(error).get("error", ""))


def _said(error: SlackApiError) -> str:
    needed = _data(error).get("needed", "")
    return f"{_code(error)}, needed: {needed}" if needed else _code(error)


def _wait_s(error: SlackApiError) -> int:
    headers = getattr(error.response, "headers", {})
    asked = str(headers.get("Retry-After", ""))
    return int(asked) if asked.isdecimal() else _DEFAULT_WAIT_S

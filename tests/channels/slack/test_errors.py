"""Translate what Slack refuses: whether it is repeated, when, and what to do."""

from collections.abc import Mapping

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse

from channels.slack.errors import Gone, Unconfirmed, translate


def _refusal(
    data: Mapping[str, object] | str, status: int = 200, headers: Mapping[str, str] = {}
) -> SlackApiError:
    response = SlackResponse(
        client=None,
        http_verb="POST",
        api_url="https://slack.example/api/chat.postMessage",
        req_args={},
        data=data,  # type: ignore[arg-type]  # a proxy's page is text
        headers=dict(headers),
        status_code=status,
    )
    return SlackApiError("refused", response)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"error": "missing_scope", "needed": "chat:write"}, "Slack: missing_scope, needed: chat:"),
        ({"error": "missing_scope"}, "Slack: missing_scope. Add the scope"),
        ({"error": "channel_not_found"}, "Slack: channel_not_found. Check the target's `to`"),
        ({"error": "invalid_auth"}, r"Slack rejected a token \(invalid_auth\)"),
    ],
)
def test_what_only_people_can_change_is_permanent(data: Mapping[str, object], words: str) -> None:
    """The message says what they have to do."""
    error = translate(_refusal(data))
    assert error.permanent
    with pytest.raises(type(error), match=words):
        raise error


@pytest.mark.parametrize(
    ("refusal", "wait_ms"),
    [
        (_refusal({"error": "ratelimited"}, 429, {"Retry-After": "7"}), 7_000),
        (_refusal("slow down", 429), 30_000),
        (_refusal({"error": "rate_limited"}, 200, {"Retry-After": "soon"}), 30_000),
    ],
)
def test_a_limit_says_when_to_go_on(refusal: SlackApiError, wait_ms: int) -> None:
    """Half a minute where Slack does not say it, or not in seconds."""
    error = translate(refusal)
    assert (error.retry_after_ms, error.permanent) == (wait_ms, False)


def test_what_slack_may_have_done_is_not_confirmed() -> None:
    """A proxy's page, a failure inside Slack, a time that ran out; a lost message is gone."""
    for error in (
        _refusal("<html>", 502),
        _refusal({"error": "internal_error"}),
        TimeoutError(),
        OSError("reset"),
    ):
        assert isinstance(translate(error), Unconfirmed)
    assert isinstance(translate(_refusal({"error": "message_not_found"})), Gone)
    other = translate(_refusal({"error": "something_new"}))
    assert (str(other), other.permanent) == ("Slack: something_new", False)

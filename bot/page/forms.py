"""List the fields of each form, by the address that it is sent to.

A field that nothing reads is a mistake in the request: what it was meant to change would silently
stay unchanged. So a visit refuses it by name, before anything is done.
"""

from collections.abc import Mapping
from typing import Final

from bot.intake.methods.login import LOGIN_PATH
from bot.page.records.list_actions import ACTIONS
from bot.page.rules.draft import SETTINGS
from bot.page.visit import NO_FIELDS, Fields

_ANSWER = "decision typed totp limit"
_SIGNED = "nonce credential"
_ACTIONS = " ".join(name for action in ACTIONS.values() for name in action.fields)
FORMS: Final[Mapping[str, Fields]] = {
    "/approve/{ref}/answer": Fields.of(f"{_ANSWER} note {_SIGNED}"),
    "/approve/{ref}/passkey": Fields.of(_ANSWER),
    "/plan/{ref}": Fields.of("decision all shown", r"tick-[0-9a-z]{26}"),
    "/runs/{ref}/stop": NO_FIELDS,
    "/lock-down": Fields.of("why confirm"),
    "/history/verify": NO_FIELDS,
    "/do/{action}": Fields.of(f"confirm {_ACTIONS}"),
    "/exec-approvals": Fields.of(
        f"node agent base seen bulk add do {' '.join(SETTINGS)}", r"remove-[0-9a-f]{16}"
    ),
    "/sessions/{id}/end": Fields.of("how"),
    "/passkeys/new": NO_FIELDS,
    "/passkeys": Fields.of(_SIGNED),
    f"{LOGIN_PATH}passkey/new": NO_FIELDS,
    f"{LOGIN_PATH}passkey": Fields.of(_SIGNED),
    f"{LOGIN_PATH}{{secret}}": NO_FIELDS,
    "/logout": NO_FIELDS,
    "/push/new": NO_FIELDS,
    "/push": Fields.of("endpoint p256dh auth"),
    "/push/{id}/remove": NO_FIELDS,
    "/push/answer": Fields.of("answer decision"),
}
"""The fields of the form that is sent to an address, by the address's template."""
_PAST = "agent session state by grep before"
QUERIES: Final[Mapping[str, Fields]] = {
    "/history": Fields.of(_PAST),
    "/history/export": Fields.of(f"{_PAST} format"),
    "/exec-approvals": Fields.of("node agent try cwd saved"),
}
"""The query parameters of addresses to which forms are sent that change nothing."""

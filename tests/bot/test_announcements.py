"""Write to everybody who is asked, each in a place of their own if prompts have none."""

import pytest

from bot.announcements import Audience, audience_of
from core.approvals.routing.forwarding import Forwarding
from core.model.identity import PersonId, Target
from core.settings.approvals import ForwardMode
from core.store.people.people import Account, Person

RUNNING = frozenset({"slack", "discord", "telegram"})
ANA = Person(
    PersonId("ana"),
    revoked=False,
    accounts=(
        Account("slack", "U0ANA0001", "Ana", revoked=False),
        Account("telegram", "42", "Ana", revoked=False),
        Account("discord", "77", "Ana", revoked=True),
    ),
)


@pytest.mark.parametrize(
    ("approvers", "places"),
    [
        ({"slack:U0ANA0001"}, [("slack", "U0ANA0001")]),
        ({"discord:77"}, [("discord", "user:77")]),
        ({"person:ana"}, [("slack", "U0ANA0001"), ("telegram", "42")]),
        ({"slack:person:ana"}, [("slack", "U0ANA0001")]),
        ({"person:ana", "slack:U0ANA0001"}, [("slack", "U0ANA0001"), ("telegram", "42")]),
        ({"slack:group:S0LEADS01", "discord:role:5", "person:bob", "terminal:root"}, []),
        ({"matrix:@ana"}, []),
    ],
)
def test_who_is_written_to(approvers: set[str], places: list[tuple[str, str]]) -> None:
    """Accounts in running channels, each once; groups, roles and strangers have no such place."""
    nowhere = Forwarding(enabled=True, mode=ForwardMode.SESSION, targets=())
    audience = audience_of(nowhere, frozenset(approvers), RUNNING)

    assert places == [(place.channel, place.to) for place in audience.direct((ANA,))]


def test_the_terminal_hears_of_it_too() -> None:
    """If the gateway has one."""
    audience = Audience(channels=frozenset({"terminal"}))

    assert (Target("terminal", "here"),) == audience.direct(())

"""Define what may be done to a row of a list: the method, its fields, and its confirmation."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """One action. ``asks`` is the question before something is taken away, else empty.

    ``named``: its button names what it acts on, because a row can have several.
    """

    label: str
    method: str
    fields: tuple[str, ...]
    back: str
    asks: str = ""
    named: bool = False


@dataclass(frozen=True, slots=True)
class Button:
    """An action on one row, with the values of its fields."""

    action: str
    fields: tuple[tuple[str, str], ...]

    @property
    def about(self) -> str:
        """Return what the button acts on, for people who cannot see the row."""
        return " ".join(value for _, value in self.fields)


_PEOPLE, _TOKENS, _GRANTS = "/lists/people", "/lists/tokens", "/lists/grants"
ACTIONS: Mapping[str, Action] = {
    "add-person": Action("Add a person", "people.add", ("name",), _PEOPLE),
    "pair-person": Action("Link an account", "people.pair", ("name",), _PEOPLE),
    "restore-person": Action("Restore", "people.restore", ("who",), _PEOPLE),
    "revoke-person": Action(
        "Revoke",
        "people.revoke",
        ("who",),
        _PEOPLE,
        "Revoke the right to approve? What this person allowed and still waits for more people "
        "counts no more.",
    ),
    "unlink-account": Action(
        "Unlink",
        "people.unlink",
        ("account",),
        _PEOPLE,
        "Unlink this account? It is then nobody's, and approves only where it is listed itself.",
        named=True,
    ),
    "revoke-token": Action(
        "Revoke",
        "token.revoke",
        ("token",),
        _TOKENS,
        "Revoke this token? Whoever calls with it is refused from now on; it cannot be restored.",
    ),
    "revoke-grant": Action(
        "Revoke", "grants.revoke", ("id",), _GRANTS, "Revoke this grant? People are asked again."
    ),
    "end-task": Action(
        "End task",
        "tasks.end",
        ("task", "agent"),
        _GRANTS,
        "End this task? Every grant of it is revoked, and people are asked again.",
    ),
}

"""Define the answers of the methods about people and their tokens."""

from bot.intake.results.answer import Answer, ChangeAnswer, Milliseconds, safe, safe_or_none
from core.model.access import Scope
from core.store.people.passkeys import Passkey
from core.store.people.people import Person
from core.store.people.tokens import Token


class AccountAnswer(Answer):
    """One account of a person."""

    channel: str
    account: str
    name: str
    revoked: bool


class PersonAnswer(Answer):
    """A person with their linked accounts."""

    id: str
    revoked: bool
    accounts: list[AccountAnswer]

    @classmethod
    def of(cls, one: Person) -> "PersonAnswer":
        """Return a person."""
        accounts = [
            AccountAnswer(
                channel=account.channel,
                account=safe(account.account),
                name=safe(account.name),
                revoked=account.revoked,
            )
            for account in one.accounts
        ]
        return cls(id=safe(one.id), revoked=one.revoked, accounts=accounts)


class PeopleAnswer(Answer):
    """The people with their accounts."""

    people: list[PersonAnswer]


class PairAnswer(ChangeAnswer):
    """Whether a code was made; it links the first account that sends it in time."""

    code: str | None = None
    expires_ms: Milliseconds | None = None


class TotpAnswer(ChangeAnswer):
    """Whether an app was enrolled; the secret is shown only once."""

    uri: str | None = None


class PasskeyRow(Answer):
    """A passkey; a node that has to check its signatures needs its public key."""

    id: str
    person: str
    name: str
    public_key: str
    created_by: str
    created_ms: Milliseconds
    used_ms: Milliseconds | None

    @classmethod
    def of(cls, one: Passkey) -> "PasskeyRow":
        """Return a passkey."""
        return cls(
            id=one.id,
            person=safe(one.person),
            name=safe(one.name),
            public_key=one.public_key,
            created_by=safe(one.created_by),
            created_ms=one.created_ms,
            used_ms=one.used_ms,
        )


class PasskeysAnswer(Answer):
    """Everybody's passkeys."""

    passkeys: list[PasskeyRow]


class TokenAnswer(Answer):
    """What is known about a token, never its text."""

    id: str
    name: str
    scopes: list[Scope]
    agent: str | None
    person: str | None
    state: str
    by: str
    created_ms: Milliseconds
    expires_ms: Milliseconds | None
    used_ms: Milliseconds | None
    browser: str | None

    @classmethod
    def of(cls, token: Token) -> "TokenAnswer":
        """Return a token."""
        return cls(
            id=token.id,
            name=safe(token.name),
            scopes=sorted(token.scopes),
            agent=safe_or_none(token.agent),
            person=safe_or_none(token.person),
            state=token.state,
            by=safe(token.by),
            created_ms=token.created_ms,
            expires_ms=token.expires_ms,
            used_ms=token.used_ms,
            browser=safe_or_none(token.browser),
        )


class TokensAnswer(Answer):
    """The tokens, without their values."""

    tokens: list[TokenAnswer]


class NewTokenAnswer(ChangeAnswer):
    """Whether a token was made; ``token`` is its text, which is shown only once."""

    token: str | None = None
    id: str | None = None


class LinkAnswer(ChangeAnswer):
    """Whether a link to the control page was made; ``url`` is shown only once."""

    url: str | None = None
    person: str | None = None
    expires_ms: Milliseconds | None = None


class PageSessionsAnswer(Answer):
    """Sessions of the control page; each is a token of its person, which no API accepts."""

    sessions: list[TokenAnswer]

"""Ask on the page for a step-up's proof: the typed code, or the app's code if there is one."""

from collections.abc import Iterator

import pytest

from core.store.approvals import proofs
from core.store.engine.clock import now_ms
from core.store.people import totp_keys
from core.trust.totp import STEP_MS, new_secret
from tests.bot.page.conftest import RATES
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.authenticator_app import code_at
from tests.support.page_browser import PageBrowser

ASKED = "git push --force origin main"


@pytest.fixture(scope="module")
def critical(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGateway]:
    """Run a gateway where a forced push requires a step-up."""
    home = tmp_path_factory.mktemp("proof") / "home"
    with api_gateway(home, step_up=True, limits=RATES) as running:
        yield running


@pytest.fixture
def secret(critical: ApiGateway) -> Iterator[str]:
    """Enrol an app for Ana."""
    drawn = new_secret()
    store = critical.gateway.store
    sealed = critical.gateway.gate.broker.seals.seal(drawn, totp_keys.use_of("ana"))
    critical.do(store.write(totp_keys.enrol, "ana", sealed, "uid:0"))
    yield drawn
    critical.do(store.write(totp_keys.remove, "ana"))


def _state(home: ApiGateway, asked: str) -> str:
    return str(home.client("person").get(f"/v1/approvals/{asked}").json()["state"])


def _code(home: ApiGateway, secret: str, steps: int = 0) -> str:
    now = home.do(home.gateway.store.read(now_ms))
    return code_at(secret, now + steps * STEP_MS)


def test_the_code_of_the_app_allows(critical: ApiGateway, secret: str) -> None:
    """The approval's own code does not; the proof is kept."""
    ana = PageBrowser.signed_in(critical)
    asked = critical.ask(ASKED)
    assert 'name="totp"' in ana.get(f"/approve/{asked['id']}").text
    for fields in ({}, {"typed": asked["code"]}, {"totp": "123"}, {"totp": "12345x"}):
        refused = ana.answer(asked["id"], "allow-once", **fields)
        assert refused.status_code in {400, 409}, refused.text
        assert _state(critical, asked["id"]) == "pending"

    code = _code(critical, secret)
    done = ana.answer(asked["id"], "allow-once", totp=f"{code[:3]} {code[3:]}")
    assert done.status_code == 303, done.text
    assert _state(critical, asked["id"]) == "allowed"
    (kept,) = critical.do(critical.gateway.store.read(proofs.of_approval, asked["id"]))
    assert (kept.person, kept.reply) == ("ana", "allow-once")


def test_the_code_is_good_once(critical: ApiGateway, secret: str) -> None:
    """The next one of the app counts."""
    ana = PageBrowser.signed_in(critical)
    first, second = critical.ask(ASKED), critical.ask(ASKED.replace("main", "next"))
    code = _code(critical, secret)
    assert ana.answer(first["id"], "allow-once", totp=code).status_code == 303
    again = ana.answer(second["id"], "allow-once", totp=code)
    assert (again.status_code, "this one was used" in again.text) == (409, True)
    assert _state(critical, second["id"]) == "pending"
    later = ana.answer(second["id"], "allow-once", totp=_code(critical, secret, 1))
    assert later.status_code == 303, later.text


@pytest.mark.usefixtures("secret")
def test_denying_takes_one_press(critical: ApiGateway) -> None:
    """As usual."""
    asked = critical.ask(ASKED)
    assert PageBrowser.signed_in(critical).answer(asked["id"], "deny").status_code == 303
    assert _state(critical, asked["id"]) == "denied"


def test_without_an_app_the_code_is_typed(critical: ApiGateway) -> None:
    """A press alone allows nothing, nor does a code of no app."""
    ana, asked = PageBrowser.signed_in(critical), critical.ask(ASKED)
    for fields in ({}, {"totp": "123456"}):
        assert ana.answer(asked["id"], "allow-once", **fields).status_code == 409
        assert _state(critical, asked["id"]) == "pending"
    assert ana.answer(asked["id"], "allow-once", typed=asked["code"]).status_code == 303


def test_what_wants_no_step_up_takes_one_press(critical: ApiGateway, secret: str) -> None:
    """A person with an app; the card then has no field."""
    assert secret
    ana, asked = PageBrowser.signed_in(critical), critical.ask("git push origin main")
    assert 'name="totp"' not in ana.get(f"/approve/{asked['id']}").text
    assert ana.answer(asked["id"], "allow-once").status_code == 303

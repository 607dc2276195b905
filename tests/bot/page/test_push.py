"""Push to browsers: which are notified, for how long, of what; and what notifications answer.

The push service is a local one that checks and opens each message by the RFCs.
"""

import asyncio
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection, select

from bot.page.push import _fits
from core.model.access import Scope
from core.model.decision import Reason, Tier
from core.model.identity import Actor, ApprovalId
from core.store import approvals
from core.store.people import page_links, pairing, people, push, tokens
from core.store.people.push import Answerable
from core.store.schema.people_tables import push_subscriptions
from tests.bot.page.conftest import RATES
from tests.emulators.web_push import Phone, PushService, bytes_of, push_service
from tests.support.api_gateway import CRITICAL, ApiGateway, api_gateway
from tests.support.page_browser import PERSON_SCOPES, PageBrowser
from tests.support.waiting import wait_until

JSON = {"Accept": "application/json"}
PUSH = "git push origin main"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture(scope="module")
def service() -> Iterator[PushService]:
    """Run a push service."""
    with push_service() as running:
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, service: PushService) -> Iterator[ApiGateway]:
    """Run a gateway that knows the service, where a forced push is critical and Bo approves too."""

    def change(config: dict[str, Any]) -> None:
        config["approvals"]["exec"]["approvers"] = ["person:ana", "person:bo"]
        config["tools"]["exec"]["rules"] = [CRITICAL]

    folder = tmp_path_factory.mktemp("push") / "home"
    more: dict[str, Any] = {"limits": RATES, "push": {"services": [service.url]}}
    with api_gateway(folder, change=change, timeout=300, **more) as running:
        running.do(running.gateway.store.write(people.add, "bo"))
        yield running


def _post(browser: PageBrowser, path: str, **fields: str) -> httpx.Response:
    own = str(browser.http.base_url).rstrip("/")
    return browser.http.post(path, data=fields, headers={**JSON, "Origin": own})


def _subscribe(browser: PageBrowser, phone: Phone) -> httpx.Response:
    csrf = browser.csrf("/sessions")
    assert len(bytes_of(_post(browser, "/push/new", csrf=csrf).json()["key"])) == 65
    return _post(browser, "/push", csrf=csrf, **phone.fields)


@pytest.fixture
def phone(home: ApiGateway, service: PushService, ana: PageBrowser) -> Phone:
    """Return Ana's browser, which takes push."""
    made = service.subscribe()
    answer = _subscribe(ana, made)
    assert answer.json() == {"done": True, "sentence": "This browser is notified from now on."}
    return made


@pytest.fixture(autouse=True)
def alone(home: ApiGateway) -> Iterator[None]:
    """Notify no one before and after each test except the browsers that it subscribes."""
    yield
    for one in home.do(home.gateway.store.read(push.live)):
        home.do(home.gateway.store.write(push.remove, one.id))


@pytest.fixture
def ask(home: ApiGateway) -> Iterator[Callable[..., str]]:
    """Return a function that asks a question; it is withdrawn afterwards."""
    asked: list[str] = []

    def made(command: str = PUSH, **more: Any) -> str:
        asked.append(home.ask(command, **more)["id"])
        return asked[-1]

    yield made
    for one in asked:
        home.client("agent").delete(f"/v1/requests/{one}")


def _note(service: PushService, phone: Phone, about: str, kind: str = "prompt") -> dict[str, Any]:
    def found() -> dict[str, Any] | None:
        notes = service.notes(phone)
        return next((one for one in notes if (one["id"], one["kind"]) == (about, kind)), None)

    note: dict[str, Any] = wait_until(f"the {kind} on the phone", found)
    return note


def _state(home: ApiGateway, approval_id: str) -> str:
    found = home.client("person").get(f"/v1/approvals/{approval_id}").json()
    return str(found["state"])


def _place(home: ApiGateway, person: str = "ana") -> str:
    return home.do(home.gateway.store.read(push.of_person, person))[-1].id


def test_a_question_is_pushed_and_its_end_takes_its_place(
    home: ApiGateway, service: PushService, phone: Phone, ask: Callable[..., str]
) -> None:
    """Encrypted, masked and small; for the question's own time, one Topic and one tag."""
    asked = ask()
    note = _note(service, phone, asked)
    assert note["title"] == f"main asks ({asked[:6].upper()})"
    assert note["text"].startswith(PUSH)
    check = home.client("person").get(f"/v1/approvals/{asked}").json()
    assert note["until"] == pytest.approx(check["deadlineMs"], abs=30_000)
    home.client("person").post(f"/v1/approvals/{asked}/resolve", json={"decision": "deny"})
    ended = _note(service, phone, asked, "outcome")
    assert "Denied" in ended["title"]
    first, last = (one for one in service.taken if one.note["id"] == asked)
    assert first.topic == last.topic == note["tag"] == ended["tag"]
    assert 0 < first.ttl <= 300
    assert (first.urgency, last.urgency) == ("high", "normal")
    assert len(first.body) <= 3_100
    assert asked not in first.topic
    assert PUSH.encode() not in first.body
    assert service.refused == []


def test_secrets_and_the_end_of_long_commands_are_not_pushed(
    service: PushService, phone: Phone, ask: Callable[..., str]
) -> None:
    """Masked as in every copy; a cut text has no buttons that allow."""
    masked = _note(
        service, phone, ask(f"curl -H 'Authorization: Bearer {SECRET}' https://x.example")
    )
    assert SECRET not in json.dumps(masked)
    assert "[secret:" in masked["text"]
    long = _note(service, phone, ask("git commit -m " + "x" * 20_000))
    assert "answer" not in long
    assert len(json.dumps(long)) < 1_000


_OPEN_ONLY: dict[str, dict[str, object]] = {
    "too long": {"command": f"git push origin {'b' * 200}"},
    "several commands": {"command": "git fetch && git push"},
    "read by a shell": {"command": "git push $(cat branch)"},
    "critical": {"command": "git push --force origin main"},
    "with an environment": {"command": PUSH, "env": {"LC_ALL": "C.UTF-8"}},
    "with input": {"command": "git apply -", "stdin": "aGVsbG8="},
    "what a wrapper hides": {"command": "xargs rm"},
    "another program": {"command": "sudo ls"},
    "a name with escapes": {"command": "git push origin \u202emain"},
}


@pytest.mark.parametrize("kind", _OPEN_ONLY)
def test_what_a_notification_has_no_room_for_is_answered_on_its_page(
    service: PushService, phone: Phone, ask: Callable[..., str], kind: str
) -> None:
    """There is nothing to answer with; the short routine question has it (the control)."""
    assert "answer" not in _note(service, phone, ask(**_OPEN_ONLY[kind]))
    assert _note(service, phone, ask())["answer"]


def test_a_right_answer_counts_once(
    home: ApiGateway, service: PushService, ana: PageBrowser, phone: Phone, ask: Callable[..., str]
) -> None:
    """It allows, as Ana's, is recorded as given under the notification, and is then used up."""
    asked = ask("git push origin allowed-here")
    note = _note(service, phone, asked)
    said = _post(ana, "/push/answer", answer=note["answer"], decision="allow-once")
    assert said.status_code == 200, said.text
    assert said.json()["done"] is True
    assert _state(home, asked) == "allowed"
    again = _post(ana, "/push/answer", answer=note["answer"], decision="allow-once")
    assert (again.status_code, again.json()["done"]) == (403, False)
    shown = home.client("person").get(f"/v1/approvals/{asked}/evidence").json()["shown"]
    mine = [(one["surface"], one["place"]) for one in shown if one["by"]]
    assert mine == [("answered", _place(home))]
    copies = [one["text"] for one in shown if one["channel"] == "push"]
    assert "allowed-here" in copies[0]
    assert note["answer"] not in json.dumps(shown)


def test_deny_counts_as_well(
    home: ApiGateway, service: PushService, ana: PageBrowser, phone: Phone, ask: Callable[..., str]
) -> None:
    """The other button."""
    asked = ask("git push origin denied-here")
    note = _note(service, phone, asked)
    said = _post(ana, "/push/answer", answer=note["answer"], decision="deny")
    assert said.json()["done"] is True
    assert _state(home, asked) == "denied"


def _drawn(home: ApiGateway, asked: str, digest: str | None = None, life_ms: int = 60_000) -> str:
    found = home.do(home.gateway.store.read(approvals.get, ApprovalId(asked)))
    assert found is not None
    about = Answerable(_place(home), found.id, digest or found.plan.digest)
    until_ms = int(time.time() * 1000) + life_ms
    return home.do(home.gateway.store.write(push.draw, about, until_ms))


def _attempts(
    home: ApiGateway, ana: PageBrowser, note: dict[str, Any], asked: str
) -> Iterator[tuple[str, httpx.Response]]:
    """Yield answers that must not count, each with what is wrong with it."""
    token, fresh = note["answer"], PageBrowser.signed_in(home)
    bo, nobody = PageBrowser.signed_in(home, "bo"), PageBrowser.at(home)
    reader = PageBrowser.signed_in(home, scopes=frozenset({Scope.READ}))
    for name, browser in (("another session of hers", fresh), ("another person", bo)):
        yield name, _post(browser, "/push/answer", answer=token, decision="allow-once")
    yield "nobody", _post(nobody, "/push/answer", answer=token, decision="allow-once")
    yield (
        "a session that only reads",
        _post(reader, "/push/answer", answer=token, decision="allow-once"),
    )
    for name, text in (
        ("nothing", ""),
        ("made up", "x" * 43),
        ("one letter less", token[:-1]),
        ("one letter other", token[:-1] + ("A" if token[-1] != "A" else "B")),
        ("its hash", hashlib.sha256(token.encode()).hexdigest()),
        ("the approval's id", asked),
        ("the session's form token", ana.csrf("/sessions")),
        ("another plan's", _drawn(home, asked, digest="0" * 64)),
        ("expired", _drawn(home, asked, life_ms=-1)),
    ):
        yield name, _post(ana, "/push/answer", answer=text, decision="allow-once")
    for reply in ("allow-always", "", "allow", "ALLOW-ONCE", "deny "):
        yield f"{reply!r}", _post(ana, "/push/answer", answer=_drawn(home, asked), decision=reply)
    fields = {"answer": _drawn(home, asked), "decision": "allow-once"}
    for origin in (None, "null", "https://evil.example", home.url + ".evil.example"):
        headers = JSON if origin is None else {**JSON, "Origin": origin}
        yield f"from {origin}", ana.http.post("/push/answer", data=fields, headers=headers)
    own = {**JSON, "Origin": home.url}
    yield "as a GET", ana.http.get("/push/answer", params=fields, headers=own)
    yield "as JSON", ana.http.post("/push/answer", json=fields, headers=own)
    twice = f"answer={fields['answer']}&answer={token}&decision=allow-once"
    form = {**own, "Content-Type": "application/x-www-form-urlencoded"}
    yield "twice", ana.http.post("/push/answer", content=twice, headers=form)


def test_no_other_answer_counts(
    home: ApiGateway, service: PushService, ana: PageBrowser, phone: Phone, ask: Callable[..., str]
) -> None:
    """Each is refused and changes nothing; the valid one then counts (the control)."""
    asked = ask("git push origin attacked")
    note = _note(service, phone, asked)
    tried = list(_attempts(home, ana, note, asked))
    assert len(tried) >= 24
    wrong = [name for name, said in tried if said.status_code < 400]
    assert wrong == []
    assert _state(home, asked) == "pending"
    token = _drawn(home, asked)
    said = _post(ana, "/push/answer", answer=token, decision="deny")
    assert said.json()["done"] is True, said.text
    late = _post(ana, "/push/answer", answer=note["answer"], decision="allow-once")
    assert late.status_code == 403
    assert _state(home, asked) == "denied"


def test_what_wants_more_than_a_press_takes_no_drawn_answer(
    home: ApiGateway, service: PushService, ana: PageBrowser, phone: Phone, ask: Callable[..., str]
) -> None:
    """Even if one was drawn: the tier of the question is checked again."""
    asked = ask("git push --force origin main")
    _note(service, phone, asked)
    for reply in ("allow-once", "deny"):
        said = _post(ana, "/push/answer", answer=_drawn(home, asked), decision=reply)
        assert said.status_code == 403
    assert _state(home, asked) == "pending"
    plain = ask("git push origin plain")
    answered = _post(ana, "/push/answer", answer=_drawn(home, plain), decision="deny")
    assert answered.json()["done"] is True


def test_a_press_is_enough_for_a_plain_routine_question_alone(
    home: ApiGateway, ask: Callable[..., str]
) -> None:
    """Not for one of a higher tier, one that waits for a step-up, or that of another plan."""
    found = home.do(home.gateway.store.read(approvals.get, ApprovalId(ask())))
    assert found is not None
    about = Answerable("a browser", found.id, found.plan.digest)
    (segment,) = found.evaluation.segments
    heavier = (replace(segment, tier=Tier.CRITICAL),)
    critical = replace(found, evaluation=replace(found.evaluation, segments=heavier))
    by_rule = replace(found, evaluation=replace(found.evaluation, reason=Reason.RULE_ASKED))

    assert _fits(found, about)
    for other in (critical, replace(found, step_up=True), by_rule):
        assert not _fits(other, about)
    assert not _fits(found, replace(about, digest="0" * 64))


def test_of_answers_at_one_moment_one_counts(
    home: ApiGateway, service: PushService, ana: PageBrowser, phone: Phone, ask: Callable[..., str]
) -> None:
    """Ten times the same: one is accepted."""
    asked = ask("git push origin at-once")
    fields = {"answer": _note(service, phone, asked)["answer"], "decision": "deny"}
    cookies = dict(ana.http.cookies)

    async def all_of_them() -> list[int]:
        async with httpx.AsyncClient(base_url=home.url, cookies=cookies) as client:
            headers = {**JSON, "Origin": home.url}
            one = [client.post("/push/answer", data=fields, headers=headers) for _ in range(10)]
            return [said.status_code for said in await asyncio.gather(*one)]

    assert sorted(asyncio.run(all_of_them())) == [200, *[403] * 9]


def _quiet(home: ApiGateway, service: PushService, phone: Phone, ask: Callable[..., str]) -> None:
    """Assert that nothing is pushed any more: another browser of hers gets it (the control)."""
    other = service.subscribe()
    control = PageBrowser.signed_in(home, "bo")
    assert _subscribe(control, other).status_code == 200
    before = len(service.notes(phone))
    _note(service, other, ask(f"git push origin end-{secrets.token_hex(4)}"))
    assert len(service.notes(phone)) == before
    control.submit("/logout")


_ENDINGS: dict[str, Callable[[ApiGateway, PageBrowser], object]] = {
    "signed out": lambda _home, ana: ana.submit("/logout"),
    "removed": lambda home, ana: ana.submit(f"/push/{_place(home)}/remove"),
    "revoked": lambda home, ana: ana.submit(f"/sessions/{_session(home)}/end", how="revoke"),
    "ended": lambda home, _ana: home.do(home.gateway.store.write(tokens.sign_out, _session(home))),
    "token revoked": lambda home, _ana: home.revoke(_session(home)),
}


def _kept(home: ApiGateway) -> list[str]:
    """Return all browsers in the store, whether or not they are pushed to."""

    def names(conn: Connection) -> list[str]:
        return [str(one) for one in conn.execute(select(push_subscriptions.c.id)).scalars()]

    return home.do(home.gateway.store.read(names))


def _session(home: ApiGateway) -> str:
    return home.do(home.gateway.store.read(push.of_person, "ana"))[-1].session


@pytest.mark.parametrize("how", _ENDINGS)
def test_nothing_is_pushed_after_the_end_of_its_session(
    home: ApiGateway,
    service: PushService,
    ana: PageBrowser,
    phone: Phone,
    ask: Callable[..., str],
    how: str,
) -> None:
    """Nor does what was pushed before still answer, nor is its end pushed."""
    others = set(_kept(home)) - {_place(home)}
    asked = ask("git push origin before-the-end")
    note = _note(service, phone, asked)
    _ENDINGS[how](home, ana)
    assert set(_kept(home)) == others
    said = _post(ana, "/push/answer", answer=note["answer"], decision="allow-once")
    assert said.status_code in {401, 403}
    home.client("person").post(f"/v1/approvals/{asked}/resolve", json={"decision": "deny"})
    _quiet(home, service, phone, ask)
    assert [one["kind"] for one in service.notes(phone)] == ["prompt"]


def test_nothing_is_pushed_once_the_chat_account_or_the_person_is_revoked(
    home: ApiGateway, service: PushService, ask: Callable[..., str]
) -> None:
    """A session started with /login ends with its account, all of a person's with the person."""
    store = home.gateway.store
    home.do(store.write(people.add, "cy"))
    code = home.do(store.write(pairing.begin, "cy"))
    assert code is not None
    home.do(store.write(pairing.pair, code.code, Actor("telegram", "42", "Cy")))
    for by, whom in (("telegram:42", "telegram:42"), ("uid:0", "cy")):
        made = home.do(store.write(page_links.create, "cy", PERSON_SCOPES, by))
        browser, device = PageBrowser.at(home), service.subscribe()
        browser.sign_in(f"/login/{made.secret}")
        assert _subscribe(browser, device).status_code == 200
        assert len(home.do(store.read(push.of_person, "cy"))) == 1
        home.do(store.write(people.revoke, whom))
        assert home.do(store.read(push.of_person, "cy")) == ()
        _quiet(home, service, device, ask)


def test_who_may_not_answer_is_not_notified(
    home: ApiGateway, service: PushService, phone: Phone, ask: Callable[..., str]
) -> None:
    """A person on no list gets nothing; Ana does (the control)."""
    home.do(home.gateway.store.write(people.add, "dee"))
    device = service.subscribe()
    kept = _subscribe(PageBrowser.signed_in(home, "dee"), device)
    assert kept.status_code == 200
    assert "notified of nothing: you are on no list of approvers" in kept.json()["sentence"]
    _note(service, phone, ask())
    assert service.notes(device) == []


@pytest.mark.parametrize("status", [404, 410])
def test_a_browser_that_its_service_does_not_know_is_forgotten(
    home: ApiGateway, service: PushService, phone: Phone, ask: Callable[..., str], status: int
) -> None:
    """At the first such answer."""
    service.answers.append((status, {}))
    ask()
    wait_until(
        "the browser to be forgotten",
        lambda: home.do(home.gateway.store.read(push.of_person, "ana")) == (),
    )
    assert service.notes(phone) == []


@pytest.mark.parametrize("answers", [[(429, {"Retry-After": "0"})], [(500, {}), (503, {})]])
def test_a_service_that_cannot_take_it_now_is_asked_again(
    home: ApiGateway,
    service: PushService,
    phone: Phone,
    ask: Callable[..., str],
    answers: list[tuple[int, dict[str, str]]],
) -> None:
    """By the outbox, like each copy; the browser stays."""
    service.answers += answers
    _note(service, phone, ask())
    assert service.answers == []
    assert len(home.do(home.gateway.store.read(push.of_person, "ana"))) == 1


def test_a_redirect_is_not_followed(
    home: ApiGateway, service: PushService, phone: Phone, ask: Callable[..., str]
) -> None:
    """The message goes to the push service and nowhere else; it is retried there."""
    trap = service.subscribe()
    service.answers.append((307, {"Location": trap.endpoint}))
    _note(service, phone, ask())
    assert service.notes(trap) == []


_ELSEWHERE = (
    "",
    "x",
    "http://127.0.0.1/push",
    "http://127.0.0.1:1/push",
    "https://127.0.0.1/push",
    "https://localhost/push",
    "https://[::1]/push",
    "https://169.254.169.254/latest/meta-data",
    "https://10.0.0.1/push",
    "https://evil.example/push",
    "http://fcm.googleapis.com/push",
    "https://fcm.googleapis.com.evil.example/push",
    "https://evil.example/fcm.googleapis.com",
    "https://user@fcm.googleapis.com/push",
    "https://fcm.googleapis.com@evil.example/push",
    "https://fcm.googleapis.com:8443/push",
    "https://xnotify.windows.com/push",
    "https://push.services.mozilla.com/push",
    "https://fcm.googleapis.com\\@evil.example/push",
    "https://fcm.googleapis.com/push#x",
    "https://fcm.googleapis.com/pu sh",
    "file:///etc/passwd",
    "ftp://fcm.googleapis.com/push",
    f"https://fcm.googleapis.com/{'x' * 1_100}",
    "{service}.evil.example/push",
    "{service}@evil.example/push",
)


def test_only_push_services_are_spoken_to(
    home: ApiGateway, service: PushService, ana: PageBrowser
) -> None:
    """Every other address is refused, and nothing is kept; the service's own is accepted."""
    phone = service.subscribe()
    csrf = ana.csrf("/sessions")
    for one in _ELSEWHERE:
        fields = {**phone.fields, "endpoint": one.format(service=service.url)}
        assert _post(ana, "/push", csrf=csrf, **fields).status_code == 400, one
    for name, text in (("p256dh", "x"), ("auth", "AAAA"), ("p256dh", phone.fields["auth"])):
        fields = {**phone.fields, name: text}
        assert _post(ana, "/push", csrf=csrf, **fields).status_code == 400, name
    assert home.do(home.gateway.store.read(push.live)) == ()
    assert _post(ana, "/push", csrf=csrf, **phone.fields).status_code == 200
    assert _post(ana, "/push", csrf="0" * 64, **phone.fields).status_code == 403


def test_browsers_are_listed_and_removed_by_their_own_person(
    home: ApiGateway, service: PushService, ana: PageBrowser, phone: Phone
) -> None:
    """Bo sees none of Ana's and removes none; a second subscription of one browser replaces."""
    place = _place(home)
    assert place in ana.get("/sessions").text
    bo = PageBrowser.signed_in(home, "bo")
    assert place not in bo.get("/sessions").text
    assert bo.submit(f"/push/{place}/remove").status_code == 404
    assert _subscribe(ana, phone).status_code == 200
    again = home.do(home.gateway.store.read(push.of_person, "ana"))
    assert [one.id == place for one in again] == [False]
    for _ in range(push.MOST - 1):
        assert _subscribe(ana, service.subscribe()).status_code == 200
    recorded = _recorded(home)
    assert _subscribe(ana, service.subscribe()).status_code == 409
    assert ana.submit("/push/0123456789abcdef/remove").status_code == 404
    assert _recorded(home) == recorded
    assert recorded.count("push browser") >= push.MOST
    assert ana.submit(f"/push/{_place(home)}/remove").status_code == 303
    assert _recorded(home)[len(recorded) :] == ["forget push browser"]


def test_a_browser_is_listed_by_what_it_says_it_is(
    home: ApiGateway, service: PushService, ana: PageBrowser
) -> None:
    """Nothing of its own words is repeated; one that says nothing is notified, too."""
    assert "Firefox on Linux" not in ana.get("/sessions").text
    ana.http.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64) Gecko/1 Firefox/140.0"
    assert _subscribe(ana, service.subscribe()).status_code == 200
    del ana.http.headers["User-Agent"]
    assert _subscribe(ana, service.subscribe()).status_code == 200
    listed = ana.get("/sessions").text

    assert "Remove Firefox on Linux, " in listed
    assert "Remove a browser, " in listed
    assert "Gecko" not in listed


def _recorded(home: ApiGateway) -> list[str]:
    """Return what the journal says about browsers and push."""
    lines = (json.loads(one) for one in (home.home / "audit.jsonl").read_text().splitlines())
    return [one["what"] for one in lines if one["kind"] == "people" and "push" in one["what"]]


def test_what_is_kept_is_sealed(home: ApiGateway, phone: Phone) -> None:
    """Neither a browser's push address, nor its secret, nor our key is in the store in clear."""
    kept = home.do(home.gateway.store.read(push.live))[-1]
    sealed = home.do(home.gateway.store.read(push.key))
    assert sealed is not None
    for text in (kept.sealed, sealed):
        assert text.startswith("sealed:1:")
        assert phone.fields["auth"] not in text
    data = b"".join(one.read_bytes() for one in home.home.glob("state.db*"))
    assert phone.endpoint.encode() not in data
    assert phone.fields["auth"].encode() not in data

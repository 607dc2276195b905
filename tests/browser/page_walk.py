"""Visit all pages of the app by the routes that make them, each with what can be on it."""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from bot.page.records.lists import LISTINGS
from core.store.people import passkeys, people, push, tokens
from tests.support.api_gateway import UNLIMITED, ApiGateway, api_gateway
from tests.support.page_browser import ADMIN_SCOPES, PageBrowser, link_for
from tests.support.waiting import wait_until

RTL = "סוכן-פריסה"
LONG = "git commit -m " + "word-" * 3_998 + "end"
RATES = {**UNLIMITED, "failures": 100_000}
RULES: list[dict[str, Any]] = [
    {"match": {"glob": "/usr/bin/shred"}, "decide": "deny", "reason": "use rm"},
    {
        "match": {"argv": ["git", "push", "--force", "<NAME>", "<NAME>"], "cwd": "/srv"},
        "decide": "ask",
        "tier": "critical",
        "reason": "it rewrites what others have; say so in the channel of the release first, "
        "and wait until two have answered",
    },
]
NOT_SHOWN = {
    *("/approve/{ref}/preview", "/history/export", "/manifest.webmanifest", "/worker.js"),
    "/static/{version}/{name}",
}
"""Addresses that browsers or scripts read, not people."""
NOT_ANSWERED_BY_A_PAGE = {
    *("/approve/{ref}/passkey", "/passkeys/new", "/passkeys", "/login/passkey/new"),
    *("/login/passkey", "/push/new", "/push", "/push/answer", "/push/{id}/remove"),
    *("/login/{secret}", "/sessions/{id}/end"),
}
"""Forms whose answers scripts read, or that lead to another page."""


@dataclass(frozen=True, slots=True)
class Address:
    """One page: its address, what is sent there (``None``: nothing), who sees it."""

    path: str
    fields: Mapping[str, str] | None = None
    signed: bool = True
    once: bool = False

    def __str__(self) -> str:
        """Return its name in a failure."""
        return self.path if self.fields is None else f"POST {self.path} {dict(self.fields)}"


@dataclass(frozen=True, slots=True)
class World:
    """A gateway with something on each page; ``pages`` by the template of their address."""

    home: ApiGateway
    pages: Mapping[str, tuple[Address, ...]]
    asked: Mapping[str, str] = field(default_factory=dict)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Return all of them."""
        return tuple(one for found in self.pages.values() for one in found)


def running(folder: Path) -> AbstractContextManager[ApiGateway]:
    """Run a gateway on whose pages everything can be shown."""
    return api_gateway(folder / "home", timeout=600, limits=RATES, change=ruled)


def ruled(config: dict[str, Any]) -> None:
    """Configure rules, so that their list has some."""
    config["tools"]["exec"]["rules"] = RULES


def furnished(home: ApiGateway) -> World:
    """Put something on each page, and return the addresses of all."""
    person = PageBrowser.signed_in(home, scopes=ADMIN_SCOPES)
    asked = {
        "long": str(home.ask(LONG)["id"]),
        "mirrored": str(home.ask("git push origin main", session=RTL)["id"]),
        **{
            f"burst-{n}": str(home.ask(f"git push origin s-{n}", session="plan")["id"])
            for n in range(3)
        },
    }
    asked |= _decided(home, person)
    asked["run"] = str(home.ask("sleep 500")["id"])
    _listed(home, person)
    asked["tried"] = _tried(person)
    _counted(person)
    return World(home, _pages(home, asked), asked)


def _decided(home: ApiGateway, person: PageBrowser) -> dict[str, str]:
    """Answer some, so that there are stories, evidence, grants and outcomes."""
    found = {name: str(home.ask(f"rm -r build/{name}")["id"]) for name in ("denied", "allowed")}
    for one in found.values():
        person.get(f"/approve/{one}")
    person.answer(found["denied"], "deny", note="the release needs it " * 8)
    person.answer(found["allowed"], "allow-once")
    for limit in ("30m", "session"):
        granted = home.ask(f"git push origin granted-{limit}", session="docs")["id"]
        person.answer(granted, "allow-always", limit=limit)
    return found


def _listed(home: ApiGateway, person: PageBrowser) -> None:
    """Fill the lists: people, accounts, passkeys, browsers that are notified."""
    store = home.gateway.store
    for name in ("carla", "person-with-a-name-of-32-letters"):
        person.submit("/do/add-person", name=name)
    person.submit("/do/revoke-person", who="carla", confirm="yes")
    home.do(store.write(people.add, "dana"))
    session = home.do(store.read(tokens.listed))[-1]
    home.do(store.write(passkeys.add, "ana", "k" * 43, "public", 0, "Firefox on Linux", "uid:0"))
    place = push.new_id()
    sealed = home.gateway.gate.broker.seals.seal("{}", push.use_of(place))
    draft = push.Draft(place, session.id, "ana", "https://push.test/x", sealed, "Chrome on Android")
    assert home.do(store.write(push.subscribe, draft))


def _tried(person: PageBrowser) -> str:
    """Try a draft on the past; return its address."""
    text = person.get("/exec-approvals?agent=main").text
    fields = {
        name: found[1].replace("&#34;", '"')
        for name in ("agent", "node", "base", "seen", "csrf")
        if (found := re.search(rf'name="{name}" value="([^"]*)"', text))
    }
    begun = person.post("/exec-approvals", **fields, add="/usr/bin/rm", do="backtest")
    assert begun.status_code == 303, begun.text
    path = str(begun.headers["location"])
    wait_until("the backtest", lambda: "data-progress" not in person.get(path).text, seconds=60)
    return path


def _counted(person: PageBrowser) -> None:
    counted: Callable[[], bool] = lambda: "Look again" not in person.get("/insight").text  # noqa: E731
    wait_until("the counts", counted, seconds=90)


def _pages(home: ApiGateway, asked: Mapping[str, str]) -> Mapping[str, tuple[Address, ...]]:
    link = link_for(home)
    approvals = ("long", "mirrored", "denied", "allowed")
    rules = ("", "?agent=main", f"?agent={RTL}", "?agent=main&try=git+push+origin+main")
    return {
        "/": (Address("/"), Address("/", signed=False)),
        "/approve/{ref}": tuple(Address(f"/approve/{asked[one]}") for one in approvals),
        "/approve/{ref}/answer": (
            Address(f"/approve/{asked['denied']}/answer", {"decision": "allow-once"}),
        ),
        "/plan/{ref}": (
            Address(f"/plan/{asked['burst-0']}"),
            Address(
                f"/plan/{asked['burst-0']}",
                {"decision": "allow-once", f"tick-{asked['denied']}": "yes"},
            ),
        ),
        "/runs/{ref}/stop": (Address(f"/runs/{asked['allowed']}/stop", {}),),
        "/lock-down": (Address("/lock-down"), Address("/lock-down", {"why": "not confirmed"})),
        "/history": (Address("/history"), Address("/history?agent=nobody")),
        "/history/verify": (Address("/history/verify", {}),),
        "/history/{ref}": tuple(
            Address(f"/history/{asked[one]}") for one in ("denied", "allowed", "run", "long")
        ),
        "/insight": (Address("/insight"),),
        "/lists/{name}": (*(Address(f"/lists/{one}") for one in LISTINGS), Address("/lists/none")),
        "/do/{action}": (
            Address("/do/revoke-person", {"who": "dana"}),
            Address("/do/restore-person", {"who": "nobody-of-this-name"}),
        ),
        "/exec-approvals": (
            *(Address(f"/exec-approvals{query}") for query in rules),
            Address("/exec-approvals", {"agent": "main", "base": "old", "ask": "always"}),
        ),
        "/exec-approvals/backtest/{id}": (Address(asked["tried"]),),
        "/sessions": (Address("/sessions"),),
        "/logout": (Address("/logout", {}, once=True),),
        "/login/{secret}": (Address(link, signed=False), Address("/login/short", signed=False)),
        "/offline": (Address("/offline"),),
        "": (Address("/histroy"), Address("/histroy", signed=False)),
    }


def open_page(page: Page, home: ApiGateway, address: Address) -> None:
    """Open an address as people do: by a link, or by a form of our own page."""
    if address.fields is None:
        page.goto(home.url + address.path)
        return
    page.goto(f"{home.url}/sessions")
    with page.expect_navigation():
        page.evaluate(
            """([path, fields]) => {
              const form = document.createElement("form");
              form.method = "post";
              form.action = path;
              const csrf = document.querySelector("input[name=csrf]").value;
              for (const [name, value] of Object.entries({ csrf, ...fields })) {
                const one = document.createElement("input");
                Object.assign(one, { type: "hidden", name, value });
                form.append(one);
              }
              document.body.append(form);
              form.submit();
            }""",
            [address.path, dict(address.fields)],
        )

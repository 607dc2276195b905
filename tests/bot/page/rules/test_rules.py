"""Edit exec-approvals.json: settings, entries, a concurrent save, a tried command."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.api_gateway import ApiGateway
from tests.support.page_browser import PageBrowser

PATH = "/exec-approvals"
_FIELD = re.compile(r'name="(agent|node|base|seen|csrf)" value="([^"]*)"')
_REMOVE = re.compile(r'name="(remove-[0-9a-f]{16})"[^>]*aria-label="Remove ([^"]*)"')


@pytest.fixture(autouse=True)
def _kept(home: ApiGateway) -> Iterator[None]:
    """Restore the file."""
    path = home.home / "exec-approvals.json"
    before = path.read_bytes()
    yield
    path.write_bytes(before)


def _file(home: ApiGateway) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home.home / "exec-approvals.json").read_text())
    return found


def _fields(browser: PageBrowser, agent: str) -> dict[str, str]:
    """Return what the form of a scope contains, as its reader saw it."""
    text = browser.get(f"{PATH}?agent={agent}").text.split('class="rules"')[1]
    return {name: html.unescape(value) for name, value in _FIELD.findall(text)}


def _row(browser: PageBrowser, agent: str, words: str) -> str:
    """Return the name of the box that removes an entry."""
    found: list[tuple[str, str]] = _REMOVE.findall(browser.get(f"{PATH}?agent={agent}").text)
    return next(name for name, label in found if html.unescape(label) == words)


def test_settings_are_saved_and_use_default_takes_them_away(
    home: ApiGateway, admin: PageBrowser
) -> None:
    """For one agent; untouched settings stay."""
    wanted = {"security": "allowlist", "ask": "always", "autoAllowSkills": "true"}
    saved = admin.post(PATH, **_fields(admin, "main"), **wanted)
    assert (saved.status_code, saved.headers["location"]) == (303, f"{PATH}?agent=main&saved=yes")
    part = _file(home)["agents"]["main"]
    assert (part["security"], part["ask"], part["autoAllowSkills"]) == ("allowlist", "always", True)
    assert "askFallback" not in part
    assert len(part["allowlist"]) == 4

    admin.post(PATH, **_fields(admin, "main"), ask="always")
    part = _file(home)["agents"]["main"]
    assert (part.get("security"), part["ask"]) == (None, "always")


@pytest.mark.parametrize(
    ("agent", "unset"),
    [("", ["use tools.exec"] * 3 + ["use default (off)"]), ("main", ["use default"] * 4)],
)
def test_what_is_not_set_is_taken_from_the_scope_above(
    home: ApiGateway, admin: PageBrowser, agent: str, unset: list[str]
) -> None:
    """An agent inherits the defaults, and these the configuration."""
    page = admin.get(f"{PATH}?agent={agent}").text.split('class="rules"')[1]
    assert re.findall(r"use (?:default|tools\.exec)(?: \(off\))?", page) == unset


def test_defaults_are_a_scope(home: ApiGateway, admin: PageBrowser) -> None:
    """They have no allowlist."""
    assert admin.post(PATH, **_fields(admin, ""), askFallback="deny").status_code == 303
    assert _file(home)["defaults"] == {"askFallback": "deny"}
    assert "Add patterns" not in admin.get(PATH).text


def _lost(home: ApiGateway) -> None:
    """Leave the home as a new one is: without the file, and without what it last said."""
    for name in ("exec-approvals.json", "exec-approvals.json.last-good"):
        (home.home / name).unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("agent", "wanted", "found"),
    [
        ("", {"ask": "always"}, {"defaults": {"ask": "always"}, "agents": {}}),
        ("main", {"ask": "always"}, {"agents": {"main": {"ask": "always", "allowlist": []}}}),
    ],
)
def test_the_first_save_makes_the_file(
    home: ApiGateway,
    admin: PageBrowser,
    agent: str,
    wanted: dict[str, str],
    found: dict[str, object],
) -> None:
    """In full: its version and a socket's token are in it, for its owner alone."""
    _lost(home)
    fields = _fields(admin, agent)
    saved = admin.post(PATH, **fields, **wanted)
    assert saved.status_code == 303, saved.text

    made = _file(home)
    assert len(made.pop("socket")["token"]) >= 32
    assert made == {"version": 1, **found}
    assert (home.home / "exec-approvals.json").stat().st_mode & 0o777 == 0o600
    assert admin.post(PATH, **fields, **wanted).status_code == 409, "it was read before it was made"


def test_the_first_entry_is_added_and_tried(home: ApiGateway, admin: PageBrowser) -> None:
    """A draft of a missing file can be tried, and saved as it was tried."""
    _lost(home)
    fields = {**_fields(admin, "main"), "add": "/usr/bin/wc"}
    begun = admin.post(PATH, **fields, do="backtest")
    assert begun.status_code == 303, begun.text
    assert not (home.home / "exec-approvals.json").exists()
    assert admin.post(PATH, **fields).status_code == 303
    assert [one["pattern"] for one in _file(home)["agents"]["main"]["allowlist"]] == ["/usr/bin/wc"]


def test_entries_are_added_and_removed(home: ApiGateway, admin: PageBrowser) -> None:
    """Several at a time; each new one gets an id, an existing one is not doubled."""
    gone = _row(admin, "main", "/usr/bin/seq")
    more = {gone: "yes", "add": "/usr/bin/wc\r\n~/Projects/**/bin/rg\r\n/usr/bin/true"}
    assert admin.post(PATH, **_fields(admin, "main"), **more).status_code == 303
    listed = _file(home)["agents"]["main"]["allowlist"]

    assert [one["pattern"] for one in listed] == [
        *("/usr/bin/echo", "/usr/bin/true", "/usr/bin/sleep"),
        *("/usr/bin/wc", "~/Projects/**/bin/rg"),
    ]
    assert all(one.get("id") for one in listed[3:])
    assert home.ask("seq 3")["status"] == "pending"


def test_a_pattern_that_never_matches_is_refused_and_kept_in_the_form(
    home: ApiGateway, admin: PageBrowser
) -> None:
    """With the reason; nothing is saved, and the rest of what was typed remains."""
    before = _file(home)
    answer = admin.post(PATH, **_fields(admin, "main"), add="rg", ask="always")
    assert answer.status_code == 422
    assert "a name without a path never matches" in answer.text
    assert '<option value="always" selected>' in answer.text
    assert _file(home) == before


def test_what_somebody_else_saved_is_shown_and_not_overwritten(
    home: ApiGateway, admin: PageBrowser
) -> None:
    """Three ways, in parallel; saving again keeps both changes."""
    read = _fields(admin, "main")
    gone = _row(admin, "main", "/usr/bin/seq")
    other = admin.post(PATH, **read, security="deny", add="/usr/bin/uniq")
    assert other.status_code == 303

    clash = admin.post(PATH, **read, **{gone: "yes", "ask": "always", "add": "/usr/bin/wc"})
    assert clash.status_code == 409
    row = r"<th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td>"
    assert re.search(row.format("security", "default", "deny", "default"), clash.text)
    assert re.search(row.format("ask", "default", "default", "always"), clash.text)
    assert "/usr/bin/uniq" in clash.text
    assert "ask" not in _file(home)["agents"]["main"]

    shown = clash.text.split('class="rules"')[1]
    again = {name: html.unescape(value) for name, value in _FIELD.findall(shown)}
    wanted = {"security": "deny", "ask": "always", gone: "yes", "add": "/usr/bin/wc"}
    assert '<option value="deny" selected>' in clash.text
    assert admin.post(PATH, **again, **wanted).status_code == 303
    part = _file(home)["agents"]["main"]
    assert (part["security"], part["ask"]) == ("deny", "always")
    patterns = [one["pattern"] for one in part["allowlist"]]
    assert patterns[-2:] == ["/usr/bin/uniq", "/usr/bin/wc"]
    assert "/usr/bin/seq" not in patterns


def test_who_may_not_change_rules_may_look(home: ApiGateway, ana: PageBrowser) -> None:
    """The form is disabled and says why; sent all the same, it is refused."""
    before = _file(home)
    assert "<fieldset disabled>" in ana.get(f"{PATH}?agent=main").text
    refused = ana.post(PATH, **_fields(ana, "main"), security="full")
    assert refused.status_code == 403
    assert _file(home) == before


def test_a_value_that_no_form_has_is_refused(home: ApiGateway, admin: PageBrowser) -> None:
    """Nothing is written."""
    before = _file(home)
    answer = admin.post(PATH, **_fields(admin, "main"), security="everything")
    assert (answer.status_code, _file(home) == before) == (400, True)


def test_last_use_is_shown(home: ApiGateway, admin: PageBrowser) -> None:
    """When, for which command, and which program that was."""
    home.ask("echo for last use", wait=20)
    text = admin.get(f"{PATH}?agent=main").text
    assert 'for <code dir="ltr">echo for last use</code>' in text
    assert "/usr/bin/echo" in text


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo hello", "Runs without asking"),
        ("git push", "Asks a person"),
        ("echo $(", "Asks a person"),
    ],
)
def test_a_command_is_tried(home: ApiGateway, ana: PageBrowser, command: str, said: str) -> None:
    """What the gateway would decide now; nothing runs, and nothing is in the history."""
    query = {"agent": "main", "try": command, "cwd": str(home.home)}
    before = home.client("reader").get("/v1/history").json()
    assert said in ana.get(PATH, params=query).text
    assert home.client("reader").get("/v1/history").json() == before


def test_entries_are_limited_to_arguments_and_removed_at_once(
    home: ApiGateway, admin: PageBrowser
) -> None:
    """A template after `` -- ``; all that were never used go, used ones stay."""
    home.ask("true", wait=20)
    admin.get(f"{PATH}?agent=main")
    line = '/usr/bin/git -- push "origin" <NAME>\r\n/usr/bin/printf -- "two words"'
    wanted = {"bulk": "never", "add": line}
    assert admin.post(PATH, **_fields(admin, "main"), **wanted).status_code == 303
    listed = _file(home)["agents"]["main"]["allowlist"]
    kept = [one["pattern"] for one in listed]
    assert "/usr/bin/true" in kept
    assert "/usr/bin/seq" not in kept
    assert [one.get("argv") for one in listed[-2:]] == [["push", "origin", "<NAME>"], ["two words"]]
    assert "push origin &lt;NAME&gt;" in admin.get(f"{PATH}?agent=main").text


@pytest.mark.parametrize(
    "seen",
    [
        *("", "no JSON", "[]", "é", '{"settings": {}, "keys": 7}', '{"keys": "\\ud800"}'),
        *("[" * 2_000 + "]" * 2_000, "[" * 50_000),
        '{"settings": {}, "keys": ' + "[" * 2_000 + "]" * 2_000 + "}",
    ],
)
def test_who_says_to_have_seen_what_no_page_shows_saw_nothing(
    home: ApiGateway, admin: PageBrowser, seen: str
) -> None:
    """However deep it is nested: the rest of the form is read, and nothing is removed at once."""
    fields = {**_fields(admin, "main"), "seen": seen}
    saved = admin.post(PATH, **fields, bulk="all", ask="always")
    assert saved.status_code == 303, saved.text
    part = _file(home)["agents"]["main"]
    assert (part["ask"], len(part["allowlist"])) == ("always", 4)


@pytest.mark.parametrize("name", ["../x\n", "x\0", "\x1b[2J", "x\x7f", "a" * 201])
def test_what_can_be_no_agent_gets_no_part(home: ApiGateway, admin: PageBrowser, name: str) -> None:
    """One name, one rule: what no request can name is refused, in words."""
    before = _file(home)
    refused = admin.post(PATH, **{**_fields(admin, "main"), "agent": name}, ask="always")
    assert refused.status_code == 422
    assert "is not an agent&#39;s name: it has 1 to 200 characters" in refused.text
    assert _file(home) == before
    own = admin.post(PATH, **{**_fields(admin, "main"), "agent": "../x é"}, ask="always")
    assert own.status_code == 303, "the control: requests can name that one"


def test_what_was_not_seen_is_not_removed_at_once(home: ApiGateway, admin: PageBrowser) -> None:
    """An entry that appeared after the page was read stays, although its kind is to go."""
    read = _fields(admin, "main")
    file = _file(home)
    file["agents"]["main"]["allowlist"].append({"pattern": "/usr/bin/uniq"})
    (home.home / "exec-approvals.json").write_text(json.dumps(file))
    clash = admin.post(PATH, **read, bulk="all")
    assert clash.status_code == 409
    assert 'aria-label="Remove /usr/bin/uniq"' in clash.text
    ticked = re.findall(r'checked aria-label="Remove ([^"]*)"', clash.text)
    assert "/usr/bin/seq" in ticked
    assert "/usr/bin/uniq" not in ticked


@pytest.mark.parametrize("line", ['/usr/bin/git -- push "open', "/usr/bin/git -- <NOTHING>"])
def test_a_bad_template_is_refused(home: ApiGateway, admin: PageBrowser, line: str) -> None:
    """Nothing is saved, and the line remains in the form."""
    before = _file(home)
    answer = admin.post(PATH, **_fields(admin, "main"), add=line)
    assert (answer.status_code, _file(home) == before) == (422, True)
    assert html.escape(line, quote=False).replace('"', "&#34;") in answer.text

"""Check what exec-approvals.json means, what is refused, and what survives a change."""

import json
import os
import stat
import time
from pathlib import Path

import pytest

from core.approvals.file.document import ignored_because
from core.approvals.file.file import ApprovalsFile
from core.errors import ApprovalsFileError, BadRequest
from core.model.approval import AllowlistEntry
from core.model.identity import AgentId
from core.model.policy import AskFallback, ExecAsk, ExecSecurity, PolicyLayer
from core.policy.matching.allowlist import Allowlist
from tests.support.tables import rows

MAIN = AgentId("main")
SEED = {
    "version": 1,
    "socket": {"path": "~/.sayso/exec-approvals.sock", "token": "base64url-token"},
    "defaults": {
        "security": "deny",
        "ask": "on-miss",
        "askFallback": "deny",
        "autoAllowSkills": False,
    },
    "agents": {
        "main": {
            "security": "allowlist",
            "ask": "on-miss",
            "askFallback": "deny",
            "autoAllowSkills": True,
            "allowlist": [
                {
                    "id": "B0C8C0B3-2C2D-4F8A-9A3C-5A4B3C2D1E0F",
                    "pattern": "~/Projects/**/bin/rg",
                    "lastUsedAt": 1737150000000,
                    "lastUsedCommand": "rg -n word",
                    "lastResolvedPath": "/Users/user/Projects/x/bin/rg",
                }
            ],
        }
    },
}
"""The example of S1 "Settings and storage"."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the file."""
    return tmp_path / "exec-approvals.json"


def write(path: Path, value: object) -> ApprovalsFile:
    """Write a value as an editor does: in place, private."""
    path.touch(mode=0o600)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return ApprovalsFile(path)


def agent(**fields: object) -> dict[str, object]:
    """Return a document with one agent, ``main``."""
    return {"version": 1, "agents": {"main": fields}}


def test_the_seeds_example_is_read(path: Path) -> None:
    """S1's example gives its settings, its entry and no warning."""
    file = write(path, SEED)
    assert file.layer(MAIN) == PolicyLayer(
        source="exec-approvals.json agents.main",
        security=ExecSecurity.ALLOWLIST,
        ask=ExecAsk.ON_MISS,
        ask_fallback=AskFallback.DENY,
    )
    (entry,) = file.entries(MAIN)
    assert entry.pattern == "~/Projects/**/bin/rg"
    assert entry.id == "B0C8C0B3-2C2D-4F8A-9A3C-5A4B3C2D1E0F"
    assert file.lint() == ()
    assert file.read().auto_allow_skills(MAIN)
    assert not file.read().auto_allow_skills(AgentId("other"))
    assert "base64url-token" not in repr(file.read())


def test_an_unlisted_agent_gets_the_defaults_and_nobody_elses_entries(path: Path) -> None:
    """One agent's approvals never leak into another's (S1 "Implications")."""
    file = write(path, SEED)
    other = AgentId("other")
    assert file.layer(other).security is ExecSecurity.DENY
    assert file.layer(other).source == "exec-approvals.json defaults"
    assert file.entries(other) == ()


def test_a_layer_from_both_parts_names_both(path: Path) -> None:
    """A setting that the agent leaves out comes from the defaults, and the source says so."""
    file = write(
        path,
        {"version": 1, "defaults": {"ask": "always"}, "agents": {"main": {"security": "full"}}},
    )
    layer = file.layer(MAIN)
    assert (layer.security, layer.ask) == (ExecSecurity.FULL, ExecAsk.ALWAYS)
    assert layer.source == "exec-approvals.json agents.main and defaults"


def test_without_a_file_nothing_is_set(path: Path) -> None:
    """S1: an omitted field leaves the tools.exec value."""
    file = ApprovalsFile(path)
    assert file.layer(MAIN) == PolicyLayer(source="exec-approvals.json defaults")
    assert file.entries(MAIN) == ()
    assert file.shown() == {}
    assert not path.exists()


def test_a_new_file_is_private_and_changes_no_policy(path: Path) -> None:
    """The first write makes a 0600 file with a random token and no setting."""
    file = ApprovalsFile(path)
    file.add("main", "/usr/bin/rg")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = json.loads(path.read_text())
    assert set(text) == {"version", "socket", "agents"}
    assert len(text["socket"]["token"]) == 32
    assert text["socket"]["path"] == str(path.with_suffix(".sock"))
    assert set(text["agents"]["main"]) == {"allowlist"}
    assert file.layer(MAIN) == PolicyLayer(source="exec-approvals.json defaults")
    assert file.shown()["socket"] == {"path": str(path.with_suffix(".sock"))}


def test_adding_twice_gives_the_same_entry(path: Path) -> None:
    """Adding is idempotent, also over a restart."""
    first = ApprovalsFile(path).add("main", "/usr/bin/rg")
    second = ApprovalsFile(path).add("main", "/usr/bin/rg")
    assert first == second
    assert ApprovalsFile(path).entries(MAIN) == (first,)


def test_removing_by_pattern_and_by_id(path: Path) -> None:
    """Both names of an entry remove it; a second removal finds nothing."""
    file = ApprovalsFile(path)
    entry = file.add("main", "/usr/bin/rg")
    file.add("main", "/usr/bin/fd")
    assert entry.id is not None
    assert file.remove("main", entry.id.upper())
    assert not file.remove("main", entry.id)
    assert not file.remove("other", "/usr/bin/fd")
    assert file.remove("main", "/usr/bin/fd")
    assert file.entries(MAIN) == ()


def test_a_change_keeps_what_a_person_wrote(path: Path) -> None:
    """Unknown keys, order and values survive our writes and are reported."""
    text = {**SEED, "team": {"mail": "ops"}, "agents": {**SEED["agents"], "zed": {"x-y": 1}}}  # type: ignore[dict-item]  # the seed's value is a dict
    file = write(path, text)
    file.add("main", "/usr/bin/fd")
    after = json.loads(path.read_text())
    after["agents"]["main"]["allowlist"].pop()
    assert after == text
    assert list(after) == list(text)
    assert file.lint() == (
        "team: unknown key, kept and ignored.",
        "agents.zed.x-y: unknown key, kept and ignored.",
    )


def test_a_hand_edit_is_seen_at_once(path: Path) -> None:
    """Writes of equal length within one clock tick are seen, 200 times of 200."""
    file = write(path, agent(security="deny"))
    for turn in range(200):
        word = ("deny", "full")[turn % 2]
        path.write_text(json.dumps(agent(security=word)))
        assert file.layer(MAIN).security == word


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ("", "line 1, column 1", "Expecting value"),
        ("{", "line 1, column 2", "Expecting property name"),
        ('{"version": 1,\n "agents": {}, // mine\n}', "line 2, column 16", "property name"),
        ("[]", "line 1", "one JSON object"),
        ('{"version": 1, "version": 1}', "somewhere", "duplicate key 'version'"),
        ('{"version": 1, "x": NaN}', "somewhere", "NaN is not JSON"),
        ("[" * 100_000, "somewhere", "nested too deeply"),
        ("{}", "version", "is required; add it"),
        ('{"version": 2}', "version", "must be 1"),
        (json.dumps(agent(ask="sometimes")), "agents.main.ask", "must be 'off', 'on-miss'"),
        (json.dumps(agent(security=True)), "agents.main.security", "'deny'"),
        (json.dumps(agent(autoAllowSkills="yes")), "agents.main.autoAllowSkills", "true or false"),
        (
            json.dumps(agent(allowlist=["/usr/bin/rg"])),
            "agents.main.allowlist.0",
            "must be an object",
        ),
        (
            json.dumps(agent(allowlist=[{"pattern": ""}])),
            "agents.main.allowlist.0.pattern",
            "not be empty",
        ),
        (json.dumps(agent(secuirty="deny")), "agents.main.secuirty", "did you mean 'security'"),
        (json.dumps({"version": 1, "Defaults": {}}), "Defaults", "did you mean 'defaults'"),
        (json.dumps({"version": 1, "agents": {"*": {}}}), "agents.*", "use defaults"),
        ('{"version": 1, "agents": {"\\ud800": {}}}', "", "texts are Unicode"),
        ('{"version": 1, "agents": []}', "agents", "must be an object"),
        (json.dumps(agent(allowlist={})), "agents.main.allowlist", "must be a list"),
    ],
)
def test_a_corrupt_file_is_refused_and_left_alone(
    path: Path, text: str, place: str, why: str
) -> None:
    """Each error names the file, the place and the solution; no write touches the file."""
    file = write(path, text)
    for attempt in (file.read, lambda: file.add("main", "/usr/bin/rg"), file.lint):
        with pytest.raises(ApprovalsFileError) as caught:
            attempt()
        message = str(caught.value)
        assert f"{path}, {place}" in message
        assert why in message
        assert "Nothing is allowed from this file" in message
    assert path.read_text() == text


def test_bytes_that_are_not_utf8_are_refused(path: Path) -> None:
    """The error names the byte."""
    file = write(path, "")
    path.write_bytes(b'{"version": 1, "a": "\xff"}')
    with pytest.raises(ApprovalsFileError, match="byte 21: not UTF-8"):
        file.read()


def test_a_copy_that_does_not_exist_is_not_offered(path: Path) -> None:
    """A file that was never good has no last good copy to restore."""
    path.write_text("{bad")
    path.chmod(0o600)
    with pytest.raises(ApprovalsFileError, match=r"until it is fixed\. Edit it\.$"):
        ApprovalsFile(path).read()


def test_a_bad_edit_denies_until_it_is_mended(path: Path) -> None:
    """A file that was good and is corrupt now yields nothing of its old content."""
    file = write(path, SEED)
    good = path.read_text()
    assert file.entries(MAIN)
    path.write_text(good[:-3])
    with pytest.raises(ApprovalsFileError, match=r"exec-approvals\.json\.last-good"):
        file.entries(MAIN)
    assert file.last_good.read_text() == good
    path.write_text(good)
    assert file.entries(MAIN)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o700])
def test_a_wider_mode_is_refused_with_the_command_to_run(path: Path, mode: int) -> None:
    """Others could have written the file; the error says how to fix it."""
    file = write(path, SEED)
    file.read()
    path.chmod(mode)
    with pytest.raises(ApprovalsFileError, match="chmod 600"):
        file.read()
    path.chmod(0o600)
    assert file.entries(MAIN)


def test_a_symbolic_link_is_refused(path: Path) -> None:
    """Neither read nor written through, even if it leads to a good file."""
    target = path.with_name("elsewhere.json")
    write(target, SEED)
    path.symlink_to(target)
    file = ApprovalsFile(path)
    with pytest.raises(ApprovalsFileError, match="symbolic link"):
        file.read()
    with pytest.raises(ApprovalsFileError, match="symbolic link"):
        file.add("main", "/usr/bin/rg")
    assert json.loads(target.read_text()) == SEED


def test_a_pipe_in_the_files_place_does_not_hang(path: Path) -> None:
    """A FIFO and a folder are refused at once."""
    os.mkfifo(path, 0o600)
    with pytest.raises(ApprovalsFileError, match="not a regular file"):
        ApprovalsFile(path).read()
    path.unlink()
    path.mkdir()
    with pytest.raises(ApprovalsFileError, match="not a regular file"):
        ApprovalsFile(path).read()


def test_a_vanished_file_is_lost_not_empty(path: Path) -> None:
    """A deleted file would take its limits with it: reading denies until it is restored."""
    file = write(path, agent(security="deny"))
    file.read()
    path.unlink()
    for reader in (file, ApprovalsFile(path)):
        with pytest.raises(ApprovalsFileError, match="cp -p"):
            reader.read()
        with pytest.raises(ApprovalsFileError, match="cp -p"):
            reader.add("main", "/usr/bin/rg")
    path.write_bytes(file.last_good.read_bytes())
    path.chmod(0o600)
    assert file.layer(MAIN).security is ExecSecurity.DENY


def test_agents_default_counts_as_main_with_the_stricter_knobs(path: Path) -> None:
    """S1's migration never loosens what either part said, and adds no pattern twice."""
    rg, fd = {"pattern": "/usr/bin/rg"}, {"pattern": "/usr/bin/fd"}
    legacy = {
        "security": "deny",
        "ask": "always",
        "askFallback": "full",
        "autoAllowSkills": True,
        "allowlist": [rg, fd],
    }
    main = {
        "security": "full",
        "ask": "off",
        "askFallback": "deny",
        "autoAllowSkills": False,
        "allowlist": [rg],
    }
    file = write(path, {"version": 1, "agents": {"default": legacy, "main": main}})
    layer = file.layer(MAIN)
    assert (layer.security, layer.ask, layer.ask_fallback) == (
        ExecSecurity.DENY,
        ExecAsk.ALWAYS,
        AskFallback.DENY,
    )
    assert not file.read().auto_allow_skills(MAIN)
    assert [entry.pattern for entry in file.entries(MAIN)] == ["/usr/bin/rg", "/usr/bin/fd"]
    assert "agents.default counts as agents.main" in file.lint()[0]
    assert "default" in json.loads(path.read_text())["agents"]
    file.add("default", "/usr/bin/jq")
    assert list(json.loads(path.read_text())["agents"]) == ["main"]
    assert len(file.entries(MAIN)) == 3


def test_agents_default_alone_becomes_main(path: Path) -> None:
    """Without a main part the legacy part is main."""
    file = write(path, {"version": 1, "agents": {"default": {"security": "allowlist"}}})
    assert file.layer(MAIN).security is ExecSecurity.ALLOWLIST


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"pattern": "rg"}, "a name without a path never matches"),
        ({"pattern": "*"}, "a name without a path never matches"),
        ({"pattern": "bin/rg"}, "a relative path never matches"),
        ({"pattern": "/usr/bin/rg\n"}, "control character"),
        ({"pattern": "/usr/bin/git", "argPattern": "^status$"}, "'argPattern' is unknown"),
    ],
)
def test_an_entry_that_cannot_be_honoured_is_ignored_and_reported(
    path: Path, entry: dict[str, object], why: str
) -> None:
    """An unknown key may narrow an entry, so the entry is not honoured without it."""
    file = write(path, agent(allowlist=[entry, {"pattern": "/usr/bin/fd", "note": "mine"}]))
    assert [kept.pattern for kept in file.entries(MAIN)] == ["/usr/bin/fd"]
    (warning,) = file.lint()
    assert why in warning
    assert "agents.main.allowlist.0" in warning


@rows(
    "pattern",
    [
        *("/usr/bin/rg", "~/bin/*", "/opt/**/x", "/**", "rg", "*", "**/rg", "./rg", "~", "~x/rg"),
        *("/", "/a//b", "/a/../b", "/a/./b", "/a/..", "/a/...", "/a\nb", "/a\x7f", "/a/", ""),
        "/é b",
    ],
)
def test_the_matcher_agrees_on_what_is_ignored(pattern: str) -> None:
    """What ``lint`` calls ignored is exactly what the policy's matcher ignores."""
    lint = Allowlist((AllowlistEntry(pattern),), "/home/x").lint()
    assert bool(ignored_because(pattern)) == any("is ignored" in line for line in lint)


def test_a_lax_fallback_is_reported(path: Path) -> None:
    """``askFallback: full`` is accepted and warned about."""
    assert "askFallback is full" in write(path, agent(askFallback="full")).lint()[0]


@pytest.mark.parametrize("pattern", ["", "rg", "bin/rg", "/a\0b", "/a\nb", "/\ud800", "/" * 4097])
def test_a_pattern_that_could_never_match_is_not_added(path: Path, pattern: str) -> None:
    """The person is told instead of wondering later."""
    with pytest.raises(BadRequest):
        ApprovalsFile(path).add("main", pattern)
    assert not path.exists()


@pytest.mark.parametrize("name", ["", "*"])
def test_nothing_is_added_for_everybody(path: Path, name: str) -> None:
    """Allowlists are per agent (S1)."""
    with pytest.raises(BadRequest, match="--agent"):
        ApprovalsFile(path).add(name, "/usr/bin/rg")


def test_a_part_that_no_agent_can_have_is_not_added_and_may_stay(path: Path) -> None:
    """What a person wrote is reported and does not prevent other changes."""
    odd, fine = "../x\n", {"version": 1, "agents": {"main": {"ask": "always"}}}
    file = write(path, fine)
    kept = path.read_bytes()
    both = {"version": 1, "agents": {odd: {}, "main": {"ask": "off"}}}
    for change in (lambda: file.add(odd, "/opt/x"), lambda: file.replace(json.dumps(both))):
        with pytest.raises(
            BadRequest, match=r"'\.\./x\\n' is not an agent's name: it has 1 to 200"
        ):
            change()
    assert path.read_bytes() == kept

    file = write(path, both)
    assert file.lint() == (
        "agents.'../x\\n': no agent can have this name, so nothing in it counts.",
    )
    file.replace(json.dumps({**both, "defaults": {"ask": "always"}}))
    file.add("main", "/opt/x")
    assert file.layer(MAIN).ask is ExecAsk.OFF
    file.replace(json.dumps(fine))
    assert file.lint() == ()


def test_replacing_keeps_the_token_and_refuses_a_bad_text(path: Path) -> None:
    """``approvals set`` changes all but the socket, and nothing if the text is not valid."""
    file = write(path, SEED)
    file.replace('{"version": 1, "defaults": {"security": "full"}}')
    assert file.layer(MAIN).security is ExecSecurity.FULL
    assert json.loads(path.read_text())["socket"] == SEED["socket"]
    file.replace(json.dumps(file.shown()))
    assert json.loads(path.read_text())["socket"] == SEED["socket"]
    before = path.read_bytes()
    for bad in ('{"version": 3}', "no", '{"version": 1, "x": "\ud800"}'):
        with pytest.raises(ApprovalsFileError, match="the new text") as refused:
            file.replace(bad)
        assert "Nothing was changed" in str(refused.value)
        assert "cp -p" not in str(refused.value), "there is no last good copy of a new text"
    assert path.read_bytes() == before


def test_replacing_a_corrupt_file_keeps_it_aside(path: Path) -> None:
    """The way back from a broken file loses nothing that was typed."""
    file = write(path, "{ broken")
    file.replace('{"version": 1}')
    assert path.with_name("exec-approvals.json.broken").read_text() == "{ broken"
    assert file.entries(MAIN) == ()
    assert json.loads(path.read_text())["socket"]["token"]


def test_replacing_makes_a_first_or_lost_file(path: Path) -> None:
    """``approvals set`` works before any file exists, and after it was lost."""
    file = ApprovalsFile(path)
    file.replace(json.dumps(agent(security="allowlist")))
    path.unlink()
    file.replace(json.dumps(agent(security="deny")))
    assert file.layer(MAIN).security is ExecSecurity.DENY


def test_an_entry_with_arguments_is_kept_read_and_written(path: Path) -> None:
    """Besides its path such an entry has its exact arguments, and is a separate entry."""
    file = ApprovalsFile(path)
    vectors = (("status", "--short"), (), ("log", "-n", "<INT>"), None)
    added = [file.add("main", "/usr/bin/git", argv) for argv in vectors]
    assert [file.add("main", "/usr/bin/git", argv) for argv in vectors] == added
    assert tuple(ApprovalsFile(path).entries(MAIN)) == tuple(added)
    assert [one.argv for one in added] == list(vectors)
    stored = json.loads(path.read_text())["agents"]["main"]["allowlist"]
    assert stored[0]["argv"] == ["status", "--short"]
    assert "argv" not in stored[3]
    assert [one.words for one in added] == [
        "/usr/bin/git status --short exactly",
        "/usr/bin/git without arguments",
        "/usr/bin/git log -n '<INT>' exactly",
        "/usr/bin/git",
    ]


@pytest.mark.parametrize("argv", ["status", [5], {"0": "x"}, [["x"]]])
def test_arguments_of_another_type_stop_the_file(path: Path, argv: object) -> None:
    """What an entry is limited to must not be guessed."""
    entry = {"pattern": "/usr/bin/git", "argv": argv}
    with pytest.raises(ApprovalsFileError, match="argv"):
        write(path, agent(allowlist=[entry])).read()


def test_an_entry_with_an_unknown_template_covers_nothing(path: Path) -> None:
    """By hand it is reported and ignored, by command it is refused."""
    file = write(path, agent(allowlist=[{"pattern": "/usr/bin/git", "argv": ["<FOO>"]}]))
    assert file.entries(MAIN) == ()
    (line,) = file.lint()
    assert "<FOO>" in line
    with pytest.raises(BadRequest, match="<FOO>"):
        file.add("main", "/usr/bin/git", ("<FOO>",))


def test_migration_keeps_entries_that_differ_in_their_arguments(path: Path) -> None:
    """agents.default folds into agents.main without taking one entry for another."""
    entries = {
        "default": {"allowlist": [{"pattern": "/usr/bin/git"}]},
        "main": {"allowlist": [{"pattern": "/usr/bin/git", "argv": ["status"]}]},
    }
    found = write(path, {"version": 1, "agents": entries}).entries(MAIN)
    assert [one.argv for one in found] == [("status",), None]


@pytest.mark.parametrize("there", [None, {"version": 1}, {"version": 1, "socket": {"path": "/x"}}])
def test_a_socket_gets_what_it_lacks(tmp_path: Path, there: dict[str, object] | None) -> None:
    """A companion finds a path and a token, even if the file had none; then it keeps them."""
    path = tmp_path / "exec-approvals.json"
    if there is not None:
        path.write_text(json.dumps(there))
        path.chmod(0o600)
    found = ApprovalsFile(path).prepare_socket()
    again = ApprovalsFile(path).prepare_socket()

    named = "/x" if there and "socket" in there else str(tmp_path / "exec-approvals.sock")
    assert named == found.socket_path
    assert len(found.socket_token or "") >= 32
    assert (found.socket_path, found.socket_token) == (again.socket_path, again.socket_token)
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)


def test_an_empty_token_is_replaced(tmp_path: Path) -> None:
    """A key of no bytes proves nothing."""
    path = tmp_path / "exec-approvals.json"
    path.write_text(json.dumps({"version": 1, "socket": {"path": "/x", "token": ""}}))
    path.chmod(0o600)

    assert ApprovalsFile(path).prepare_socket().socket_token


@pytest.mark.parametrize("mark", [".exec-approvals.json.swp", ".#exec-approvals.json"])
def test_a_file_is_edited_while_an_editor_has_its_mark(path: Path, mark: str) -> None:
    """Emacs leaves a link that leads nowhere; without a mark the file's own time counts."""
    file = write(path, agent())
    now = time.time()
    os.utime(path, (now, now - 60))
    before = file.is_edited(30), file.is_edited(3600)
    path.with_name(mark).symlink_to("ana@host.123")
    linked = file.is_edited(30)
    path.with_name(mark).unlink()
    path.with_name(mark).touch()
    there = file.is_edited(30)
    path.with_name(mark).unlink()

    assert before == (False, True)
    assert linked
    assert there
    assert not file.is_edited(30)


def test_a_file_that_is_not_there_is_not_edited(path: Path) -> None:
    """Nothing waits for a file that no one has made."""
    assert not ApprovalsFile(path).is_edited(3600)

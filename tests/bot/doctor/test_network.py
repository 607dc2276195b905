"""Report on the API and remote exec in `sayso doctor`: listener, list and contacts."""

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from bot.doctor.installation import examine
from bot.health.check import Verdict
from core.remote.trust.contacts import Contact, Contacts, ContactsFile, Trust
from tests.support.gateway_process import GatewayProcess
from tests.support.ports import free_port
from tests.support.product_process import run

ROOT = Path(__file__).parents[3]
ID = "a" * 64
LIST = (
    f'[exec]\nenabled = true\n[[exec.allow]]\nagent_id = "{ID}"\nmachine_id = "{ID}"\n'
    '[[exec.allow.commands]]\nargv = ["df", "-h"]\n'
)


def write(home: Path, acl: str | None, config: dict[str, Any]) -> None:
    """Write a home with these settings, and an access list if one is given."""
    home.chmod(0o700)
    (home / "acl.toml").write_text(acl or "[exec]\nenabled = false\n")
    config.setdefault("remote", {})["acl"] = "acl.toml"
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)


def found(home: Path, subject: str) -> list[tuple[Verdict, str]]:
    """Return what the doctor says about a subject."""
    findings = examine({"SAYSO_HOME": str(home)})
    return [(one.verdict, one.detail) for one in findings if one.subject == subject]


@pytest.mark.parametrize(
    ("acl", "listeners", "verdict", "words"),
    [
        (None, [], Verdict.OK, "is off: no access list is enabled"),
        (None, ["127.0.0.1:0"], Verdict.WARN, "is set, but no access list is enabled"),
        (LIST, [], Verdict.WARN, "remote.listen is empty: no requests are accepted"),
        (LIST, ["127.0.0.1:0"], Verdict.WARN, "agent aaaaaaaa… on machine aaaaaaaa… is listed"),
        (LIST.replace("df", "d>f"), [], Verdict.WARN, "no request can match 'd>f'"),
        (LIST.replace("df", "sh"), [], Verdict.FAIL, "'sh' is a shell"),
    ],
)
def test_what_keeps_remote_exec_shut_is_told(
    tmp_path: Path, acl: str | None, listeners: list[str], verdict: Verdict, words: str
) -> None:
    """Each of the three alone lets no one in, and is named."""
    write(tmp_path, acl, {"remote": {"listen": listeners}})

    assert any(one is verdict and words in why for one, why in found(tmp_path, "remote exec")), (
        found(tmp_path, "remote exec")
    )


def test_a_listener_that_lets_somebody_in_is_well(tmp_path: Path) -> None:
    """With a list in force, a listener and a trusted contact there is one line, and it says so."""
    write(tmp_path, LIST, {"remote": {"listen": ["127.0.0.1:8793"]}})
    contact = Contact(name="web1", agent_id=ID, machine_id=ID, trust=Trust.ACCEPT)
    ContactsFile(tmp_path).write(Contacts(contacts=(contact,)))

    assert found(tmp_path, "remote exec") == [
        (Verdict.OK, "listens at 127.0.0.1:8793: 1 pair, 1 command, enabled")
    ]


@pytest.mark.parametrize(
    ("http", "words"),
    [
        ({}, "is off (http.enabled)"),
        ({"enabled": True, "listen": "127.0.0.1:{}"}, "will listen at http://127.0.0.1:{}"),
    ],
)
def test_the_api_is_told_of(tmp_path: Path, http: dict[str, Any], words: str) -> None:
    """Whether it is on, and where."""
    port = free_port()  # one that no other gateway of this machine has
    http = {key: value.format(port) if key == "listen" else value for key, value in http.items()}
    write(tmp_path, None, {"http": http})

    assert found(tmp_path, "API") == [(Verdict.OK, words.format(port))]


def test_a_failing_sandbox_is_told_once(tmp_path: Path) -> None:
    """One line, none of it from the log, and no word of a help that was not requested."""
    docker = tmp_path / "docker"
    said = "docker: no such image. Run 'docker run --help' for more information"
    docker.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 125\n')
    docker.chmod(0o755)
    section = {"backend": "docker", "image": "none", "dockerBinary": str(docker)}
    write(tmp_path, None, {"sandbox": section})
    done = run(
        [sys.executable, "-m", "bot", "doctor"],
        cwd=ROOT,
        env={**os.environ, "SAYSO_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.stderr == ""
    told = [line for line in done.stdout.splitlines() if " sandbox: " in line]
    assert len(told) == 1, told
    assert "run --help" not in done.stdout


def users(home: Path, folder: Path, **entry: object) -> list[tuple[Verdict, str]]:
    """Return what the doctor says about one entry of `intake.unix`."""
    section = {"unix": [{"agents": ["coder"], **entry}], "socket": str(folder / "agents.sock")}
    write(home, None, {"intake": section})
    return found(home, "intake.unix") + found(home, "other users")


def test_other_users_are_named_with_their_agents(tmp_path: Path) -> None:
    """Who may ask, as which agent and where; the gateway's own user gets a warning."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)

    assert users(tmp_path, folder, user="nobody") == [
        (Verdict.OK, f"nobody (uid 65534) may ask as coder on {folder}/agents.sock")
    ]
    assert users(tmp_path, folder, uid=os.getuid())[1][0] is Verdict.WARN


def test_a_user_or_folder_that_cannot_be_used_is_a_failure(tmp_path: Path) -> None:
    """The finding says what is wrong and what to do."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    ((verdict, why),) = users(tmp_path, folder, user="no-such-user")
    assert (verdict, "does not exist on this machine" in why) == (Verdict.FAIL, True)

    folder.chmod(0o777)
    ((verdict, why),) = users(tmp_path, folder, user="nobody")
    assert (verdict, "sudo install -d" in why) == (Verdict.FAIL, True)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, "give either `user` or `uid`"),
        ({"user": "nobody", "uid": 65534}, "give either `user` or `uid`"),
        ({"user": "nobody", "may": ["approve"]}, "never approves"),
        ({"user": "nobody", "may": ["admin", "request"]}, "never approves"),
        ({"user": "nobody", "agents": []}, "agents"),
    ],
)
def test_a_wrong_entry_stops_the_start(
    tmp_path: Path, entry: dict[str, object], words: str
) -> None:
    """An agent's user is named once, has agents, and never gets what people decide with."""
    write(tmp_path, None, {"intake": {"unix": [{"agents": ["coder"], **entry}]}})

    ((verdict, why),) = found(tmp_path, "settings")
    assert (verdict, words in why) == (Verdict.FAIL, True), why


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_port_that_somebody_has_is_a_failure(tmp_path: Path, host: str) -> None:
    """A gateway would not start; both addresses of ``localhost`` have to be free."""
    port = free_port()
    write(tmp_path, None, {"http": {"enabled": True, "listen": f"127.0.0.1:{port}"}})

    with socket.create_server((host.strip("[]"), port), family=_family(host)):
        ((verdict, words),) = found(tmp_path, "API")

    assert (verdict, f"cannot listen on {host}:{port}: Address already in use" in words) == (
        Verdict.FAIL,
        True,
    )
    assert found(tmp_path, "API")[0][0] is Verdict.OK


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def test_the_port_of_the_running_gateway_is_its_own(tmp_path: Path) -> None:
    """That a gateway has its port is no failure."""
    port = free_port()
    gateway = GatewayProcess(tmp_path / "home")
    gateway.home.mkdir(mode=0o700)
    write(gateway.home, None, {"http": {"enabled": True, "listen": f"127.0.0.1:{port}"}})
    gateway.start()
    try:
        api = found(gateway.home, "API")
    finally:
        gateway.stop()

    assert [one for one, _ in api] == [Verdict.OK], api

"""Find approvers that cannot suffice with `sayso doctor`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bot.doctor.installation import examine
from bot.health.check import Verdict
from core.model.identity import Actor
from core.store import open_store
from core.store.people import pairing
from core.store.people import people as directory


def found(home: Path, config: dict[str, Any]) -> dict[str, str]:
    """Return the doctor's warnings by their subject."""
    home.chmod(0o700)
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)
    findings = examine({"SAYSO_HOME": str(home)})
    return {one.subject: one.detail for one in findings if one.verdict is Verdict.WARN}


def tiers(config: dict[str, Any], **quorums: int) -> dict[str, Any]:
    """Return a configuration with a quorum for each named tier."""
    config["approvals"]["exec"]["tiers"] = {
        tier: {"quorum": quorum} for tier, quorum in quorums.items()
    }
    return config


def people(
    *local: str, needed: int = 1, everywhere: tuple[str, ...] = (), **agent: Any
) -> dict[str, Any]:
    """Return a configuration with these approvers, and one agent's deviation."""
    return {
        "channels": {"terminal": {"approvers": list(local)}},
        "approvals": {"exec": {"quorum": needed, "approvers": list(everywhere)}},
        "agents": {"list": [{"id": "coder", **agent}]} if agent else {},
    }


@pytest.mark.parametrize(
    ("config", "subject", "words"),
    [
        (people("uid:1", needed=2), "approvals.exec.quorum", "needs 2 people, but 1"),
        (people("uid:1", approvers=[]), "agents.list[coder].quorum", "needs 1 people, but 0"),
        (
            people("uid:1", approvers=["slack:U1", "person:ana"], quorum=3),
            "agents.list[coder].quorum",
            "needs 3 people, but 2",
        ),
        (people(), "approvers", "nobody can allow"),
        (
            tiers(people("uid:1", "uid:2"), critical=3),
            "approvals.exec.tiers.critical.quorum",
            "needs 3 people, but 2",
        ),
        (
            tiers(people("uid:1", "uid:2", approvers=["slack:U1"]), elevated=2),
            "approvals.exec.tiers.elevated.quorum for coder",
            "needs 2 people, but 1",
        ),
    ],
)
def test_too_few_people_are_told(
    tmp_path: Path, config: dict[str, Any], subject: str, words: str
) -> None:
    """Fewer approvers than the quorum needs can allow nothing."""
    assert words in found(tmp_path, config)[subject]


@pytest.mark.parametrize(
    "config",
    [
        people("uid:1", needed=2, everywhere=("person:ana",)),
        tiers(people("uid:1", "uid:2"), elevated=2, critical=2),
        people("uid:1", needed=5, everywhere=("slack:group:S1",)),
        people(needed=2, approvers=["slack:U1"], quorum=1, everywhere=("slack:U1", "slack:U2")),
    ],
)
def test_enough_people_are_no_warning(tmp_path: Path, config: dict[str, Any]) -> None:
    """Named people count, and a group may have as many as are needed."""
    assert not [subject for subject in found(tmp_path, config) if "quorum" in subject]


async def test_named_approvers_are_looked_up(tmp_path: Path) -> None:
    """A name that the directory lacks, or has revoked, is reported in whatever list it is."""
    store = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    for name in ("ana", "bob"):
        await store.write(directory.add, name)
    await store.write(directory.revoke, "bob")
    await store.close()
    config = people("person:cyd", "uid:1", everywhere=("person:ana", "person:bob"))
    config["agents"] = {"list": [{"id": "coder", "approvers": ["person:dan"]}]}
    told = await asyncio.to_thread(found, tmp_path, config)

    named = {subject: words for subject, words in told.items() if "person:" in subject}
    assert {f"approver person:{who}" for who in ("bob", "cyd", "dan")} == set(named)
    assert "is revoked" in named["approver person:bob"]
    assert "`sayso people add cyd`" in named["approver person:cyd"]


def test_named_approvers_without_a_store_are_told(tmp_path: Path) -> None:
    """Before the first start no one can be looked up."""
    told = found(tmp_path, people("uid:1", everywhere=("person:ana",)))

    assert "ana, who cannot be looked up: There is no store" in told["approvers"]


async def test_a_named_person_answers_where_their_accounts_are(tmp_path: Path) -> None:
    """A person without an account in a channel does not make it a place to answer; a token does."""
    store = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    await store.write(directory.add, "ana")
    await store.close()
    config = people(everywhere=("person:ana",))
    told = await asyncio.to_thread(found, tmp_path, config)
    assert "nobody can allow anything" in told["approvers"]

    config["http"] = {"enabled": True}
    assert "approvers" not in await asyncio.to_thread(found, tmp_path, config)
    findings = await asyncio.to_thread(examine, {"SAYSO_HOME": str(tmp_path)})
    (words,) = [one.detail for one in findings if one.subject == "approvers"]
    assert words == "can answer: the API (with a person's token)"


async def test_only_accounts_of_named_people_who_may_answer_are_places(tmp_path: Path) -> None:
    """A person who is not an approver, or is revoked, has accounts as well."""
    store = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    for name in ("ana", "bob", "cyd"):
        await store.write(directory.add, name)
        begun = await store.write(pairing.begin, name)
        assert begun is not None
        await store.write(pairing.pair, begun.code, Actor(f"chat-of-{name}", name, name))
    await store.write(directory.revoke, "cyd")
    await store.close()
    config = people(everywhere=("person:ana", "person:cyd"))
    await asyncio.to_thread(found, tmp_path, config)
    findings = await asyncio.to_thread(examine, {"SAYSO_HOME": str(tmp_path)})
    (words,) = [one.detail for one in findings if one.subject == "approvers"]

    assert words == "can answer: chat-of-ana (person:ana)"


def test_a_target_without_its_channel_fails(tmp_path: Path) -> None:
    """Prompts to it would go nowhere; a configured one is not a finding."""
    config = people("uid:1")
    config["approvals"]["exec"] |= {
        "mode": "targets",
        "targets": [{"channel": "slack", "to": "C1"}, {"channel": "terminal", "to": "here"}],
    }
    found(tmp_path, config)
    failed = {
        one.subject: one.detail
        for one in examine({"SAYSO_HOME": str(tmp_path)})
        if one.verdict is Verdict.FAIL
    }

    assert "is no configured channel; add channels.slack" in failed["target slack C1"]
    assert not any(subject.startswith("target terminal") for subject in failed)


def test_only_some_of_many_are_named(tmp_path: Path) -> None:
    """Three accounts of a place, and how many more there are."""
    found(tmp_path, people(*(f"uid:{number}" for number in range(5))))
    findings = examine({"SAYSO_HOME": str(tmp_path)})
    (line,) = (one.detail for one in findings if one.subject == "approvers")

    assert line == "can answer: terminal (uid:0, uid:1, uid:2 and 2 more)"


def test_the_memory_channel_is_no_place_to_answer(tmp_path: Path) -> None:
    """It exists in demos and tests only."""
    everywhere = people("uid:1", everywhere=("person:ana",))
    only = {"channels": {"memory": {"approvers": ["ana"]}}}
    found(tmp_path, everywhere)
    (line,) = [
        one.detail
        for one in examine({"SAYSO_HOME": str(tmp_path)})
        if (one.subject, one.verdict) == ("approvers", Verdict.OK)
    ]

    assert line == "can answer: terminal (person:ana, uid:1)"
    assert "nobody can allow" in found(tmp_path, only)["approvers"]


@pytest.mark.parametrize(
    "exec_section",
    [
        {"approvers": ["1001"]},
        {"approvers": ["slack:"]},
        {"quorum": 0},
        {"quorum": 21},
        {"quorum": True},
    ],
)
def test_a_list_that_names_nobody_for_certain_is_refused(
    tmp_path: Path, exec_section: dict[str, Any]
) -> None:
    """An id over all channels needs its channel, and a quorum is at least one person."""
    tmp_path.chmod(0o700)
    (tmp_path / "config.json5").write_text(json.dumps({"approvals": {"exec": exec_section}}))
    (tmp_path / "config.json5").chmod(0o600)

    (finding,) = examine({"SAYSO_HOME": str(tmp_path)})

    assert Verdict.FAIL is finding.verdict
    assert next(iter(exec_section)) in finding.detail

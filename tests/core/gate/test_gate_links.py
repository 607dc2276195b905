"""Give nothing beyond a granted folder through a link below it: an auditor's attacks."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.gate.gate import Gate
from core.model.approval import ApprovalReply
from core.model.decision import DenialReason
from core.model.result import Denied, Finished, Pending, Submission
from core.policy.rules.compiled import compiled
from core.settings import CoreSettings
from tests.support.gate import gate_at, request, says

WRITES = {"match": {"effect": "writes"}, "decide": "allow"}
READS = {"match": {"glob": "/usr/bin/head"}, "decide": "allow"}


@asynccontextmanager
async def world(
    tmp_path: Path, *rules: dict[str, Any], granted: bool = True
) -> AsyncIterator[tuple[Gate, Path, Path]]:
    """Yield a gate, a folder that the agent may write to, and one that is off limits."""
    home, rw, secret = (tmp_path / name for name in ("home", "rw", "secret"))
    for folder in (home, rw, secret):
        folder.mkdir()
    (secret / "key").write_text("the key\n")
    files = {"read": ["/usr/bin"], "write": [str(rw)]}
    settings = CoreSettings.model_validate(
        {
            "tools": {"exec": {"rules": rules, "roots": [{"name": "work", "path": str(rw)}]}},
            "agents": {
                "list": [
                    {
                        "id": "main",
                        "capabilities": {"tools": ["Exec"], "files": files} if granted else None,
                    }
                ]
            },
        }
    )
    async with gate_at(home) as gate:
        gate.rulebook.compiled = compiled(settings, str(home), real=os.path.realpath)
        yield gate, rw, secret


def refused(result: Submission) -> bool:
    """Return whether the capabilities refused it; otherwise anything but a run is wrong."""
    if isinstance(result, Denied):
        assert result.reason is DenialReason.CAPABILITY_DENIED
        return True
    assert isinstance(result, Finished)
    return False


async def test_an_agent_cannot_make_itself_a_way_out(tmp_path: Path) -> None:
    """The target climbs less deep than the agent's folder, but deeper than the link's."""
    async with world(tmp_path, WRITES) as (gate, rw, _):
        deep = rw / "1/2/3/4/5/6/7"
        await gate.submit(request(f"mkdir -p {deep}", cwd=rw))
        up = "../" * 7

        way_out = await gate.submit(request(f"ln -s {up}secret {rw}/l", cwd=deep))
        assert refused(way_out)
        assert not (rw / "l").is_symlink()
        assert not refused(await gate.submit(request(f"ln -s {up}x l", cwd=deep)))
        assert (deep / "l").readlink() == Path(f"{up}x")


async def test_a_link_gives_no_files_beyond_the_grants(tmp_path: Path) -> None:
    """However the link appeared: it is neither written nor read through."""
    async with world(tmp_path, WRITES, READS) as (gate, rw, secret):
        (rw / "l").symlink_to(secret)
        (rw / "inside").mkdir()
        (rw / "in").symlink_to(rw / "inside")
        (rw / "note").symlink_to("inside/note")

        for line in ("touch l/probe", "head -n 1 l/key", f"head -n 1 {rw}/l/key", "cp note l"):
            assert refused(await gate.submit(request(line, cwd=rw))), line
        assert not refused(await gate.submit(request("touch in/probe", cwd=rw)))
        assert not refused(await gate.submit(request("touch note", cwd=rw)))
        assert not refused(await gate.submit(request("head -n 1 in/note", cwd=rw)))

    assert [path.name for path in secret.iterdir()] == ["key"]
    assert sorted(path.name for path in (rw / "inside").iterdir()) == ["note", "probe"]


@pytest.mark.parametrize("element", ["<PATH>", "<PATH:work>"])
async def test_a_template_follows_no_link_out_of_its_folder(tmp_path: Path, element: str) -> None:
    """The rule allows touching files below the folder, not what a link there leads to."""
    allowed = {"match": {"argv": ["touch", element]}, "decide": "allow"}
    async with world(tmp_path, allowed, granted=False) as (gate, rw, secret):
        (rw / "l").symlink_to(secret)
        (rw / "inside").mkdir()
        (rw / "in").symlink_to("inside")

        asked = await gate.submit(request("touch l/x", cwd=rw))
        below = await gate.submit(request("touch in/x", cwd=rw))

    assert isinstance(asked, Pending)
    assert isinstance(below, Finished)
    assert (rw / "inside/x").exists()
    assert not (secret / "x").exists()


@pytest.mark.parametrize("moved", [False, True])
async def test_what_was_allowed_goes_where_it_led(tmp_path: Path, moved: bool) -> None:
    """A person may allow it; a link that is moved while they think stops the run."""
    async with world(tmp_path, granted=False) as (gate, rw, secret):
        (rw / "l").symlink_to("inside")
        (rw / "inside").mkdir()
        asked = await gate.submit(request("touch l/x", cwd=rw))
        assert isinstance(asked, Pending)
        await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
        if moved:
            (rw / "l").unlink()
            (rw / "l").symlink_to(secret)
        ((run_id, plan),) = await gate.queued()
        result = await gate.run_approved(run_id, plan)

    assert (rw / "inside/x").exists() is not moved
    assert not (secret / "x").exists()
    assert isinstance(result, Denied) is moved
    assert not isinstance(result, Denied) or result.reason is DenialReason.PLAN_DRIFT


async def test_a_rule_that_forbids_a_folder_forbids_links_to_it(tmp_path: Path) -> None:
    """Directly, through a link, and up through one."""
    forbidden = {"match": {"argv": ["touch", "<PATH:work>"]}, "decide": "deny"}
    async with world(tmp_path, WRITES, forbidden, granted=False) as (gate, rw, secret):
        (secret / "l").symlink_to(rw)
        (secret / "deep").symlink_to(rw / "deep")
        (rw / "deep").mkdir()

        found = [
            await gate.submit(request(f"touch {word}", cwd=secret))
            for word in ("l/x", "deep/../x", f"{rw}/x", "free")
        ]

    assert [type(one) for one in found] == [Denied, Denied, Denied, Finished]


async def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    """Both names mean a granted folder that is behind a link."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "as-named").symlink_to(real)
    async with world(tmp_path, WRITES) as (gate, _, secret):
        files = {"read": ["/usr/bin"], "write": [str(tmp_path / "as-named")]}
        entry = {"id": "main", "capabilities": {"tools": ["Exec"], "files": files}}
        known = CoreSettings.model_validate(
            {"tools": {"exec": {"rules": [WRITES]}}, "agents": {"list": [entry]}}
        )
        gate.rulebook.compiled = compiled(known, str(tmp_path), real=os.path.realpath)

        for word in ("a", f"{real}/b", f"{tmp_path}/as-named/c"):
            assert not refused(await gate.submit(request(f"touch {word}", cwd=real)))
        assert refused(await gate.submit(request(f"touch {secret}/d", cwd=real)))

    assert sorted(path.name for path in real.iterdir()) == ["a", "b", "c"]

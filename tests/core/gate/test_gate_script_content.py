"""Hold an allow-always of a script to the script that was shown, through the whole gate."""

import json
import shutil
from pathlib import Path

import pytest

from core.approvals.answer import Answer
from core.gate.apply_grants import rule_of
from core.gate.gate import Gate
from core.model.approval import HALF_HOUR, ApprovalReply, GrantTerms
from core.model.result import Finished, Pending, Submission
from core.store import approvals
from core.store.approvals import grants
from tests.support.gate import ANA, gate_at, request


def script(folder: Path, said: str, name: str = "x.sh") -> Path:
    """Overwrite a script in place."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {said}\n")
    path.chmod(0o755)
    return path


async def answered(
    gate: Gate, line: str, folder: Path, terms: GrantTerms | None = None
) -> tuple[str, ...]:
    """Ask, let Ana answer always, let it run, and return what she was told would be stored."""
    asked = await gate.submit(request(line, cwd=folder))
    assert isinstance(asked, Pending)
    approval = await gate.store.read(approvals.get, asked.run_id)
    assert approval is not None
    done = await gate.answer(Answer(asked.run_id, ApprovalReply.ALLOW_ALWAYS, ANA, terms=terms))
    assert terms is not None or "while its code stays as it is" in done.sentence
    for run_id, plan in await gate.queued():
        await gate.run_approved(run_id, plan)
    return tuple(one.words for one in approval.evaluation.promise)


async def asked_again(gate: Gate, question: Submission) -> str:
    """Return why it is asked again, answer always, and let it run."""
    assert isinstance(question, Pending)
    asked = await gate.store.read(approvals.get, question.run_id)
    assert asked is not None
    await gate.answer(Answer(question.run_id, ApprovalReply.ALLOW_ALWAYS, ANA))
    for run_id, plan in await gate.queued():
        await gate.run_approved(run_id, plan)
    return asked.evaluation.why


def said(result: Submission) -> str:
    """Return what a run printed."""
    assert isinstance(result, Finished)
    return result.output.text.strip()


@pytest.mark.parametrize(
    ("line", "stored"),
    [
        ("./x.sh", "{0}/x.sh, while it stays as it is"),
        ("/usr/bin/perl x.pl", "/usr/bin/perl x.pl exactly, while {0}/x.pl stays as it is"),
        (
            "timeout 9 /usr/bin/perl x.pl",
            "/usr/bin/perl x.pl exactly, while {0}/x.pl stays as it is",
        ),
    ],
)
async def test_an_overwritten_script_asks(tmp_path: Path, line: str, stored: str) -> None:
    """It runs unasked while unchanged, asks when changed, and one answer renews it."""

    def write(number: int) -> None:
        script(tmp_path, str(number))
        (tmp_path / "x.pl").write_text(f"print {number};\n")

    async with gate_at(tmp_path) as gate:
        write(1)
        assert (stored.format(tmp_path),) == await answered(gate, line, tmp_path)
        same = await gate.submit(request(line, cwd=tmp_path))
        write(2)
        why = await asked_again(gate, await gate.submit(request(line, cwd=tmp_path)))
        again = await gate.submit(request(line, cwd=tmp_path))
        write(1)
        back = await gate.submit(request(line, cwd=tmp_path))

    assert ("1", "2") == (said(same), said(again))
    assert isinstance(back, Pending)
    assert "changed since it was allowed always" in why
    file = json.loads((tmp_path / "exec-approvals.json").read_text())
    assert 1 == len(file["agents"]["main"]["allowlist"])


async def test_a_module_that_appears_asks(tmp_path: Path) -> None:
    """`python3 -m x` was allowed while no x.py was there; the one written later is shown first."""
    line = "/usr/bin/python3 -m wheel_of_nobody"
    module = tmp_path / "wheel_of_nobody.py"
    async with gate_at(tmp_path) as gate:
        first = await asked_again(gate, await gate.submit(request(line, cwd=tmp_path)))
        same = await gate.submit(request(line, cwd=tmp_path))
        module.write_text("print('mine')\n")
        why = await asked_again(gate, await gate.submit(request(line, cwd=tmp_path)))
        shown = await gate.submit(request(line, cwd=tmp_path))

    assert "allowed always" not in first
    assert isinstance(same, Finished)
    assert f"allowed always without {module}" in why
    assert "mine" == said(shown)


async def test_code_from_a_pipe_asks(tmp_path: Path) -> None:
    """Python was allowed with nothing to read; it does not run what another command writes."""
    async with gate_at(tmp_path) as gate:
        await asked_again(gate, await gate.submit(request("/usr/bin/python3", cwd=tmp_path)))
        alone = await gate.submit(request("/usr/bin/python3", cwd=tmp_path))
        fed = await gate.submit(request("echo 'print(1)' | /usr/bin/python3", cwd=tmp_path))
        assert isinstance(fed, Pending)
        question = await gate.store.read(approvals.get, fed.run_id)

    assert isinstance(alone, Finished)
    assert question is not None
    assert () == question.evaluation.promise
    assert "without code from a pipe" in question.evaluation.segments[1].rule


@pytest.mark.parametrize("line", ["env ./tool", "timeout 9 ./tool", "nice env ./tool"])
async def test_a_text_without_a_first_line_is_a_script(tmp_path: Path, line: str) -> None:
    """A wrapper has a shell read what the kernel does not start (execvp(3))."""

    def write(said: str) -> None:
        (tmp_path / "tool").write_text(f"echo {said}\n")
        (tmp_path / "tool").chmod(0o755)

    async with gate_at(tmp_path) as gate:
        write("1")
        stored = await answered(gate, line, tmp_path)
        unchanged = await gate.submit(request(line, cwd=tmp_path))
        write("2")
        changed = await gate.submit(request(line, cwd=tmp_path))

    assert (f"{tmp_path}/tool, while it stays as it is",) == stored
    assert "1" == said(unchanged)
    assert isinstance(changed, Pending)


async def test_a_script_in_the_place_of_a_binary_asks(tmp_path: Path) -> None:
    """The binary read no code; what was written over it since then is code."""
    shutil.copy("/usr/bin/true", tmp_path / "tool")
    async with gate_at(tmp_path) as gate:
        await asked_again(gate, await gate.submit(request("./tool", cwd=tmp_path)))
        unchanged = await gate.submit(request("./tool", cwd=tmp_path))
        script(tmp_path, "2", "tool")
        changed = await gate.submit(request("./tool", cwd=tmp_path))
        why = await asked_again(gate, changed)

    assert isinstance(unchanged, Finished)
    assert f"allowed always without {tmp_path}/tool" in why


async def test_a_shell_elsewhere_asks_for_what_a_pipe_brings(tmp_path: Path) -> None:
    """What `echo … | ssh host` runs is in no word of `ssh host`, wherever it runs."""
    (tmp_path / "ssh").write_text("#!/bin/sh\nexec /bin/sh\n")
    (tmp_path / "ssh").chmod(0o755)
    async with gate_at(tmp_path) as gate:
        await asked_again(gate, await gate.submit(request("/usr/bin/echo 1", cwd=tmp_path)))
        await answered(gate, "./ssh host", tmp_path)
        alone = await gate.submit(request("./ssh host", cwd=tmp_path))
        fed = await gate.submit(request("/usr/bin/echo '> here' | ./ssh host", cwd=tmp_path))

    assert isinstance(alone, Finished)
    assert isinstance(fed, Pending)
    assert not (tmp_path / "here").exists()


async def test_scripts_of_two_folders_are_two_entries(tmp_path: Path) -> None:
    """The same words in another folder ask; one folder's answer leaves the other's alone."""
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
        (folder / "x.pl").write_text(f"print '{folder.name}';\n")
    line = "/usr/bin/perl x.pl"
    async with gate_at(tmp_path) as gate:
        for folder in folders:
            await answered(gate, line, folder)
        ran = [said(await gate.submit(request(line, cwd=one))) for one in folders]

    assert ["a", "b"] == ran


async def test_a_limit_lets_a_script_change(tmp_path: Path) -> None:
    """A grant for half an hour is what people give for a script that is being written."""
    async with gate_at(tmp_path) as gate:
        script(tmp_path, "1")
        await answered(gate, "./x.sh", tmp_path, HALF_HOUR)
        script(tmp_path, "2")
        ran = await gate.submit(request("./x.sh", cwd=tmp_path))
        (grant,) = await gate.store.read(grants.listed)

    assert "2" == said(ran)
    assert (f"{tmp_path}/x.sh",) == tuple(one.words for one in grant.promise)
    assert "granted until" in rule_of(grant)

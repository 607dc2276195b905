"""Prove that a backend encloses: run a command inside and check what it could do."""

import os
import re
import secrets
from collections.abc import Iterator
from tempfile import TemporaryDirectory

from core.errors import SaysoError
from core.hosts.sandbox.backend import Backend
from core.hosts.sandbox.internal_commands import Granted, own_plan
from core.hosts.sandbox.tmp_dir import Folders
from core.model.identity import ApprovalId
from core.model.result import Finished
from core.runner.runner import Runner

_PATIENCE_MS = 30_000
_HELP = re.compile(r"(?:Run|See) '\w+ run --help'(?: for more information)?\.?")
"""What docker and podman add to each failure, about a command that no user typed."""
_OUTSIDE = "/tmp"  # noqa: S108 - a folder that a request could name, too
_MAX_OUTPUT = 300

# Each line that matters begins with its own keyword. `$0` is the gateway's own folder.
_SCRIPT = r"""
cat /proc/self/status /proc/net/dev
[ -z "$(ls -A "$0" 2>/dev/null)" ] || echo "seen: the gateway's own folder"
for one in / /etc /usr; do
  ( : > "$one/.sayso-probe" ) 2>/dev/null && { rm -f "$one/.sayso-probe"; echo "changed: $one"; }
done
( : > /tmp/probe ) 2>/dev/null || echo "missing: a private /tmp"
( : > probe ) 2>/dev/null || echo "missing: a workspace that can be changed"
echo "end: $(readlink /proc/self/ns/pid)"
"""
_WANTED = {"CapEff": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"}
_SHOWN = ("seen", "changed", "missing")
_COUNTERS = 16
"""Numbers in a line of /proc/net/dev."""


async def probe(
    runner: Runner,
    backend: Backend,
    scratch: Folders,
    own: str,
    *,
    network: bool,
    foreign: bool = False,
) -> str:
    """Return why a backend does not enclose here, ``""`` if it does; ``own`` is to be hidden.

    ``foreign``: commands run as another user.
    """
    run_id = ApprovalId(f"probe{secrets.token_hex(8)}")
    try:
        # Where sandbox.workspace names the only folder that can be changed, no other one exists.
        named = backend.workspace(own_plan(("/bin/sh",), "/", _PATIENCE_MS))
        with (
            scratch.made(run_id) as folder,
            TemporaryDirectory(prefix="sayso-probe-", dir=named or _OUTSIDE) as workspace,
        ):
            if foreign:  # for a moment, under a name that cannot be guessed
                os.chmod(workspace, 0o777)  # noqa: PTH101, S103
            plan = own_plan(("/bin/sh", "-c", _SCRIPT, own), workspace, _PATIENCE_MS)
            with backend.enclose(run_id, plan, folder) as enclosure:
                done = await runner.run(
                    run_id, plan, Granted(), enclosure, own=True, private=scratch.limits(folder)
                )
            await backend.sweep(run_id, done)
    except SaysoError as failure:
        return str(failure)
    except OSError as failure:
        return f"no folder to test in can be made ({failure.filename}: {failure.strerror})"
    return "; ".join(faults(done, network=network))


def faults(done: Finished, *, network: bool) -> Iterator[str]:
    """Yield what the probe's output shows to be wrong; nothing if it is enclosed."""
    lines = [line.split(":", 1) for line in done.output.text.splitlines() if ":" in line]
    found = {name.strip(): value.strip() for name, value in lines}
    if done.exit_code != 0 or "end" not in found:
        yield _ended(done)
        return
    for name, value in _WANTED.items():
        if found.get(name) != value:
            yield f"{name} is {found.get(name)} inside, and not {value}"
    if found["end"] == os.readlink("/proc/self/ns/pid"):  # noqa: PTH115 - what it says is a name
        yield "it has no process namespace of its own"
    cards = {name.strip() for name, value in lines if len(value.split()) == _COUNTERS}
    if not network and cards - {"lo"}:
        yield f"it has the network cards {', '.join(sorted(cards - {'lo'}))}"
    yield from (f"{what} {found[what]}" for what in _SHOWN if what in found)


def _ended(done: Finished) -> str:
    said = _HELP.sub("", " ".join(done.output.text.split())).strip()[-_MAX_OUTPUT:]
    how = "took too long" if done.timed_out else f"ended with {done.exit_code}"
    return f"a first command {how}" + (f": {said}" if said else "")

"""Check a node: its files, key, gateway and clock; and what a gateway knows about each node."""

import asyncio
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.client import Client
from bot.factories.sandbox import prove_sandbox
from bot.health.check import Finding, Verdict
from bot.settings import Settings, home_folder, read
from core.approvals.file.file import ApprovalsFile
from core.errors import GatewayUnreachable, SaysoError, Unanswered
from core.files.private import read_private
from core.nodes import ledger, prepared
from core.nodes.fingerprints import fingerprint_words
from core.nodes.frames import BadFrame, Hello
from core.nodes.link import LinkLost, NodeLink, WrongKey, connect
from core.nodes.node_file import NODE_FILE, NODE_JOURNAL, NODE_KEY, NodeFile, required
from core.text.render import redact

APPROVALS = "exec-approvals.json"
_HELLO_S = 10.0
_FAR_S = 60.0
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def examine_node(environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """Check this home as a node's, a gateway's, or both, whichever it is."""
    home = home_folder(None, environ)
    found: list[Finding] = []
    if (home / NODE_FILE).exists() or (home / NODE_KEY).exists():
        found += _of_node(home, environ)
    found += _of_gateway(home)
    if found:
        return tuple(found)
    why = (
        "this home belongs to no gateway, and no gateway runs in it; run `sayso node run` or "
        "`sayso serve`"
    )
    return (Finding(Verdict.FAIL, "node", why),)


def _of_node(home: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    yield from _files(home)
    try:
        settings, file = read(home, environ).settings, required(home)
    except SaysoError as failure:
        yield Finding(Verdict.FAIL, NODE_FILE, str(failure))
        return
    words = f"is {file.display_name}, {file.node_id[:12]} ({fingerprint_words(file.node_id)})"
    yield Finding(Verdict.OK, "node", redact(words).text)
    yield from _approvals(home, settings)
    yield from _sandbox(settings)
    yield from asyncio.run(_dialled(file))


def _files(home: Path) -> Iterator[Finding]:
    """Report the mode of each file and folder of the node."""
    for name in (NODE_KEY, NODE_FILE, APPROVALS, NODE_JOURNAL):
        try:
            read_private(home / name)
        except FileNotFoundError:
            continue
        except SaysoError as failure:
            yield Finding(Verdict.FAIL, name, str(failure))
        else:
            yield Finding(Verdict.OK, name, "is this user's alone")
    for name in (ledger.FOLDER, prepared.FOLDER):
        folder = home / name
        if folder.exists():
            mode = stat.S_IMODE(folder.stat().st_mode)
            well = not mode & _OTHERS
            how = "is this user's alone" if well else f"has mode {mode:o}; chmod 700 '{folder}'"
            yield Finding.when(well, name, how)


def _approvals(home: Path, settings: Settings) -> Iterator[Finding]:
    if not (home / APPROVALS).exists():
        why = f"{home / APPROVALS} does not exist, so nothing may run here"
        yield Finding(Verdict.WARN, APPROVALS, why)
        return
    try:
        for line in ApprovalsFile(home / APPROVALS).lint():
            yield Finding(Verdict.WARN, APPROVALS, line)
    except SaysoError as failure:
        yield Finding(Verdict.FAIL, APPROVALS, f"nothing may run here: {failure}")
        return
    who = "may" if settings.node.opens_approvals else "may not"
    yield Finding(Verdict.OK, APPROVALS, f"is readable; the gateway {who} replace it")


def _sandbox(settings: Settings) -> Iterator[Finding]:
    if not settings.node.sandbox:
        yield Finding(Verdict.OK, "sandbox", "is not used (node.sandbox)")
        return
    try:
        name, why = asyncio.run(prove_sandbox(settings))
    except SaysoError as failure:
        name, why = "", str(failure)
    words = f"{name} encloses commands" if name else f"nothing runs here: {why}"
    yield Finding.when(bool(name), "sandbox", words)


async def _dialled(file: NodeFile) -> Sequence[Finding]:
    """Dial the gateway, read its identity and its time, and send nothing."""
    try:
        link = await connect(file.host, file.port, file.gateway_key)
    except WrongKey as error:
        why = f"{file.gateway}: {error}; compare gateway_key with `sayso node key` there"
        return (Finding(Verdict.FAIL, "gateway", why),)
    except LinkLost as lost:
        return (Finding(Verdict.FAIL, "gateway", str(lost)),)
    try:
        return await _heard(file, link)
    finally:
        await link.close()


async def _heard(file: NodeFile, link: NodeLink) -> Sequence[Finding]:
    try:
        hello = await link.receive(_HELLO_S)
    except (LinkLost, BadFrame) as failure:
        return (Finding(Verdict.FAIL, "gateway", f"{file.gateway}: {failure}"),)
    if not isinstance(hello, Hello):
        return (Finding(Verdict.FAIL, "gateway", f"{file.gateway} did not begin with hello"),)
    apart_s = time.time() - hello.now_ms / 1000
    near = abs(apart_s) < _FAR_S
    clock = f"is {apart_s:+.1f} s from the gateway's" + (
        ""
        if near
        else "; check NTP. Orders go by the gateway's clock, so they are run all the same"
    )
    return (
        Finding(Verdict.OK, "gateway", f"{file.gateway} answers and holds the pinned key"),
        Finding(Verdict.OK if near else Verdict.WARN, "clock", clock),
    )


def _of_gateway(home: Path) -> Iterator[Finding]:
    """Report what a gateway that runs here knows about each node."""
    if not os.path.lexists(home / "gateway.sock"):
        return
    try:
        with Client(str(home / "gateway.sock")) as client:
            found: dict[str, Any] = client.call("node.list", {})
    except (GatewayUnreachable, Unanswered):
        return
    for row in found["nodes"]:
        if row["connected"]:
            takes = ", ".join(row["commands"]) or "nothing by node.invoke"
            words = f"connected from {row['address']}, {row['running']} running; takes {takes}"
            yield Finding(Verdict.OK, f"node {row['name']}", words)
        else:
            words = "is not connected; requests for it are denied at once"
            yield Finding(Verdict.WARN, f"node {row['name']}", words)
    for row in found["requests"]:
        words = f"waits to be allowed ({row['words']}); run: sayso node approve {row['code']}"
        yield Finding(Verdict.WARN, f"node {row['name']}", words)

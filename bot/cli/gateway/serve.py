"""Offer `sayso serve`: run the gateway until it is stopped."""

import argparse
import logging
import sys

from bot.cli import Failures, garbage
from bot.cli.gateway.running import refuse_second
from bot.cli.parser import arg, command, under
from bot.cli.paths import with_acl

TYPE_CHECKING = False
if TYPE_CHECKING:  # slow to import; the other commands start without them
    from bot.app import Gateway
    from bot.cli.parser import Commands
    from bot.service.notify import Notifier
    from bot.settings import Settings
    from bot.wiring.sighup import Hangup

_M_MMAP_THRESHOLD, _LONG_BYTES = -3, 1 << 16
_EXAMPLES = """\
sayso serve                          state in ~/.sayso, settings in ~/.sayso/config.json5
SAYSO_HOME=/srv/sayso sayso serve    state and settings elsewhere
sayso serve --exec-acl ./exec-acl.toml
"""


def register(commands: "Commands") -> None:
    """Add the command to the parser."""
    acl = arg("--exec-acl", metavar="F", help="the access list of remote exec; it must exist")
    log = "log one JSON object per line"
    command(commands, "serve", "run the gateway", _EXAMPLES, serve, acl, json=log)
    under(commands, "The gateway")


def serve(args: argparse.Namespace) -> int:
    """Run the gateway in this process until SIGTERM or SIGINT; SIGHUP reloads or stops it."""
    import asyncio  # noqa: PLC0415 - heavy; the other commands start without it
    import gc  # noqa: PLC0415
    import os  # noqa: PLC0415

    from bot.wiring.sighup import Hangup  # noqa: PLC0415

    hangup = Hangup.here()
    from bot.service.notify import Notifier  # noqa: PLC0415

    notifier = Notifier.take(os.environ)
    from bot.doctor.secret_files import exposed  # noqa: PLC0415
    from bot.settings import ensure_home, home_folder, read  # noqa: PLC0415
    from bot.wiring.logs import configure, set_level  # noqa: PLC0415
    from core.ipc.socket_file import check_path  # noqa: PLC0415

    _return_memory()
    environ = with_acl(os.environ, args.exec_acl)
    home = home_folder(None, environ)
    ensure_home(home)
    check_path(home / "gateway.sock")  # before anything is written there
    refuse_second(str(home))
    configure(json_lines=args.json)
    reading = read(home, environ)
    set_level(reading.settings.logging.level)
    for words in exposed(reading):
        _say(f"warning: {words}")
    asyncio.run(_serve(reading.settings, environ, hangup, notifier))
    gc.freeze()  # the interpreter's final pass over the libraries' objects takes 0.7 s
    return 0


def _return_memory() -> None:
    """Have glibc give the memory of long requests back to the kernel as soon as it is free.

    By default it would keep it, in pieces too small to reuse: gigabytes after a flood.
    """
    import ctypes  # noqa: PLC0415 - only the gateway needs it

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # another C library has no such setting
        mallopt(_M_MMAP_THRESHOLD, _LONG_BYTES)


async def _serve(
    settings: "Settings", environ: dict[str, str], hangup: "Hangup", notifier: "Notifier"
) -> None:
    import asyncio  # noqa: PLC0415

    from bot.app import gateway  # noqa: PLC0415
    from bot.factories.channels import Console  # noqa: PLC0415
    from bot.service.report import ServiceReport  # noqa: PLC0415
    from bot.wiring.logs import spare_prompts  # noqa: PLC0415

    console = Console.here()
    if console is not None:
        spare_prompts()
    stop = asyncio.Event()
    hangup.listen(stop)
    async with gateway(settings, console=console, environ=environ) as running:
        await _print_addresses(settings, running)
        garbage.keep()
        notifier.ready()
        tasks = (
            asyncio.create_task(hangup.reloads(running.reloading, notifier)),
            asyncio.create_task(ServiceReport(notifier, running.gate).run()),
        )
        await stop.wait()
        notifier.stopping()
        for task in tasks:
            task.cancel()
        _say("stopping")
    hangup.end()


async def _print_addresses(settings: "Settings", running: "Gateway") -> None:
    from bot.doctor.people import NOBODY, who_can_answer  # noqa: PLC0415
    from core.store.people import people  # noqa: PLC0415

    names = ", ".join(running.channels) or "none (answer in a terminal: `sayso approve`)"
    who = who_can_answer(settings, await running.store.read(people.listed))
    who = f"who can answer: {who}" if who else f"{NOBODY}; see `sayso doctor`"
    _say(f"listening on {settings.home}/gateway.sock; channels: {names}; {who}")
    if running.api_url is not None:
        _say(f"the API is at {running.api_url}")


def _say(words: str) -> None:
    """Write a line to the log's descriptor, which ``bot.wiring.logs`` made non-blocking."""
    if Failures.as_json:
        logging.getLogger(__name__).info("%s", words)
    else:
        sys.stderr.write(f"sayso: {words}\n")

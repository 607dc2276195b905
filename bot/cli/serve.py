"""Offer `sayso serve`: run the gateway until it is stopped."""

import argparse
import sys

from bot.cli.help_format import Formatter

TYPE_CHECKING = False
if TYPE_CHECKING:  # heavy; the other commands start without them
    from bot.app import Gateway
    from bot.settings import Settings
    from bot.wiring.sighup import Hangup

_M_MMAP_THRESHOLD, _LONG_BYTES = -3, 1 << 16
_EXAMPLES = """\
examples:
  sayso serve                          state in ~/.sayso, settings in ~/.sayso/config.json5
  SAYSO_HOME=/srv/sayso sayso serve    state and settings elsewhere
  sayso serve --exec-acl ./exec-acl.toml
"""


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "serve",
        help="run the gateway",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="log one JSON object a line")
    parser.add_argument(
        "--exec-acl", metavar="F", help="the access list of remote exec; it must be there (S4)"
    )
    parser.set_defaults(run=serve)


def serve(args: argparse.Namespace) -> int:
    """Run the gateway in this process until SIGTERM or SIGINT; SIGHUP reloads or stops it."""
    import asyncio  # noqa: PLC0415 - heavy; the other commands start without it
    import gc  # noqa: PLC0415
    import os  # noqa: PLC0415

    from bot.wiring.sighup import Hangup  # noqa: PLC0415

    hangup = Hangup.here()
    from bot.settings import load  # noqa: PLC0415
    from bot.wiring.logs import configure  # noqa: PLC0415

    _return_memory()
    configure(json_lines=args.json)
    environ = dict(os.environ)
    if args.exec_acl is not None:
        environ["SAYSO_REMOTE__ACL"] = os.path.abspath(args.exec_acl)  # noqa: PTH100 - see bot.cli.paths
    settings = load(environ=environ)
    asyncio.run(_serve(settings, environ, hangup))
    gc.freeze()  # the interpreter's last look at each object of the libraries takes 0.7 s
    return 0


def _return_memory() -> None:
    """Have glibc give the memory of long requests back to the kernel as soon as it is free.

    By itself it would keep it, in pieces that fit nothing: gigabytes after a flood.
    """
    import ctypes  # noqa: PLC0415 - only the gateway needs it

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # another C library has none
        mallopt(_M_MMAP_THRESHOLD, _LONG_BYTES)


async def _serve(settings: "Settings", environ: dict[str, str], hangup: "Hangup") -> None:
    import asyncio  # noqa: PLC0415

    from bot.app import gateway  # noqa: PLC0415
    from bot.factories.channels import Console  # noqa: PLC0415

    stop = asyncio.Event()
    hangup.listen(stop)
    async with gateway(settings, console=Console.here(), environ=environ) as running:
        _print_addresses(settings, running)
        reloads = asyncio.create_task(hangup.reloads(running.reloading))
        await stop.wait()
        reloads.cancel()
        _say("stopping")
    hangup.end()


def _print_addresses(settings: "Settings", running: "Gateway") -> None:
    how = "with `sayso approve`" + (" or over the API" if running.api_url else "")
    names = ", ".join(running.channels) or f"none; approvers answer {how}"
    _say(f"listening on {settings.home}/gateway.sock; channels: {names}")
    if running.api_url is not None:
        _say(f"the API is at {running.api_url}")


def _say(words: str) -> None:
    """Write a line to the log's end, which ``bot.wiring.logs`` made such that nobody waits."""
    sys.stderr.write(f"sayso: {words}\n")

"""Offer `sayso serve`: run the gateway until it is told to stop."""

import argparse
import sys

from bot.cli.layout import Formatter

TYPE_CHECKING = False
if TYPE_CHECKING:  # heavy; the other commands start without them
    from bot.app import Gateway
    from bot.settings import Settings

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

    from bot.logs import configure  # noqa: PLC0415
    from bot.settings import load  # noqa: PLC0415

    configure(json_lines=args.json)
    environ = dict(os.environ)
    if args.exec_acl is not None:
        environ["SAYSO_REMOTE__ACL"] = os.path.abspath(args.exec_acl)  # noqa: PTH100 - see bot.cli.home
    settings = load(environ=environ)
    asyncio.run(_serve(settings, environ))
    gc.freeze()  # the interpreter's last look at each object of the libraries takes 0.7 s
    return 0


async def _serve(settings: "Settings", environ: dict[str, str]) -> None:
    import asyncio  # noqa: PLC0415
    import signal  # noqa: PLC0415

    from bot.app import gateway  # noqa: PLC0415
    from bot.hangup import Hangup  # noqa: PLC0415
    from bot.surfaces import Console  # noqa: PLC0415

    stop, hangup = asyncio.Event(), Hangup.here()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, hangup.hear, stop)
    async with gateway(settings, console=Console.here(), environ=environ) as running:
        _tell(settings, running)
        reloads = asyncio.create_task(hangup.reloads(running.reloading))
        await stop.wait()
        reloads.cancel()
        sys.stderr.write("sayso: stopping\n")


def _tell(settings: "Settings", running: "Gateway") -> None:
    how = "with `sayso approve`" + (" or over the API" if running.api_url else "")
    names = ", ".join(running.channels) or f"none; approvers answer {how}"
    sys.stderr.write(f"sayso: listening on {settings.home}/gateway.sock; channels: {names}\n")
    if running.api_url is not None:
        sys.stderr.write(f"sayso: the API is at {running.api_url}\n")

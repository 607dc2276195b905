"""Offer `sayso init`: from nothing to the first prompt."""

import argparse
import logging
import os
import signal
import sys
from pathlib import Path

from bot.cli import fail, remark
from bot.cli.arg_types import seconds
from bot.cli.gateway.running import refuse_second
from bot.cli.parser import arg, command, under

TYPE_CHECKING = False
if TYPE_CHECKING:  # slow to import; the other commands start without them
    from bot.cli.parser import Commands
    from bot.setup.choices import Chosen, Platform

_SECONDS = 300.0
_UNANSWERED = 4
_EXAMPLES = """\
sayso init                                             answer two questions
sayso init --channel terminal --yes                    ask in the gateway's terminal
sayso init --channel telegram --token-file F --yes     without questions
sayso init --channel slack --token-file BOT --app-token-file APP --yes
"""
_UNASKED = (
    "`sayso init --channel terminal --yes`, or with a bot `sayso init --channel telegram "
    "--token-file FILE --yes`. Nothing was written"
)
_CHANNELS = ("terminal", "telegram", "slack", "discord")


def register(commands: "Commands") -> None:
    """Add the command to the parser."""
    bot = "a file with the bot's token (default: ask)"
    app = "Slack: a file with the app-level token"
    waits = "how long to wait for you in the chat (default: 300)"
    every = "ask nothing here; a chat still waits for your code and your answer there"
    command(
        commands,
        "init",
        "set up Sayso: who is asked, and where",
        _EXAMPLES,
        init,
        arg("--channel", choices=_CHANNELS, help="where prompts appear (default: ask)"),
        arg("--token-file", metavar="F", type=Path, help=bot),
        arg("--app-token-file", metavar="F", type=Path, help=app),
        arg("--yes", action="store_true", help=every),
        arg("--seconds", type=seconds, default=_SECONDS, help=waits),
        json="print one JSON object per step",
    )
    under(commands, "The gateway")


def init(args: argparse.Namespace) -> int:
    """Write a configuration that asks people, and try it; exit 4 if no test answer came.

    Raises:
        SaysoError: nothing was written; the message says why.
    """
    if args.yes and args.channel is None:
        return fail(f"--yes needs --channel, to know whom to ask where: {_UNASKED}", "sayso init")
    if not args.yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        words = f"this is not a terminal, so nothing can be asked here. Say it all: {_UNASKED}"
        return fail(words, "sayso init")
    from bot.cli.init.screen import Lines  # noqa: PLC0415 - heavy, as those below
    from bot.settings.home import home_folder  # noqa: PLC0415
    from bot.setup.config_file import refuse_existing  # noqa: PLC0415

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    logging.getLogger().addHandler(logging.NullHandler())  # the screen reports the fault, once
    home = home_folder(None, os.environ)
    refuse_existing(home)
    refuse_second(str(home))
    screen = Lines(as_json=args.json, asks=not args.yes)
    try:
        chosen = _chosen(args)
        from bot.setup.initialise import SetUp  # noqa: PLC0415 - the gateway's libraries; asked first

        works = SetUp(home, os.environ, args.seconds, screen, not args.yes).run(chosen)
    except (EOFError, KeyboardInterrupt) as ended:
        became = "the configuration is written" if screen.is_written else "nothing was written"
        code = 130 if isinstance(ended, KeyboardInterrupt) else 2
        return fail(f"stopped; {became}", "\nsayso init", code)
    screen.closing(chosen.platform, works=works)
    return 0 if works else _UNANSWERED


def _end(_number: int, _frame: object) -> None:
    """Stop as on Ctrl-C, which asyncio handles: the temporary home with the tokens is removed."""
    signal.raise_signal(signal.SIGINT)


def _chosen(args: argparse.Namespace) -> "Chosen":
    from bot.cli.init.screen import ask_platform, ask_secrets  # noqa: PLC0415
    from bot.doctor.secret_files import fault_of  # noqa: PLC0415
    from bot.settings.secrets import fetch  # noqa: PLC0415
    from bot.setup.choices import Chosen, Platform  # noqa: PLC0415

    platform = Platform(args.channel) if args.channel else ask_platform()
    named = _named(args, platform)
    if named is None:
        secrets = ask_secrets(platform)
        return Chosen(platform, secrets, dict.fromkeys(secrets, "what you typed"))
    here = Path.cwd()
    secrets = {key: fetch({"file": str(file)}, here, os.environ) for key, file in named.items()}
    for file in named.values():
        if wrong := fault_of(here / file):
            remark("warning", wrong)
    return Chosen(platform, secrets, {key: str(file) for key, file in named.items()})


def _named(args: argparse.Namespace, platform: "Platform") -> dict[str, Path] | None:
    """Return the file given on the command line for each secret, ``None`` to ask for them.

    Raises:
        ConfigError: nothing may be asked, and a file is missing.
    """
    from bot.setup.choices import SECRETS  # noqa: PLC0415
    from core.errors import ConfigError  # noqa: PLC0415

    files = (args.token_file, args.app_token_file)
    named = {
        one.key: file
        for one, file in zip(SECRETS[platform], files, strict=False)
        if file is not None
    }
    if len(named) < len(SECRETS[platform]):
        if args.yes:
            raise ConfigError(f"{platform} needs --token-file" + _AND_APP.get(platform, ""))
        return None
    return named


_AND_APP = {"slack": " and --app-token-file"}

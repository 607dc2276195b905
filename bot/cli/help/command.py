"""Offer `sayso help [TOPIC]` and `sayso completion SHELL`, and the screen of `sayso` alone."""

import argparse
import os
import sys

from bot.cli import build_parser, fail
from bot.cli.call import print_json
from bot.cli.gateway.running import listener
from bot.cli.help.topics import TOPICS
from bot.cli.listings import table
from bot.cli.parser import arg, command, meant, members, under
from bot.cli.paths import home, socket_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.parser import Commands

_HELP = """\
sayso help people add          the help of a command
sayso help exit-codes          a topic: exit-codes, environment, files, json
sayso help --man | man -l -    everything on one page
"""
_COMPLETION = """\
source <(sayso completion bash)                                   bash, in ~/.bashrc
sayso completion zsh > "${fpath[1]}/_sayso"                       zsh, once
sayso completion fish > ~/.config/fish/completions/sayso.fish     fish, once
"""
_DAILY = """\
Every day:
  sayso status                      what waits, what runs, which chats work
  sayso show K3F7QZ                 one request: why, who decided, the end
  sayso doctor                      check everything, with what to do about it
  sayso lockdown on                 deny every request until you lift it

All commands: sayso help
"""
_SHELLS = ("bash", "zsh", "fish")


def register(commands: "Commands") -> None:
    """Add the commands to the parser."""
    topic = arg("topic", nargs="*", metavar="TOPIC", help="a command, or a topic")
    man = arg("--man", action="store_true", help="print the man page, for `man -l -`")
    command(commands, "help", "show the help of a command or topic", _HELP, help_, topic, man)
    shell = arg("shell", choices=_SHELLS, metavar="SHELL", help="bash, zsh or fish")
    purpose = "print a completion script for a shell"
    command(commands, "completion", purpose, _COMPLETION, completion, shell)
    under(commands, "Help")


def help_(args: argparse.Namespace) -> int:
    """Print help; exit 2 if none has this name."""
    if args.man:
        from importlib.metadata import version  # noqa: PLC0415 - slow, rarely needed

        from bot.cli.help.man import page  # noqa: PLC0415 - only the part that is asked for

        return _print(args, page(version("sayso")))
    name = " ".join(args.topic)
    text = _topic(name) if name in TOPICS else _of_command(args.topic)
    if text is not None:
        return _print(args, text)
    hint = meant(name, (*members(build_parser()), *TOPICS)) or "."
    topics = f"Topics: {', '.join(sorted(TOPICS))}; commands: see `sayso help`."
    words = f"there is no help about {name!r}{hint} {topics}"
    return fail(words, "sayso help")


def _print(args: argparse.Namespace, text: str) -> int:
    """Print a text, with --json as the only key of an object; return 0."""
    if args.json:
        return print_json({"text": text})
    sys.stdout.write(text)
    return 0


def _topic(name: str) -> str:
    title, rows, text = TOPICS[name]
    parts = (f"{title[0].upper()}{title[1:]}:\n{table(rows, '  ')}" if rows else "", text)
    return "\n".join(f"{part.rstrip()}\n" for part in parts if part)


def _of_command(words: list[str]) -> str | None:
    """Return the help of the command that these words name, ``None`` if there is none."""
    parser: argparse.ArgumentParser = build_parser(words[0] if words else None)
    for word in words:
        inner = next(
            (
                action.choices
                for action in parser._actions  # noqa: SLF001 - argparse offers no other way
                if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001
            ),
            {},
        )
        if word not in list(inner):
            return None
        parser = inner[word]
    return parser.format_help()


def completion(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    from importlib.resources import files  # noqa: PLC0415 - slow, rarely needed

    script = files("bot.cli.help").joinpath(f"completion.{args.shell}")
    return _print(args, script.read_text(encoding="utf-8"))


def first_screen(start: str) -> str:
    """Return the first screen: the next step in this home, then first and everyday commands."""
    return f"Your agents run commands on your say-so.\n\nNext: {_next()}\n\n{start}\n{_DAILY}"


def _next() -> str:
    """Return the command to run next in this home, and why."""
    if not os.path.exists(f"{home()}/config.json5"):  # noqa: PTH110 - see bot.cli.paths
        return "sayso init  (this home is not set up yet)"
    if listener(socket_path()) is None:
        return "sayso serve  (no gateway is running)"
    return "sayso status  (a gateway is running)"

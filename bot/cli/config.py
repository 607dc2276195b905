"""Offer `sayso config check|show`: is the configuration right, and what is in effect."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from bot.cli.help_format import Formatter

if TYPE_CHECKING:  # the settings cost 0.3 s to import; the parser of other commands must not pay
    from bot.settings import InvalidConfig
    from bot.settings.show import Shown

_EXAMPLES = """\
examples:
  sayso config check                    report every error in config.json5 and the environment
  sayso config show                     effective settings, and where each was set
  sayso config show --json | jq .       the same for programs
  SAYSO_TOOLS__EXEC__ASK=always sayso config show    what an override changes
"""
_CHECK_EXAMPLE = "example: sayso config check && systemctl --user reload sayso"
_SHOW_EXAMPLE = "example: sayso config show | grep -v default"


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the commands to the parser."""
    group = commands.add_parser(
        "config",
        help="check and show the settings",
        epilog=_EXAMPLES,
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    inner = group.add_subparsers(dest="config_command", metavar="COMMAND", required=True)
    _add(inner, "check", "report every error; exit 2 if there is any", _CHECK_EXAMPLE, check)
    _add(inner, "show", "print every setting and where it was set", _SHOW_EXAMPLE, show)


def _add(
    inner: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    purpose: str,
    example: str,
    run: Callable[[argparse.Namespace], int],
) -> None:
    parser = inner.add_parser(
        name, help=purpose, description=purpose, epilog=example, allow_abbrev=False
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def check(args: argparse.Namespace) -> int:
    """Return 0 if the configuration can be used, else 2 with one line for each mistake.

    Rules that do not do what they seem to are warned of, and so are shipped tables whose examples
    do not hold; they are no mistakes of the configuration.

    Raises:
        StateError: somebody else could rewrite the configuration.
    """
    from bot.factories.rules import provisions_of  # noqa: PLC0415 - slow to import
    from bot.settings import InvalidConfig, home_folder, read  # noqa: PLC0415 - slow to import
    from bot.settings.home import CONFIG_NAME  # noqa: PLC0415 - slow to import
    from core.policy.rules.lint_rules import lint  # noqa: PLC0415 - slow to import
    from core.policy.rules.self_test import broken_examples  # noqa: PLC0415 - slow to import

    home = home_folder(None, os.environ)
    try:
        settings = read(home, os.environ).settings
    except InvalidConfig as error:
        return _print_problems(error, as_json=args.json)
    broken = (f"{line}; reinstall Sayso" for line in broken_examples())
    warnings = (*lint(provisions_of(settings)), *broken)
    if args.json:
        report = {"ok": True, "problems": [], "warnings": warnings}
        sys.stdout.write(json.dumps(report) + "\n")
    else:
        sys.stderr.writelines(f"warning: {line}\n" for line in warnings)
        missing = "" if (home / CONFIG_NAME).exists() else " (no file: defaults are in effect)"
        sys.stdout.write(f"{home / CONFIG_NAME}: ok{missing}\n")
    return 0


def show(args: argparse.Namespace) -> int:
    """Print what is in effect.

    Raises:
        InvalidConfig: the configuration cannot be used.
        StateError: somebody else could rewrite it.
    """
    from bot.settings import home_folder, read  # noqa: PLC0415 - slow to import
    from bot.settings.show import shown  # noqa: PLC0415 - slow to import

    home = home_folder(None, os.environ)
    settings = list(shown(read(home, os.environ)))
    if args.json:
        rows = {each.key: {"value": each.value, "source": each.source} for each in settings}
        sys.stdout.write(json.dumps({"home": str(home), "settings": rows}, indent=2) + "\n")
    else:
        sys.stdout.write(f"home: {home}\n" + _table(settings))
    return 0


def _table(settings: "list[Shown]") -> str:
    rows = [
        (each.key, json.dumps(each.value, ensure_ascii=False), each.source) for each in settings
    ]
    keys, values = (max(len(row[i]) for row in rows) for i in range(2))
    values = min(values, 40)  # a long list must not push every source off the screen
    return "".join(f"{key:<{keys}}  {value:<{values}}  {source}\n" for key, value, source in rows)


def _print_problems(error: "InvalidConfig", *, as_json: bool) -> int:
    if as_json:
        report = [
            {"place": each.place, "key": each.key, "message": each.message}
            for each in error.problems
        ]
        sys.stdout.write(json.dumps({"ok": False, "problems": report}, indent=2) + "\n")
    else:
        sys.stderr.write(f"{error}\n")
    return error.exit_code

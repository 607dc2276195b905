"""Offer `sayso config check|show`: check the configuration, and show what is in effect."""

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING

from bot.cli import Failures, fail, remark
from bot.cli.call import print_json
from bot.cli.parser import command, group, under

if TYPE_CHECKING:  # the settings cost 0.3 s to import; the parser of other commands must not pay
    from bot.cli.parser import Commands
    from bot.settings import InvalidConfig
    from bot.settings.show import ShownSetting

_EXAMPLES = """\
sayso config check                    report every error in config.json5 and the environment
sayso config show                     effective settings, and where each was set
sayso config show --json | jq .       the same for programs
SAYSO_TOOLS__EXEC__ASK=always sayso config show    what an override changes
"""


def register(commands: "Commands") -> None:
    """Add the commands to the parser."""
    inner = group(commands, "config", "check and show the settings", _EXAMPLES)
    example = "sayso config check && systemctl --user reload sayso"
    command(inner, "check", "report every error; exit 2 if there is any", example, check)
    example = "sayso config show | grep -v default"
    command(inner, "show", "print every setting and where it was set", example, show)
    under(commands, "The gateway")


def check(args: argparse.Namespace) -> int:
    """Return 0 if the configuration can be used, else 2 with one line for each mistake.

    Places of prompts where nobody could answer, secret files that others can read, rules that do
    not do what they seem to, and shipped tables whose examples do not hold cause warnings; they are
    not mistakes in the configuration.

    Raises:
        StateError: somebody else could rewrite the configuration.
    """
    from bot.doctor.people import unserved_targets  # noqa: PLC0415 - slow to import
    from bot.doctor.secret_files import exposed  # noqa: PLC0415 - slow to import
    from bot.factories.rules import provisions_of  # noqa: PLC0415 - slow to import
    from bot.settings import InvalidConfig, home_folder, read  # noqa: PLC0415 - slow to import
    from bot.settings.home import CONFIG_NAME  # noqa: PLC0415 - slow to import
    from core.policy.rules.lint_rules import lint  # noqa: PLC0415 - slow to import
    from core.policy.rules.self_test import broken_examples  # noqa: PLC0415 - slow to import

    home = home_folder(None, os.environ)
    try:
        reading = read(home, os.environ)
    except InvalidConfig as error:
        return _print_problems(error)
    broken = (f"{line}; reinstall Sayso" for line in broken_examples())
    targets = (f"{one.subject}: {one.detail}" for one in unserved_targets(reading.settings))
    warnings = (*targets, *exposed(reading), *lint(provisions_of(reading.settings)), *broken)
    if args.json:
        print_json({"ok": True, "problems": [], "warnings": warnings}, indent=None)
    else:
        for line in warnings:
            remark("warning", line)
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
        print_json({"home": str(home), "settings": rows})
    else:
        sys.stdout.write(f"home: {home}\n" + _table(settings))
    return 0


def _table(settings: "list[ShownSetting]") -> str:
    rows = [
        (each.key, json.dumps(each.value, ensure_ascii=False), each.source) for each in settings
    ]
    keys, values = (max(len(row[i]) for row in rows) for i in range(2))
    values = min(values, 40)  # a long list must not push the sources off the screen
    return "".join(f"{key:<{keys}}  {value:<{values}}  {source}\n" for key, value, source in rows)


def _print_problems(error: "InvalidConfig") -> int:
    """Print each mistake on its own line, or all of them in one JSON object; return 2."""
    if not Failures.as_json:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    report = [
        {"place": each.place, "key": each.key, "message": each.message} for each in error.problems
    ]
    return fail(
        str(error), code=error.exit_code, kind=type(error).__name__, more={"problems": report}
    )

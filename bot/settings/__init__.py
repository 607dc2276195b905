"""Read the settings: defaults, then $SAYSO_HOME/config.json5, then ``SAYSO_…`` variables.

The order of evaluation is: ``home`` (find and check the folder), ``json5_file`` (syntax, lines,
duplicates), ``environment`` (overrides), ``resolve`` (unknown keys, secrets) and ``model``
(types, by pydantic). All mistakes are reported at once, one line each.
"""

from collections.abc import Mapping
from pathlib import Path

from bot.settings.home import ensure_home, home_folder
from bot.settings.model import ChannelsSection, Settings
from bot.settings.problems import InvalidConfig, Problem
from bot.settings.reader import Reading, read

__all__ = [
    "ChannelsSection",
    "InvalidConfig",
    "Problem",
    "Reading",
    "Settings",
    "ensure_home",
    "home_folder",
    "load",
    "read",
]


def load(home: Path | None = None, *, environ: Mapping[str, str]) -> Settings:
    """Return the settings of a home, which is created with mode 0700 if there is none.

    Raises:
        InvalidConfig: one line for each unknown, duplicate or ill-typed key.
        StateError: the home cannot be created, or others could rewrite what is in it.
    """
    folder = home_folder(home, environ)
    ensure_home(folder)
    return read(folder, environ).settings

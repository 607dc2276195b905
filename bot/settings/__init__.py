"""Read the settings: defaults, then $SAYSO_HOME/config.json5, then ``SAYSO_…`` variables.

The order of evaluation is: ``home`` (find and check the folder), ``json5_file`` (syntax, lines,
duplicates), ``environment`` (overrides), ``resolve`` (unknown keys, secrets) and ``model``
(types, by pydantic). All mistakes are reported at once, one line each.

::

    reader             combines everything into validated settings: the way in
    home               finds and checks $SAYSO_HOME
    json5_file         reads the file, with the line of each key
    environment        `SAYSO_…` variables
    resolve            compares with the known keys, and fetches secrets
    secrets            from `{env: …}` or `{file: …}`
    model              all sections in one model
    schema             its keys, with descriptions and defaults
    s2_spelling        `execution` as the executors' plan spells it
    origins            where each value was set
    problems           what is wrong, one line each
    validation_errors  pydantic's errors in our terms
    rule_errors        every rule that cannot be used
    did_you_mean       the key that was probably meant
    show               every setting in effect
"""

from collections.abc import Mapping
from pathlib import Path

from bot.settings.home import ensure_home, home_folder
from bot.settings.model import Settings
from bot.settings.problems import InvalidConfig, Problem
from bot.settings.reader import Reading, read

__all__ = [
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

"""Compile the rules, capabilities and skills of a configuration for this machine."""

import os

from bot.settings import Settings
from core.model.command import PinnedFile
from core.planning.paths.search_path import SearchPath
from core.policy.rules.compiled import Compiled, compiled


def provisions_of(settings: Settings) -> Compiled:
    """Return the provisions for each agent's commands; skills and roots are looked up now.

    Raises:
        BadRule: a rule is malformed, which ``bot.settings.read`` normally reports earlier.
    """
    search = SearchPath(settings.tools.exec.search_path)

    def find(name: str) -> PinnedFile | str:
        found = search.find(name, "/")
        return found if isinstance(found, PinnedFile) else found.why

    home = os.path.expanduser("~")  # noqa: PTH111 - patterns are text
    return compiled(settings, home, find, os.path.realpath)

"""Write the man page into the wheel, from the parsers of the source that is built."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPage(BuildHookInterface[BuilderConfig]):
    """Generate sayso(1); `bot.cli` needs the standard library only, so any build can."""

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Add the page to the files that the wheel installs beside its packages."""
        del version  # the target's, such as "editable"
        sys.dont_write_bytecode = True
        sys.path.insert(0, self.root)
        from bot.cli.help.man import page  # noqa: PLC0415 - found through the line above

        self._folder = TemporaryDirectory()
        file = Path(self._folder.name) / "sayso.1"
        file.write_text(page(self.metadata.version), encoding="utf-8")
        shared = cast("dict[str, str]", build_data["shared_data"])
        shared[str(file)] = "share/man/man1/sayso.1"

    def finalize(self, _version: str, _build_data: dict[str, object], _artifact: str) -> None:
        """Remove the file; the wheel has it."""
        self._folder.cleanup()

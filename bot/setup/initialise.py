"""Set up a home: find who answers, write the configuration, and send a test prompt."""

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from bot.app import gateway
from bot.doctor.channels import prove_by_prompt
from bot.factories.channels import Console, make_channels
from bot.health.check import Finding, Verdict
from bot.settings import InvalidConfig, Problem, Settings, load
from bot.settings.reader import READ_FROM
from bot.setup.choices import Chosen, Contact, Platform
from bot.setup.config_file import refuse_existing, write
from bot.setup.contact import CodeScreen, Search
from core.errors import StateError

_UNTESTED: Final = (
    "not sent, as --yes asks nothing here; to send one, run `sayso doctor channels --prompt` while "
    "`sayso serve` runs in another terminal"
)


class Screen(CodeScreen, Protocol):
    """Shows the progress of a set-up."""

    def confirms(self, contact: Contact) -> bool:
        """Show who was found; return whether this is the person who should approve."""

    def written(self, path: Path) -> None:
        """Show the configuration's path."""

    def testing(self) -> None:
        """Show that a test prompt follows, and what it is for."""

    def tested(self, finding: Finding) -> None:
        """Show a step of the test prompt."""


@dataclass(frozen=True, slots=True)
class SetUp:
    """One run of ``sayso init``: its home, whom to wait for, where to show it.

    ``asks``: a person is at this terminal, and may take time to answer.
    """

    home: Path
    environ: Mapping[str, str]
    seconds: float
    screen: Screen
    asks: bool

    def run(self, chosen: Chosen) -> bool:
        """Write a configuration that asks people; return whether the test prompt came back.

        Raises:
            SaysoError: nothing was written; the message says why.
        """
        refuse_existing(self.home)
        contact = self._contact(chosen)
        if not self.screen.confirms(contact):
            raise StateError("Not confirmed, so nothing was written. Run `sayso init` again.")
        self.screen.written(write(self.home, chosen, contact))
        return asyncio.run(self._test(chosen))

    def _contact(self, chosen: Chosen) -> Contact:
        if chosen.platform is Platform.TERMINAL:
            return Contact(f"uid:{os.getuid()}", "here")
        with _scratch(chosen) as scratch:
            try:
                settings = load(scratch, environ=self.environ)
            except InvalidConfig as error:
                raise InvalidConfig(
                    _at_its_origin(one, chosen) for one in error.problems
                ) from error
            return asyncio.run(self._search(settings, chosen.platform))

    async def _search(self, settings: Settings, platform: Platform) -> Contact:
        channel = make_channels(settings, None)[platform]
        return await Search(channel, self.seconds, self.screen).find()

    async def _test(self, chosen: Chosen) -> bool:
        console = Console.here() if chosen.platform is Platform.TERMINAL else None
        if chosen.platform is Platform.TERMINAL and (console is None or not self.asks):
            self.screen.tested(Finding(Verdict.WARN, "test prompt", _UNTESTED))
            return True
        self.screen.testing()
        settings = load(self.home, environ=self.environ)
        async with gateway(settings, console=console, environ=self.environ):
            return await asyncio.to_thread(self._prompt)

    def _prompt(self) -> bool:
        settings, worst = load(self.home, environ=self.environ), Verdict.OK
        for finding in prove_by_prompt(settings, self.seconds):
            self.screen.tested(finding)
            worst = worst if finding.verdict is Verdict.OK else finding.verdict
        return worst is Verdict.OK


def _at_its_origin(problem: Problem, chosen: Chosen) -> Problem:
    """Return a mistake found in the temporary home at its origin: a file, or what was typed."""
    key = problem.path[-1] if problem.path[:-1] == ("channels", chosen.platform.value) else ""
    place = chosen.origins.get(str(key))
    if place is None:
        return problem
    return replace(problem, place=place, message=problem.message.partition(READ_FROM)[0])


@contextmanager
def _scratch(chosen: Chosen) -> Iterator[Path]:
    """Yield a temporary home with the tokens, in which nobody may answer; remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="sayso-init-") as folder:
        home = Path(folder) / "home"
        write(home, chosen, None)
        yield home

"""Follow a page from its first block to its last."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.docs import data, fragments
from tests.docs.blocks import ROOT, Block, blocks
from tests.docs.commands import Command, commands
from tests.docs.output import differences
from tests.docs.scene import Act, Scene
from tests.docs.shell import Bash, User, a_user, is_serve


@dataclass(frozen=True, slots=True)
class Count:
    """How many blocks of a page were run here, by another test, and not with a reason."""

    here: int
    elsewhere: int
    reasons: int


@dataclass(frozen=True, slots=True)
class Ending:
    """A command that was typed, and where its output begins."""

    command: Command
    bash: Bash
    begun: int


class Visit:
    """One reader of one page."""

    def __init__(self, page: Path, scene: Scene, user: User) -> None:
        self.page, self.scene, self.user = page, scene, user
        self.config = dict(scene.config)
        self.started = False
        self.endings: list[Ending] = []

    def at(self, line: int) -> str:
        """Return a place of the page in the form that editors accept."""
        path = self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page
        return f"{path}:{line}"

    def replaced(self, text: str) -> str:
        """Return a text with the reader's own names and ids in it."""
        for word, own in self.scene.words.items():
            if word in text:
                text = text.replace(word, own if isinstance(own, str) else own(self.user))
        return text

    def typed(self, block: Block) -> None:
        """Type the commands of a block, and compare what they print."""
        self.open()
        for command in commands(block):
            if is_serve(command.text):
                self.user.serve(command.text)
            else:
                self._one(command)

    def open(self) -> None:
        """Start the gateway that the page assumes, once, with what it has configured so far."""
        if self.scene.gateway and not self.started:
            self.started = True
            fragments.write(self.user, self.config)
            self.user.serve()

    def _one(self, command: Command) -> None:
        self._act(self.scene.ahead, command)
        text = self.replaced(command.text)
        other = text.startswith(self.scene.elsewhere) if self.scene.elsewhere else False
        bash = self.user.terminal("second" if other else "first")
        begun = bash.type(text)
        self._act(self.scene.beside, command)
        ending = Ending(command, bash, begun)
        if self.scene.waiting and text.startswith(self.scene.waiting):
            self.endings.append(ending)
        else:
            self.end(ending)

    def end(self, ending: "Ending") -> None:
        """Wait for the end of a command, and compare it with the page."""
        with named(f"{self.at(ending.command.line)}: {ending.command.text}"):
            self._compare(ending)

    def _compare(self, ending: "Ending") -> None:
        command, bash, begun = ending.command, ending.bash, ending.begun
        status, printed = bash.status(begun), bash.printed(begun)
        promised = self.scene.statuses.get(command.bare, command.status)
        if self.scene.machine and command.text.startswith(self.scene.machine):
            assert "denied" not in printed, printed
            promised = status
        assert status == promised, f"{self.at(command.line)}: exit status {status}\n{printed}"
        if command.output:
            wrong = differences(tuple(map(self.replaced, command.output)), printed)
            assert not wrong, f"{self.at(command.line)}: printed otherwise: {wrong}\n{printed}"

    def _act(self, acts: Mapping[str, Act], command: Command) -> None:
        """Do the first act whose beginning matches."""
        for beginning, act in acts.items():
            if command.text.startswith(beginning):
                with named(f"{self.at(command.line)}: {command.text}"):
                    act(self.user)
                return

    def setting(self, block: Block) -> None:
        """Check a fragment of the configuration; before the gateway's start it is applied."""
        added = fragments.parsed(self.replaced(block.text))
        self.config = fragments.merged(self.config, added)
        self.user.config = self.config
        fragments.check(self.user, self.config, self.at(block.line))


@contextmanager
def named(place: str) -> Iterator[None]:
    """Let every failure name its place on the page."""
    try:
        yield
    except Exception as error:
        error.add_note(place)
        raise


def _data(check: Callable[[User, str], None]) -> Callable[[Visit, Block], None]:
    def go(visit: Visit, block: Block) -> None:
        check(visit.user, visit.replaced(block.text))

    return go


def _calls(visit: Visit, block: Block) -> None:
    visit.open()
    _data(data.json_text)(visit, block)


CHECKS: Mapping[str, Callable[[Visit, Block], None]] = {
    "sh": Visit.typed,
    "bash": Visit.typed,
    "console": Visit.typed,
    "json5": Visit.setting,
    "json": _calls,
    "toml": _data(data.toml_text),
    "yaml": _data(data.yaml_text),
    "ini": _data(data.unit),
    "python": _data(data.python_text),
}
"""What is done with a block of each language."""
_ADVICE = (
    "nothing here runs or checks a block of {language!r}. Mark it `text` if it only shows, "
    "put `<!-- not run: REASON -->` above it, or teach CHECKS in tests/docs/page.py"
)


def follow(page: Path, scene: Scene, home: Path) -> Count:
    """Do everything that a page says, and return how much that was."""
    found = blocks(page)
    mine = [one for one in found if not one.reason and not one.test]
    others = [one for one in found if one.test]
    with scene.server() as environ, a_user(home, **environ) as user:
        visit = Visit(page, scene, user)
        if mine and scene.before:
            user.do(scene.before)
        for block in mine:
            advice = _ADVICE.format(language=block.language)
            assert block.language in CHECKS, f"{visit.at(block.line)}: {advice}"
            with named(visit.at(block.line)):
                CHECKS[block.language](visit, block)
        for ending in visit.endings:
            visit.end(ending)
        scene.after(user)
    for block in others:
        text = (ROOT / block.test).read_text(encoding="utf-8")
        assert page.name in text, f"{page.name}:{block.line}: {block.test} does not read this page"
    return Count(len(mine), len(others), len(found) - len(mine) - len(others))

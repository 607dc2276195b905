"""Keep the contract in docs/how-to/write-a-channel.md's channel, installed as a plugin."""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from channels.base import Channel
from channels.plugin import PluginSettings
from channels.registry import load_plugin
from core.errors import ConfigError
from core.model.approval import ApprovalReply
from core.model.identity import Target
from tests.contracts.channel import ChannelContract
from tests.support.waiting import until

PAGE = Path("docs/how-to/write-a-channel.md")
_LONGEST = 40


def example() -> str:
    """Return the page's Python."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


@dataclass(slots=True)
class FolderSetup:
    """A person who looks into a folder and writes answers."""

    channel: Channel
    folder: Path
    target: Target = field(default_factory=lambda: Target("folder", "folder"))
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    async def press(self, message: str, reply: ApprovalReply) -> None:
        """Answer the prompt in a file; a folder has no buttons."""
        await self.type(f"/approve {self._whole_id(message)} {reply}")

    def _whole_id(self, message: str) -> str:
        found = re.search(r"^Id: (\w+)$", (self.folder / message).read_text(), re.MULTILINE)
        assert found is not None
        return found[1]

    async def press_choice(self, label: str) -> None:
        """Write what a choice means."""
        raise AssertionError(f"a folder has no second step, so no {label}")

    async def type(self, text: str) -> None:
        """Write an answer; the file appears whole."""
        name = f"{next(self.numbers):03}"
        draft = self.folder / f"{name}.draft"
        draft.write_text(text)
        draft.rename(self.folder / f"{name}.answer")

    async def sees(self, words: str) -> None:
        """Wait for a reply."""
        await until(lambda: any(words in one.read_text() for one in self.folder.glob("*.reply")))

    async def shows(self, message: str, words: str) -> None:
        """Wait until a file has these words."""
        await until(lambda: words in (self.folder / message).read_text())

    def can_press(self, message: str) -> bool:
        """Return whether a file still asks."""
        return "/approve" in (self.folder / message).read_text()


class TestExample(ChannelContract):
    """The contract, on the documented example."""

    buttons = two_steps = groups = threads = False

    @pytest.fixture
    def setup(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FolderSetup]:
        """Install the example next to Sayso, as its user would."""
        info = tmp_path / "folder_channel-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: folder-channel\nVersion: 1\n")
        entry = "[sayso.channels]\nfolder = folder_channel:FolderChannel\n"
        (info / "entry_points.txt").write_text(entry)
        (tmp_path / "folder_channel.py").write_text(example())
        monkeypatch.syspath_prepend(str(tmp_path))
        folder = tmp_path / "prompts"
        options = {"folder": str(folder)}
        settings = PluginSettings.model_validate({"name": "folder", "options": options})
        yield FolderSetup(load_plugin("folder")(settings), folder)
        sys.modules.pop("folder_channel")


def test_the_example_stays_short() -> None:
    """A channel is one class that fits a page."""
    _, _, channel = example().partition("class ")
    lines = [line for line in channel.splitlines() if line.strip()]

    assert len(lines) <= _LONGEST


def test_a_plugin_cannot_take_a_built_in_name() -> None:
    """A third party never replaces a built-in channel."""
    with pytest.raises(ConfigError, match=r"'slack' is built in; set it at channels\.slack"):
        load_plugin("slack")

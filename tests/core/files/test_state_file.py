"""Read a state file back as it was written; start afresh with a warning if it is damaged."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from core.files.state_file import StateFile


class Shape(BaseModel):
    """The content of the file."""

    model_config = ConfigDict(strict=True, extra="ignore")
    week: str


@pytest.mark.parametrize("durable", [True, False])
def test_what_was_written_is_read(tmp_path: Path, *, durable: bool) -> None:
    """Only the owner can read it, and no draft is left next to it."""
    file = StateFile(tmp_path / "state.json", Shape, durable)
    assert file.read() is None
    assert file.write({"week": "one"})
    assert file.write({"week": "two"})

    assert file.read() == Shape(week="two")
    assert 0o600 == file.path.stat().st_mode & 0o777
    assert [file.path] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "mode"), [("{", 0o600), ("[]", 0o600), ('{"week":"a"}', 0o644)]
)
def test_what_cannot_be_trusted_starts_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str, mode: int
) -> None:
    """Half a file, another shape, and a file that others can read are reported and not used."""
    file = StateFile(tmp_path / "state.json", Shape)
    file.path.write_text(content)
    file.path.chmod(mode)

    assert file.read() is None
    assert "starting afresh" in caplog.text


def test_a_folder_that_is_gone_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What cannot be written is no reason to fail."""
    file = StateFile(tmp_path / "gone" / "state.json", Shape)

    assert not file.write({"week": "one"})
    assert "cannot write" in caplog.text

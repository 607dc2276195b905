"""Check what is said of chat platforms where there is none."""

from pathlib import Path

from bot.doctor.channels import prove_channels
from bot.settings import load
from tests.support.gateway_process import write_config


def test_a_terminal_is_no_chat_platform(tmp_path: Path) -> None:
    """Where only a terminal asks, the line does not say that nothing is configured."""
    write_config(tmp_path / "home", None)
    (found,) = prove_channels(load(tmp_path / "home", environ={}))
    assert found.detail.startswith("no chat platform is configured; see ")

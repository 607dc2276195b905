"""Find the journal of a home, whoever asks: the caller of a command may not choose its place."""

from collections.abc import Mapping
from pathlib import Path

from bot.settings import InvalidConfig, read
from bot.settings.home import CONFIG_NAME
from bot.settings.json5_file import read_json5

_OVERRIDES = "SAYSO_"


def journal_of(home: Path, environ: Mapping[str, str]) -> Path:
    """Return the journal that the home's configuration file names, without ``SAYSO_…`` variables.

    Raises:
        StateError: the home or the file could be rewritten by somebody else.
    """
    plain = {name: value for name, value in environ.items() if not name.startswith(_OVERRIDES)}
    try:
        return read(home, plain).settings.audit_path
    except InvalidConfig:
        return home / (_written(home / CONFIG_NAME) or "audit.jsonl")


def _written(config: Path) -> str:
    """Return the journal's path from a configuration that is otherwise unusable."""
    try:
        document = read_json5(config.read_text(), config.name)
    except (OSError, UnicodeDecodeError, InvalidConfig):
        return ""
    audit = document.value.get("audit") if isinstance(document.value, dict) else None
    path = audit.get("path") if isinstance(audit, dict) else None
    return path if isinstance(path, str) else ""

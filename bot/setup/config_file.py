"""Write the first configuration and its secrets, each created once with mode 0600."""

import json
from pathlib import Path
from typing import Final

from bot.documentation import document
from bot.settings.home import CONFIG_NAME, ensure_home
from bot.setup.choices import SECRETS, Chosen, Contact, Platform
from core.errors import StateError
from core.files.private import create_private

_TEXT: Final = """\
// Written by `sayso init`. After an edit: `sayso config check`. All settings with their defaults:
// {example}
{{
  // commands run on this machine, as your user: what is on the allowlist, and what a person allows
  tools: {{ exec: {{ host: "gateway", security: "allowlist", ask: "on-miss" }} }},
  // where prompts are shown
  approvals: {{ exec: {{ mode: "{mode}", targets: [{target}] }} }},
  // who may answer them
  channels: {{ {name}: {section} }},
}}
"""


def config_text(chosen: Chosen, contact: Contact | None) -> str:
    """Return config.json5; without a contact, nobody may answer yet."""
    name = chosen.platform
    parts = [f'{one.key}: {{ file: "{one.file}" }}' for one in SECRETS[name]]
    if contact is not None:
        parts.append(f"approvers: [{json.dumps(contact.account)}]")
    return _TEXT.format(
        example=document("config.example.json5"),
        mode="targets" if name is Platform.TERMINAL else "both",
        name=name,
        target=f'{{ channel: "{name}", to: {json.dumps(contact.to)} }}' if contact else "",
        section=f"{{ {', '.join(parts)} }}",
    )


def refuse_existing(home: Path) -> None:
    """Refuse a home that is already configured.

    Raises:
        StateError: it has a configuration.
    """
    path = home / CONFIG_NAME
    if path.exists() or path.is_symlink():
        raise StateError(
            f"{path} exists, so nothing was changed. `sayso serve` starts with it. To start over, "
            "move it away and run `sayso init` again."
        )


def write(home: Path, chosen: Chosen, contact: Contact | None) -> Path:
    """Create the home, the secrets and, last, the configuration; return its path.

    Raises:
        StateError: the home is not only this user's, or one of the files exists with other
        contents.
    """
    ensure_home(home)
    for secret in SECRETS[chosen.platform]:
        _create(home / secret.file, f"{chosen.secrets[secret.key]}\n")
    path = home / CONFIG_NAME
    _create(path, config_text(chosen, contact))
    return path


def _create(path: Path, text: str) -> None:
    if create_private(path, text.encode()) or path.read_text() == text:
        return
    raise StateError(f"{path} exists with other contents; nothing more was written. Move it away.")

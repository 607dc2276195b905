"""Ask a new user at a terminal, and show each step of the set-up."""

import json
import sys
from getpass import getpass
from pathlib import Path

from bot.health.check import Finding
from bot.setup.choices import SECRETS, Contact, Platform
from bot.shell_path import first_export

_TITLES = {
    Platform.TERMINAL: "this terminal only",
    Platform.TELEGRAM: "Telegram (a bot; no public address needed)",
    Platform.SLACK: "Slack (an app in your workspace)",
    Platform.DISCORD: "Discord (a bot on your server)",
}


def ask_platform() -> Platform:
    """Ask a person for the platform and return it; the terminal if they only press Enter."""
    sys.stdout.write("Where should Sayso ask you?\n")
    names = list(_TITLES)
    for number, name in enumerate(names, 1):
        sys.stdout.write(f"  {number}  {_TITLES[name]}\n")
    while True:
        typed = input(f"Choose 1 to {len(names)} [1]: ").strip().lower() or "1"
        if typed.isdecimal() and 1 <= int(typed) <= len(names):
            return names[int(typed) - 1]
        if typed in names:
            return Platform(typed)
        sys.stdout.write(f"{typed!r} is not one of the choices.\n")


def ask_secrets(platform: Platform) -> dict[str, str]:
    """Ask for the platform's tokens and return them, without showing what is typed."""
    secrets = {}
    for secret in SECRETS[platform]:
        typed = ""
        while not typed:
            typed = getpass(f"{secret.key} ({secret.origin}; not shown): ").strip()
        secrets[secret.key] = typed
    return secrets


def _place(contact: Contact) -> str:
    return "the gateway's terminal" if contact.to == "here" else contact.to


class Lines:
    """Print each step: a sentence for people, or a JSON object."""

    def __init__(self, *, as_json: bool, asks: bool) -> None:
        self._as_json = as_json
        self._asks = asks
        self.is_written = False

    def code(self, code: str, bot: str, link: str) -> None:
        """Print the code to send, and where to send it."""
        opens = f"or open this link and press Start:\n\n    {link}\n\n" if link else ""
        self._say(
            {"step": "code", "send": f"/pair {code}", "bot": bot, "link": link},
            f"The token {bot or 'works'}.\n\n"
            f"In the chat where prompts should appear, send the bot\n\n    /pair {code}\n\n"
            f"{opens}Waiting …",
        )

    def trouble(self, detail: str) -> None:
        """Print what keeps the code from arriving, and that waiting continues."""
        self._say({"step": "trouble", "detail": detail}, f"warn  {detail} Still waiting …")

    def confirms(self, contact: Contact) -> bool:
        """Print who will answer and where; if questions may be asked, ask whether that is right."""
        name = f"{contact.name} ({contact.account})" if contact.name else contact.account
        self._say(
            {"step": "approver", "account": contact.account, "name": name, "to": contact.to},
            f"Approver: {name}, asked in {_place(contact)}",
        )
        if not self._asks or contact.to == "here":
            return True
        return input("Is that you, and the right place? [y/N] ").strip().lower() in {"y", "yes"}

    def written(self, path: Path) -> None:
        """Print where the configuration is."""
        self.is_written = True
        self._say({"step": "config", "path": str(path)}, f"Wrote {path}")

    def testing(self) -> None:
        """Print what the prompt is that appears next."""
        if not self._as_json:
            sys.stdout.write(
                "\nNow a test prompt, for `true`, which does nothing. Allow it once.\n"
            )
            sys.stdout.flush()

    def tested(self, finding: Finding) -> None:
        """Print how a step of the test prompt ended."""
        self._say(
            {"step": "test", **finding.as_json()},
            f"{finding.verdict:<5} {finding.subject}: {finding.detail}",
        )

    def closing(self, platform: str, *, works: bool) -> None:
        """Print what to type next."""
        where = "in the first" if platform == "terminal" else f"on {platform.title()}"
        export = first_export()
        first = f"  {export}    in each terminal, first\n" if export else ""
        head = "Sayso is set up." if works else "The configuration is written; nobody answered."
        self._say(
            {"step": "end", "works": works},
            f"\n{head} Next:\n{first}"
            "  sayso serve                   keep it running in a terminal\n"
            f"  sayso run -c 'git status'     in another terminal; you are asked {where}",
        )

    def _say(self, step: dict[str, object], words: str) -> None:
        sys.stdout.write(f"{json.dumps(step, ensure_ascii=False) if self._as_json else words}\n")
        sys.stdout.flush()

"""Offer `sayso exec contacts add|list|remove`: known agents, their addresses and trust."""

import argparse
import json
import os
import sys

from bot.cli.call import print_json
from bot.cli.parser import arg, command
from bot.cli.paths import home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.cli.parser import Commands
    from core.remote.trust.contacts import Contact, ContactsFile

_EXAMPLES = """\
sayso exec contacts add web1 --agent-id 2fb1… --machine-id 90cc… --trust accept
sayso exec contacts add web1 --agent-id 2fb1… --machine-id 90cc… --trust accept \\
    --address 127.0.0.1:8793 --fingerprint 5d41…
sayso exec contacts list
sayso exec contacts remove web1
"""
_ID_LENGTH = 64
_TAKEN = ("sessions", "identity", "contacts")
"""Words of `sayso exec` itself: a contact with such a name could not be called by it."""


def register(inner: "Commands") -> None:
    """Add the commands to `sayso exec contacts`."""
    purpose = "add an agent on a machine as a contact"
    fingerprint = "its certificate's SHA-256, from the same command; for TLS"
    trust = ("accept", "reject")
    command(
        inner,
        "add",
        purpose,
        _EXAMPLES,
        add,
        arg("name", metavar="NAME", help="our name for it: lower-case, 32 characters at most"),
        arg(
            "--agent-id",
            required=True,
            metavar="H",
            help="its agent id, from `sayso exec identity`",
        ),
        arg(
            "--machine-id", required=True, metavar="H", help="its machine id, from the same command"
        ),
        arg("--address", metavar="A", help="where it listens: 127.0.0.1:PORT or unix:/path"),
        arg("--fingerprint", metavar="H", help=fingerprint),
        arg("--trust", choices=trust, default="reject", help="default: reject"),
    )
    command(inner, "list", "print the contacts", "sayso exec contacts list", show)
    purpose = "remove a contact: it is no longer trusted"
    name = arg("name", metavar="NAME", help="its name or agent id")
    command(inner, "remove", purpose, "sayso exec contacts remove web1", remove, name)


def contacts_file() -> "ContactsFile":
    """Return the contacts file of this home, which is created if there is none.

    Raises:
        StateError: the home is unsafe.
    """
    from bot.settings import ensure_home, home_folder  # noqa: PLC0415 - slow to import
    from core.remote.trust.contacts import ContactsFile  # noqa: PLC0415 - slow to import

    folder = home_folder(None, os.environ)
    ensure_home(folder)
    return ContactsFile(folder)


def agent_id(word: str) -> str:
    """Return an agent id; a contact's name means its agent.

    The file is read without its model, which takes 0.2 s to import: the gateway reads it strictly,
    and trusts nobody because of what is read here.

    Raises:
        NotFound: no contact has this name.
    """
    if len(word) == _ID_LENGTH:
        return word
    try:
        with open(f"{home()}/exec-contacts.json", "rb") as file:  # noqa: PTH123 - see bot.cli.paths
            known = json.load(file)["contacts"]
        found = {one["name"]: str(one["agent_id"]) for one in known}
    except (OSError, ValueError, KeyError, TypeError):
        found = {}
    if word not in found:
        from core.errors import NotFound  # noqa: PLC0415 - for mistakes only

        raise NotFound(f"No contact is named {word!r}; see `sayso exec contacts list`.")
    return found[word]


def add(args: argparse.Namespace) -> int:
    """Add a contact; a running gateway uses it at once.

    Raises:
        BadRequest: an id, the address or the name is malformed.
        StateError: the name or the agent is already listed, or the file cannot be used.
    """
    contact = _contact(args)
    file = contacts_file()
    file.change(lambda contacts: contacts.added(contact))
    return _print_result(args, f"{contact.name} was added, trust {contact.trust}")


def _contact(args: argparse.Namespace) -> "Contact":
    from pydantic import ValidationError  # noqa: PLC0415 - slow to import

    from core.errors import BadRequest  # noqa: PLC0415 - slow to import
    from core.remote.trust.contacts import Contact  # noqa: PLC0415 - slow to import
    from core.validation.model_errors import faults  # noqa: PLC0415 - slow to import

    if args.name in _TAKEN:
        words = f"`sayso exec {args.name}` is a subcommand. Choose another name for the contact."
        raise BadRequest(words)
    try:
        return Contact.model_validate(
            {
                "name": args.name,
                "agent_id": args.agent_id,
                "machine_id": args.machine_id,
                "address": args.address,
                "fingerprint": args.fingerprint,
                "trust": args.trust,
            }
        )
    except ValidationError as error:
        clauses = (f"{_option(at)}{words}" for at, words in faults(error))
        raise BadRequest("; ".join(clauses) + ".") from None


def _option(at: tuple[str | int, ...]) -> str:
    """Return the option of a field on the command line; a fault of several fields names none."""
    if not at:
        return ""
    return "NAME: " if at[0] == "name" else f"--{str(at[0]).replace('_', '-')}: "


def show(args: argparse.Namespace) -> int:
    """Print the contacts."""
    contacts = contacts_file().read().contacts
    if args.json:
        rows = [one.model_dump(mode="json") for one in contacts]
        return print_json({"contacts": rows}, indent=None)
    if not contacts:
        sys.stdout.write("No contacts yet. Add one with `sayso exec contacts add NAME …`.\n")
    for one in contacts:
        sys.stdout.write(f"{one.name:<16} {one.trust:<7} {one.address or 'outbound only'}\n")
        sys.stdout.write(f"  agent    {one.agent_id}\n  machine  {one.machine_id}\n")
    return 0


def remove(args: argparse.Namespace) -> int:
    """Remove a contact.

    Raises:
        NotFound: there is no such contact.
        StateError: the file cannot be used.
    """
    contacts_file().change(lambda contacts: contacts.removed(args.name))
    return _print_result(args, f"{args.name} was removed")


def _print_result(args: argparse.Namespace, sentence: str) -> int:
    if args.json:
        return print_json({"done": True, "sentence": f"{sentence}."}, indent=None)
    sys.stdout.write(f"{sentence}.\n")
    return 0

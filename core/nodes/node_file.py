"""Keep node.json: who this node is, and which gateway it belongs to (S0 "Node host state").

Its mode is 0600, because it contains the pairing token, half of what authenticates the node; the
other half is the key in ``node.key`` next to it. Anyone who can read both can act as the node.
"""

import json
import secrets
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import BadRequest, StateError
from core.files.private import read_private, replace_private
from core.ipc.strict_json import unique
from core.model.node import NODE_NAME_LENGTH
from core.trust.identity import SigningKey, key_id, load_key
from core.trust.ids import KeyId
from core.validation.model_errors import faults, place

NODE_FILE = "node.json"
NODE_KEY = "node.key"
NODE_JOURNAL = "node-audit.jsonl"
_TOKEN_BYTES = 32
_HIGHEST_PORT = 65_535

PairingToken = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
NodeName = Annotated[
    str, Field(min_length=1, max_length=NODE_NAME_LENGTH, pattern=r"^[^\x00-\x1f\x7f]+$")
]


class NodeFile(BaseModel):
    """What node.json holds. ``gateway`` is HOST:PORT, ``gateway_key`` the id that must answer."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)

    version: Literal[1] = 1
    node_id: KeyId
    pairing_token: PairingToken
    display_name: NodeName
    gateway: Annotated[str, Field(pattern=r"^\[?[0-9A-Za-z.:_-]{1,253}\]?:[0-9]{1,5}$")]
    gateway_key: KeyId

    @property
    def host(self) -> str:
        """Return the gateway's host name or address."""
        return self.gateway.rpartition(":")[0].removeprefix("[").removesuffix("]")

    @property
    def port(self) -> int:
        """Return the gateway's port."""
        return int(self.gateway.rpartition(":")[2])


def begin(home: Path, name: str, gateway: str, gateway_key: str) -> NodeFile:
    """Write node.json for a gateway; the key and the token of an earlier one are kept.

    Raises:
        StateError: a value is malformed, or a file cannot be read or written.
    """
    node_id = key_id(node_key(home))
    known = _token(home)
    values = {
        "node_id": node_id,
        "pairing_token": known or secrets.token_hex(_TOKEN_BYTES),
        "display_name": name,
        "gateway": gateway,
        "gateway_key": gateway_key,
    }
    file = _checked(values, home / NODE_FILE)
    replace_private(home / NODE_FILE, file.model_dump_json(indent=2).encode() + b"\n")
    return file


def read(home: Path) -> NodeFile | None:
    """Return the content of node.json, ``None`` without one.

    Raises:
        StateError: it is unsafe or malformed, or belongs to another key.
    """
    path = home / NODE_FILE
    try:
        text = read_private(path)
    except FileNotFoundError:
        return None
    try:
        values = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise StateError(f"{path} is not JSON: {error}. Fix it.") from None
    file = _checked(values, path)
    if file.node_id != key_id(node_key(home)):
        raise StateError(
            f"{path} names another node than the key in {home / NODE_KEY}. Restore both from one "
            "backup, or remove both: the node is then a new one that a person must allow."
        )
    return file


def required(home: Path) -> NodeFile:
    """Return the content of node.json, which must exist.

    Raises:
        BadRequest: the home belongs to no gateway yet.
        StateError: as ``read``.
    """
    file = read(home)
    if file is None:
        raise BadRequest(
            "This home belongs to no gateway yet. Run: sayso node run --gateway HOST:PORT "
            "--gateway-key KEY, with the key that `sayso node key` prints on the gateway."
        )
    return file


def node_key(home: Path) -> SigningKey:
    """Return the node's key; create it if none exists.

    Raises:
        StateError: the file is unsafe, damaged, or cannot be created.
    """
    return load_key(home / NODE_KEY)


def _token(home: Path) -> str | None:
    known = read(home)
    return None if known is None else known.pairing_token


def _checked(values: object, path: Path) -> NodeFile:
    try:
        file = NodeFile.model_validate(values)
    except ValidationError as error:
        words = "; ".join(f"{place(at)}: {said}" for at, said in faults(error))
        raise StateError(f"{path} cannot be used: {words}.") from None
    if not 0 < file.port <= _HIGHEST_PORT:
        raise StateError(f"{path} cannot be used: gateway: the port must be 1 to {_HIGHEST_PORT}.")
    return file

import json
from pathlib import Path

import pytest

from core.errors import StateError
from core.nodes.node_file import NODE_FILE, NODE_KEY, begin, read

KEY = "c" * 64


def test_what_was_begun_is_read_and_is_private(tmp_path: Path) -> None:
    """Keep S0's node id, pairing token and gateway; only the owner may read them."""
    made = begin(tmp_path, "web 1", "127.0.0.1:8794", KEY)

    assert read(tmp_path) == made
    assert (made.host, made.port, made.gateway_key) == ("127.0.0.1", 8794, KEY)
    assert len(made.pairing_token) == len(made.node_id) == 64
    for name in (NODE_FILE, NODE_KEY):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


def test_another_gateway_or_name_keeps_the_nodes_id_and_token(tmp_path: Path) -> None:
    """A node that moves is the same node."""
    first = begin(tmp_path, "web", "127.0.0.1:1", KEY)
    again = begin(tmp_path, "web 2", "[::1]:2", "d" * 64)

    assert (again.node_id, again.pairing_token) == (first.node_id, first.pairing_token)
    assert (again.host, again.port) == ("::1", 2)


def test_without_a_file_there_is_nothing(tmp_path: Path) -> None:
    """Reading creates nothing."""
    assert read(tmp_path) is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "gateway", "key"),
    [
        ("", "127.0.0.1:1", KEY),
        ("a\nb", "127.0.0.1:1", KEY),
        ("x" * 65, "127.0.0.1:1", KEY),
        ("web", "127.0.0.1", KEY),
        ("web", "127.0.0.1:0", KEY),
        ("web", "127.0.0.1:65536", KEY),
        ("web", "a b:1", KEY),
        ("web", "127.0.0.1:1", "C" * 64),
        ("web", "127.0.0.1:1", "c" * 63),
    ],
)
def test_ill_values_are_refused_and_nothing_is_written(
    tmp_path: Path, name: str, gateway: str, key: str
) -> None:
    """The control is the first test: the same call with good values."""
    with pytest.raises(StateError, match="cannot be used"):
        begin(tmp_path, name, gateway, key)
    assert not (tmp_path / NODE_FILE).exists()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"version":1,"version":1}', "[" * 100_000])
def test_a_malformed_file_is_refused(tmp_path: Path, text: str) -> None:
    """No part of it counts."""
    (tmp_path / NODE_FILE).write_text(text)
    (tmp_path / NODE_FILE).chmod(0o600)
    with pytest.raises(StateError, match=NODE_FILE):
        read(tmp_path)


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """Its token lets the node in."""
    begin(tmp_path, "web", "127.0.0.1:1", KEY)
    (tmp_path / NODE_FILE).chmod(0o640)
    with pytest.raises(StateError, match="chmod 600"):
        read(tmp_path)


@pytest.mark.parametrize("name", [NODE_FILE, NODE_KEY])
def test_a_link_in_the_place_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    """Its author would choose the gateway, the token or the key; it is not written to."""
    begin(tmp_path, "web", "127.0.0.1:1", KEY)
    assert read(tmp_path) is not None
    path, elsewhere = tmp_path / name, tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    kept = elsewhere.read_bytes()
    with pytest.raises(StateError, match="link"):
        read(tmp_path)
    with pytest.raises(StateError, match="link"):
        begin(tmp_path, "web", "127.0.0.2:2", KEY)
    assert elsewhere.read_bytes() == kept


def test_a_key_that_was_replaced_is_no_longer_the_node(tmp_path: Path) -> None:
    """A changed key replaces nothing silently."""
    begin(tmp_path, "web", "127.0.0.1:1", KEY)
    (tmp_path / NODE_KEY).unlink()
    with pytest.raises(StateError, match="another node"):
        read(tmp_path)


def test_an_unknown_key_in_the_file_is_refused(tmp_path: Path) -> None:
    """A word that is not understood could have been a restriction."""
    begin(tmp_path, "web", "127.0.0.1:1", KEY)
    path = tmp_path / NODE_FILE
    path.write_text(json.dumps({**json.loads(path.read_text()), "more": 1}))
    with pytest.raises(StateError, match="more"):
        read(tmp_path)

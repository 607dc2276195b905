"""Say what a first command in a sandbox shows to be wrong."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from core.hosts.sandbox.probe import faults
from core.model.identity import ApprovalId
from core.model.result import Finished, Output

_CARD = "1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
_RIGHT = {
    "CapEff": "0000000000000000",
    "NoNewPrivs": "1",
    "Seccomp": "2",
    "lo": _CARD,
    "end": "pid:[1]",
}


def _faults(changed: Mapping[str, str], *, network: bool = False) -> list[str]:
    text = "".join(f"{name}:\t{value}\n" for name, value in {**_RIGHT, **changed}.items())
    done = Finished(ApprovalId("1" * 26), 0, None, Output(text, text, len(text)), 5)
    return list(faults(done, network=network))


def test_an_enclosed_command_shows_nothing_wrong() -> None:
    """With a network, cards other than the loopback are right as well."""
    assert _faults({}) == []
    assert _faults({"eth0": _CARD}, network=True) == []


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("CapEff", "0000000000000400", f"CapEff is 0000000000000400 inside, and not {'0' * 16}"),
        ("Seccomp", "0", "Seccomp is 0 inside, and not 2"),
        (
            "end",
            str(Path("/proc/self/ns/pid").readlink()),
            "it has no process namespace of its own",
        ),
        ("eth0", _CARD, "it has the network cards eth0"),
        ("seen", "the gateway's own folder", "seen the gateway's own folder"),
        ("changed", "/etc", "changed /etc"),
        ("missing", "a private /tmp", "missing a private /tmp"),
    ],
)
def test_what_is_not_enclosed_is_named(name: str, value: str, words: str) -> None:
    """One sentence for each."""
    assert _faults({name: value}) == [words]


def test_a_command_that_did_not_reach_its_end_proves_nothing() -> None:
    """Its last words say why."""
    done = Finished(ApprovalId("1" * 26), 125, None, Output("no such image\n", "", 14), 5)
    assert list(faults(done, network=False)) == ["a first command ended with 125: no such image"]

"""Check what the verifier says about a file, and its arithmetic against a library's."""

import asyncio
import hashlib
import io
import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cbor2
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256
from hypothesis import given
from hypothesis import strategies as st

from bot.evidence.export import export
from bot.evidence.journal_slice import ExportScope
from core.audit.verify_export import Export, _notes, main, verify, verify_signature
from core.model.approval import ApprovalReply
from core.model.result import Pending
from core.store.engine.read_only import open_and_read
from core.store.views.evidence import recorded
from tests.support.evidence_tampering import of, resealed
from tests.support.gate import gate_at, request, says
from tests.support.passkey_device import EcKey, EdKey, RsaKey, SigningKey

KEYS: tuple[SigningKey, ...] = (EdKey(), EcKey(), RsaKey())
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
L = 2**252 + 27742317777372353535851937790883648493


def _holds(key: SigningKey, text: bytes, signature: bytes) -> bool:
    """Return whether a signature is valid; what cannot be read is not."""
    try:
        return verify_signature(cbor2.dumps(key.cose), text, signature)
    except (ValueError, LookupError):
        return False


@pytest.mark.parametrize("key", KEYS, ids=lambda key: type(key).__name__)
def test_what_each_kind_signs_holds(key: SigningKey) -> None:
    """For texts of many lengths; by another key of the kind, or for another text, it is not."""
    other = type(key)()
    for size in (0, 1, 69, 5_000):
        text = secrets.token_bytes(size)
        signature = key.sign(text)
        assert _holds(key, text, signature)
        assert not _holds(other, text, signature)
        assert not _holds(key, text + b"x", signature)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: type(key).__name__)
def test_no_changed_byte_holds(key: SigningKey) -> None:
    """Wherever it is, also in its length."""
    text = b"allow"
    signature = key.sign(text)
    for at in range(0, len(signature), max(1, len(signature) // 24)):
        changed = bytearray(signature)
        changed[at] ^= 1 << (at % 8)
        assert not _holds(key, text, bytes(changed)), at
    for one in (b"", signature[:-1], signature + b"\0", b"\0" * len(signature)):
        assert not _holds(key, text, one)


def _der(r: int, s: int) -> bytes:
    return utils.encode_dss_signature(r, s)


@pytest.mark.parametrize(
    "change",
    [
        lambda r, s: (0, s),
        lambda r, s: (r, 0),
        lambda r, s: (r + N, s),
        lambda r, s: (r, s + N),
        lambda r, s: (N, s),
        lambda r, s: (0, 0),
    ],
)
def test_numbers_out_of_range_are_refused(change: Callable[[int, int], tuple[int, int]]) -> None:
    """Of ES256: 0, and what is equal modulo the order; the control: the other s is valid."""
    key, text = EcKey(), b"allow"
    r, s = utils.decode_dss_signature(key.sign(text))
    assert not _holds(key, text, _der(*change(r, s)))
    assert _holds(key, text, _der(r, N - s))


def test_a_number_that_ed25519_has_below_its_order_is_refused_above() -> None:
    """S and S plus the order would both be valid without that (RFC 8032, 5.1.7)."""
    key, text = EdKey(), b"allow"
    signature = key.sign(text)
    s = int.from_bytes(signature[32:], "little") + L
    assert not _holds(key, text, signature[:32] + s.to_bytes(32, "little"))


def test_a_point_off_the_curve_is_no_key() -> None:
    """It would make signatures that others can forge."""
    key = EcKey()
    cose = {**key.cose, -3: b"\1" * 32}
    assert not verify_signature(cbor2.dumps(cose), b"allow", key.sign(b"allow"))


@given(st.integers(1, N - 1), st.integers(1, N - 1), st.binary(max_size=40))
def test_random_numbers_are_judged_as_the_library_judges_them(r: int, s: int, text: bytes) -> None:
    """Nothing is valid here that is not valid there."""
    key = EcKey()
    try:
        key._key.public_key().verify(_der(r, s), text, ec.ECDSA(SHA256()))
        theirs = True
    except InvalidSignature:
        theirs = False
    assert _holds(key, text, _der(r, s)) is theirs


async def _exported(home: Path) -> Path:
    """Let Ana deny one command, and export it."""
    to = home / "evidence.jsonl"
    async with gate_at(home) as gate:
        asked = await gate.submit(request("touch x", cwd=home))
        assert isinstance(asked, Pending)
        await gate.answer(says(asked.run_id, ApprovalReply.DENY))
        await gate.wait(asked.run_id)

        def read(ids: tuple[str, ...]) -> Any:
            return open_and_read(f"sqlite:///{home / 'state.db'}", recorded, ids)

        await asyncio.to_thread(export, home / "audit.jsonl", read, ExportScope(), to)
    return to


async def test_whether_a_noted_hash_was_compared_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without one, no one knows whether all of a file was made again."""
    file = await _exported(tmp_path)
    noted = hashlib.sha256(file.read_bytes()).hexdigest()
    said = []
    for options in ((), ("--sha256", noted), ("--sha256", "0" * 64)):
        code = main([str(file), *options])
        said.append((code, "checked by nothing that was noted" in capsys.readouterr().out))

    assert said == [(0, True), (0, False), (1, False)]


async def test_a_decision_has_the_votes_of_the_journal(tmp_path: Path) -> None:
    """Sealing a file again with other votes contradicts the journal's line; the control."""
    records = [json.loads(line) for line in (await _exported(tmp_path)).read_bytes().splitlines()]
    assert verify(io.BytesIO(resealed(records))).problems == []
    of(records, "approval")["votes"] = ["memory:eve"]

    problems = verify(io.BytesIO(resealed(records))).problems

    assert any("the journal has other votes" in one for one in problems)


def test_whose_keys_were_checked_is_said() -> None:
    """Those in the file prove less than those that were noted elsewhere; codes prove no key."""
    header: dict[str, Any] = {"forgotten": []}
    proofs: dict[str, list[dict[str, Any]]] = {
        "one": [{"passkey": "k"}, {"passkey": None}],
        "two": [{"passkey": "k"}],
    }
    said = {
        whose: " ".join(_notes(Export(header=header, proofs=proofs, keys=keys)))
        for whose, keys in (("in this file", {}), ("noted elsewhere", {"k": "key"}))
    }

    for whose, words in said.items():
        assert words == f"2 signed by passkeys whose keys are {whose}, 1 by a code"

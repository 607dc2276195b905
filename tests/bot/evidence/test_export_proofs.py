"""Export what approvers proved their answers with, which the verifier checks."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.evidence.export import VERIFIER, export
from bot.evidence.journal_slice import ExportScope
from core.model.evidence import text_hash
from core.store.engine.clock import now_ms
from core.store.engine.read_only import open_and_read
from core.store.people import passkeys, people, totp_keys
from core.store.views.evidence import recorded
from core.trust.passkeys import relying_party
from core.trust.totp import new_secret
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.authenticator_app import code_at
from tests.support.evidence_export import verified
from tests.support.evidence_tampering import of, rechained, resealed
from tests.support.page_browser import PageBrowser
from tests.support.passkey_device import EcKey, EdKey, PasskeyDevice, RsaKey, SigningKey, encoded

Record = dict[str, Any]
Change = Callable[[list[Record]], object]
KINDS: tuple[type[SigningKey], ...] = (EcKey, EdKey, RsaKey)


@dataclass(frozen=True, slots=True)
class Exported:
    """An export of answers of each kind: by passkeys of three kinds, by a code, by a denial."""

    file: Path
    devices: tuple[PasskeyDevice, ...]

    @property
    def records(self) -> list[Record]:
        """Return its lines, freshly read each time."""
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def changed(self, change: Change, folder: Path) -> Any:
        """Return what the verifier says about the file after changing and sealing it again."""
        rows = self.records
        change(rows)
        file = folder / "changed.jsonl"
        file.write_bytes(resealed(rows))
        (folder / VERIFIER).write_bytes(self.file.with_name(VERIFIER).read_bytes())
        return verified(file)


def _by_passkey(home: ApiGateway, device: PasskeyDevice, asked: str) -> None:
    """Allow with a passkey, as the page's script does."""
    ana = PageBrowser.signed_in(home)
    path = f"/approve/{asked}/passkey"
    drawn = ana.submit(path, decision="allow-once").json()
    party = relying_party(home.url)
    assert party is not None
    challenge = base64.urlsafe_b64decode(drawn["options"]["challenge"] + "==")
    signed = device.sign(challenge, party)
    response = {
        "clientDataJSON": signed.client_data,
        "authenticatorData": signed.authenticator_data,
        "signature": signed.signature,
    }
    credential = {"id": device.id, "rawId": device.id, "type": "public-key", "response": response}
    fields = {"nonce": drawn["nonce"], "credential": json.dumps(credential)}
    done = ana.answer(asked, "allow-once", **fields)
    assert done.status_code == 303, done.text


def _by_code(home: ApiGateway, asked: str) -> None:
    """Allow with an app's code, as a second person."""
    store, secret = home.gateway.store, new_secret()
    sealed = home.gateway.gate.broker.seals.seal(secret, totp_keys.use_of("ben"))
    home.do(store.write(people.add, "ben"))
    home.do(store.write(totp_keys.enrol, "ben", sealed, "uid:0"))
    ben = PageBrowser.signed_in(home, "ben")
    done = ben.answer(asked, "allow-once", totp=code_at(secret, home.do(store.read(now_ms))))
    assert done.status_code == 303, done.text


def _answered(home: ApiGateway) -> tuple[PasskeyDevice, ...]:
    """Answer in each way; the passkeys are forgotten before the export is made."""
    devices = []
    for kind in KINDS:
        device = PasskeyDevice(encoded(kind.__name__.encode()), key=kind())
        row = ("ana", device.id, device.public_key, 0, "a browser", "uid:0")
        home.do(home.gateway.store.write(passkeys.add, *row))
        _by_passkey(home, device, _ask(home, kind.__name__))
        home.do(home.gateway.store.write(passkeys.forget, device.id))
        devices.append(device)
    _by_code(home, _ask(home, "code"))
    PageBrowser.signed_in(home).answer(_ask(home, "denied"), "deny")
    return tuple(devices)


def _ask(home: ApiGateway, branch: str) -> str:
    return str(home.ask(f"git push --force origin {branch}")["id"])


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Answer in each way, and export as the command does."""
    folder = tmp_path_factory.mktemp("proofs")

    def both(config: Record) -> None:
        config["approvals"]["exec"]["approvers"] = ["person:ana", "person:ben"]

    with api_gateway(folder / "home", timeout=600, step_up=True, change=both) as home:
        devices = _answered(home)
        settings = home.gateway.settings
        to = folder / "evidence.jsonl"
        export(
            settings.audit_path,
            lambda ids: open_and_read(settings.store_url, recorded, ids),
            ExportScope(),
            to,
        )
    return Exported(to, devices)


def test_what_each_passkey_signed_is_checked_with_the_standard_library(exported: Exported) -> None:
    """ES256, EdDSA, RS256 and a code; also after the passkeys are forgotten."""
    done = verified(exported.file)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "3 signed by passkeys whose keys are in this file, 1 by a code" in done.stdout


def test_keys_that_were_noted_elsewhere_are_the_ones_that_count(
    exported: Exported, tmp_path: Path
) -> None:
    """With all of them it is valid; with another's, or one less, it is not."""
    noted = [{"id": one.id, "publicKey": one.public_key} for one in exported.devices]
    other = {**noted[0], "publicKey": PasskeyDevice(key=EcKey()).public_key}
    for keys, code in ((noted, 0), (noted[1:], 1), ([other, *noted[1:]], 1), ([], 2), ({}, 2)):
        file = tmp_path / "keys.json"
        file.write_text(json.dumps(keys))
        done = verified(exported.file, "--keys", str(file))
        assert done.returncode == code, done.stdout
    assert verified(exported.file, "--keys", str(tmp_path / "none")).returncode == 2


def _edit(name: str, value: object, number: int = 0) -> Change:
    return lambda rows: of(rows, "proof", number).update({name: value})


def _signed(part: str, change: Callable[[Any], Any], number: int = 0) -> Change:
    """Change a part of what a passkey signed."""

    def apply(rows: list[Record]) -> None:
        proof = of(rows, "proof", number)
        found = json.loads(proof["passkey"])
        at = found if part in found else found["signed"]
        at[part] = change(at[part])
        proof["passkey"] = json.dumps(found, separators=(",", ":"))

    return apply


def _summed(change: Change) -> Change:
    """Make a change, and make the journal's sums and hashes fit it, as its writer could."""

    def apply(rows: list[Record]) -> None:
        from core.audit.verify_export import proven_sum  # noqa: PLC0415

        change(rows)
        first = of(rows, "proof")["approval"]
        kept = [one for one in rows if one["kind"] == "proof" and one["approval"] == first]
        rechained(rows, "resolve", proven=proven_sum(kept))

    return apply


def _swap(rows: list[Record]) -> None:
    """Put the proof of the second approval under the first."""
    first, second = of(rows, "proof", 0), of(rows, "proof", 1)
    first.update({name: second[name] for name in ("passkey", "public_key")})


def _flip(text: str) -> str:
    return ("A" if text[20] != "A" else "B").join((text[:20], text[21:]))


CHANGES: dict[str, Change] = {
    "no proof at all": lambda rows: rows.remove(of(rows, "proof")),
    "another person": _edit("person", "mallory"),
    "another step of a code": _edit("step", 1, 3),
    "a passkey's taken for a code's": _edit("passkey", None),
    "another key": _edit("public_key", PasskeyDevice(key=EcKey()).public_key),
    "new chain, a swapped proof": _summed(_swap),
    "new chain, another key": _summed(_edit("public_key", PasskeyDevice(key=EcKey()).public_key)),
    "new chain, no key": _summed(_edit("public_key", None)),
    "new chain, another plan": _summed(_edit("digest", text_hash("another"))),
    "new chain, another answer": _summed(_edit("reply", "allow-always")),
    "new chain, after the deadline": _summed(_edit("at_ms", 9_999_999_999_999)),
    "new chain, another nonce": _summed(_signed("nonce", lambda _: "0" * 32)),
    "new chain, another limit": _summed(_signed("limit", lambda _: "7d")),
    "new chain, another signed answer": _summed(_signed("reply", lambda _: "allow-always")),
    "new chain, another signature": _summed(_signed("signature", _flip)),
    "new chain, other client data": _summed(_signed("client_data", _flip)),
    "new chain, other flags": _summed(_signed("authenticator_data", _flip)),
    "new chain, what is no signature": _summed(_signed("signature", lambda _: "AAAA")),
    "new chain, what is no proof": _summed(_edit("passkey", "[]")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_tampering_is_found(exported: Exported, tmp_path: Path, change: Change) -> None:
    """Even by a user who can write the journal, the store and the export alike."""
    done = exported.changed(change, tmp_path)
    assert (done.returncode, done.stderr) == (1, ""), done.stdout
    assert "broken: " in done.stdout


def test_an_unchanged_file_sealed_anew_holds(exported: Exported, tmp_path: Path) -> None:
    """The control: sealing and chaining again are not what is found."""
    assert exported.changed(lambda _: None, tmp_path).returncode == 0
    assert exported.changed(_summed(lambda _: None), tmp_path).returncode == 0

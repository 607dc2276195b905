"""Check an export of `sayso audit export` offline: `python3 verify.py FILE`.

This one file needs Python 3.11 and its standard library, nothing of Sayso. It checks

- the seal: no byte of the file was changed since it was written;
- the chain: each journal line has the hash of the one before, none is missing or changed;
- the prompts: each text has the SHA-256 by which it is called;
- the decisions: what the journal says of each is what the export says, it came before the deadline,
  from somebody who had been shown the prompt, and the sum over all that was shown is the one in the
  journal; the votes are those of the journal; nothing that was asked about started before it was
  allowed;
- the proofs: what a passkey signed is this approval, plan and answer, by its public key, on one
  page, by a person whom the passkey had verified; a code of an app is of the time of the answer.

Whoever can write the journal and the export can forge both from beginning to end. So keep what
`sayso audit export` printed on another machine, and give it here: `--sha256`, `--head`. Nobody can
forge what a passkey signed: with the approvers' public keys, noted elsewhere, in `--keys`, each
proof must be of one of these. Exit code 0: all is as it was; 1: something is not; 2: the file
cannot be read.
"""

import argparse
import base64
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

VERSION = 1
_SEAL = b',"hash":"'
_END = b'"}'
_SEALED = len(_SEAL) + 64 + len(_END)
_BY_PEOPLE = ("allowed", "denied")
_SHOWN = (
    "key", "surface", "channel", "place", "message", "account", "name", "hash", "at_ms",
)  # fmt: skip
_SAME = (
    ("state", "state"), ("reply", "reply"), ("by", "by"), ("digest", "digest"), ("note", "note"),
    ("decided_ms", "decided_ms"), ("deadline_ms", "deadline_ms"),
)  # fmt: skip
_ASKED = ("agent", "session", "command", "digest", "requester")
_PROVEN = ("person", "digest", "reply", "step", "at_ms", "passkey", "public_key")
_STEP_MS = 30_000
_LATE_STEPS = 2
"""How far a code's step may be from its answer: a phone's clock, and the time to answer."""
Json = dict[str, Any]


class Broken(Exception):
    """The file is not what was written; the text says how."""


@dataclass
class Export:
    """What was read from a file; ``last`` is what the last journal line said.

    ``keys`` are public keys of passkeys by their ids, as noted elsewhere; empty: none were.
    """

    header: Json = field(default_factory=dict)
    seq: int = 0
    last: str = ""
    lines: int = 0
    asked: dict[str, Json] = field(default_factory=dict)
    resolved: dict[str, Json] = field(default_factory=dict)
    voted: dict[str, Json] = field(default_factory=dict)
    started: list[tuple[int, str, str]] = field(default_factory=list)
    approvals: dict[str, Json] = field(default_factory=dict)
    shown: dict[str, list[Json]] = field(default_factory=dict)
    texts: dict[tuple[str, str], int] = field(default_factory=dict)
    proofs: dict[str, list[Json]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    sha256: str = ""


@dataclass(frozen=True)
class Verdict:
    """What is wrong, and what a reader should know; ``export`` is what was read."""

    problems: list[str]
    notes: list[str]
    export: Export


def verify(
    file: BinaryIO, sha256: str = "", head: str = "", keys: dict[str, str] | None = None
) -> Verdict:
    """Check an open export; ``sha256``, ``head`` and ``keys`` are what was noted elsewhere."""
    export = Export(keys=keys or {})
    try:
        _read(file, export)
        problems = list(_problems(export))
    except Broken as broken:
        problems = [str(broken)]
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as odd:
        problems = [f"it is not an export of this version: {type(odd).__name__} {odd}"]
    if sha256 and sha256 != export.sha256:
        problems.append("it is not the file whose SHA-256 was noted")
    if head and head != export.last:
        problems.append("its journal does not end with the line whose hash was noted")
    return Verdict(problems, [] if problems else list(_notes(export)), export)


def _read(file: BinaryIO, export: Export) -> None:
    whole, sealed = hashlib.sha256(), False
    before = hashlib.sha256()
    for number, line in enumerate(file, 1):
        if sealed:
            raise Broken(f"line {number} follows the seal")
        whole.update(line)
        if not line.endswith(b"\n"):
            raise Broken(f"line {number} is cut short")
        record = json.loads(line)
        sealed = _take(export, record, number, before.hexdigest())
        before.update(line)
    export.sha256 = whole.hexdigest()
    if not sealed:
        raise Broken("it has no seal: it was cut off")


def _take(export: Export, record: Json, number: int, before: str) -> bool:
    """Take one line; return whether it was the seal."""
    kind = record["kind"]
    if (number == 1) != (kind == "export"):
        raise Broken("it does not begin as an export does, once")
    if kind == "seal":
        if record["sha256"] != before or record["lines"] != number - 1:
            raise Broken("the seal does not match: the file was changed")
        return True
    _TAKEN[kind](export, record)
    return False


def _header(export: Export, record: Json) -> None:
    if record["version"] != VERSION:
        raise Broken(f"it is of version {record['version']}, this program knows {VERSION}")
    export.header = record
    export.seq, export.last = record["journal"]["first_seq"] - 1, record["journal"]["prev"]


def _journal(export: Export, record: Json) -> None:
    raw = record["line"].encode()
    due, named = export.seq + 1, f"journal record {export.seq + 1}"
    if not (raw.endswith(_END) and raw[-_SEALED:].startswith(_SEAL)):
        raise Broken(f"{named} does not end in a hash")
    digest = hashlib.sha256(raw[:-_SEALED] + b"}").hexdigest()
    if digest.encode() != raw[-64 - len(_END) : -len(_END)]:
        raise Broken(f"{named} does not have its hash: it was changed")
    line = json.loads(raw)
    if line["seq"] != due:
        raise Broken(f"{named} is due, {line['seq']} is there")
    if line["prev"] != export.last:
        raise Broken(f"{named} does not follow the one before")
    export.seq, export.last, export.lines = due, digest, export.lines + 1
    _note(export, line)


def _note(export: Export, line: Json) -> None:
    kind, run = line["kind"], str(line.get("run"))
    if kind == "ask":
        if run in export.asked:
            raise Broken(f"{run} is asked twice in the journal")
        export.asked[run] = line
    elif kind == "resolve":
        known = export.resolved.setdefault(run, line)
        if known["state"] != line["state"]:
            raise Broken(f"{run} ends twice in the journal: {known['state']}, {line['state']}")
    elif kind == "vote":
        export.voted[run] = line
    elif kind == "start":
        export.started.append((line["seq"], run, line["digest"]))


def _approval(export: Export, record: Json) -> None:
    if record["id"] in export.approvals:
        raise Broken(f"{record['id']} is there twice")
    export.approvals[record["id"]] = record


def _showing(export: Export, record: Json) -> None:
    export.shown.setdefault(record["approval"], []).append(record)


def _text(export: Export, record: Json) -> None:
    if hashlib.sha256(record["text"].encode()).hexdigest() != record["hash"]:
        raise Broken(f"a prompt of {record['approval']} does not have its hash: it was changed")
    export.texts[record["approval"], record["hash"]] = 0


def _proof(export: Export, record: Json) -> None:
    export.proofs.setdefault(record["approval"], []).append(record)


_TAKEN = {
    "export": _header,
    "journal": _journal,
    "approval": _approval,
    "shown": _showing,
    "proof": _proof,
    "text": _text,
}


def _problems(export: Export) -> Iterator[str]:
    journal = export.header["journal"]
    if (export.seq, export.last) != (journal["last_seq"], journal["head"]):
        yield f"the journal ends at record {export.seq}, not at {journal['last_seq']}"
    yield from _complete(export)
    yield from _prompts(export)
    for one in export.approvals.values():
        yield from _asked(export, one)
        yield from _decision(export, one)
        yield from _votes(export, one)
        yield from _proven(export, one)
    yield from _starts(export)


def _complete(export: Export) -> Iterator[str]:
    """Find what the journal names and the export leaves out, and the other way around."""
    gone = set(export.header["forgotten"])
    named = export.asked.keys() | export.resolved.keys()
    for run in sorted(named - export.approvals.keys() - gone):
        yield f"{run} is in the journal, its approval is missing"
    for run in sorted(gone & export.approvals.keys()):
        yield f"{run} is there, and said to be forgotten"
    for run in sorted(export.approvals.keys() - named):
        yield f"{run} is not in the journal"
    for run in sorted(export.shown.keys() - export.approvals.keys()):
        yield f"{run} was shown, its approval is missing"
    for run in sorted(export.proofs.keys() - export.approvals.keys()):
        yield f"{run} was proven, its approval is missing"


def _prompts(export: Export) -> Iterator[str]:
    """Check that each showing has its text, and each text was shown."""
    for run, rows in export.shown.items():
        for one in rows:
            key = run, one["hash"]
            if key in export.texts:
                export.texts[key] += 1
            elif one["hash"]:
                yield f"{run}: the text that {one['key']} showed is missing"
    for (run, digest), used in export.texts.items():
        if not used:
            yield f"{run}: nothing showed the text {digest[:12]}…"


def _asked(export: Export, one: Json) -> Iterator[str]:
    asked = export.asked.get(one["id"])
    if asked is None:
        return
    for name in _ASKED:
        if asked[name] != one[name]:
            yield f"{one['id']}: the journal has another {name}"


def _decision(export: Export, one: Json) -> Iterator[str]:
    run, record = one["id"], export.resolved.get(one["id"])
    if record is None:
        if one["state"] != "pending":
            yield f"{run} is {one['state']}, the journal does not say so"
        return
    if "decided_ms" not in record:  # for silence the journal has the state alone
        if record["state"] != one["state"]:
            yield f"{run}: the journal has another state"
        return
    shared = "with" in record
    for ours, theirs in _SAME[:3] if shared else _SAME:
        if one[ours] != record[theirs]:
            yield f"{run}: the journal has another {theirs}"
    if not shared:
        yield from _rests_on(export, one, record)


def _votes(export: Export, one: Json) -> Iterator[str]:
    """Check the votes: those of the decision, before it at least those of the last vote."""
    run, vote = one["id"], export.voted.get(one["id"])
    end = export.resolved.get(run, {})
    if "decided_ms" in end and "with" not in end and one["votes"] != end["votes"]:
        yield f"{run}: the journal has other votes"
    if vote is None:
        return
    if one["quorum"] != vote["quorum"]:
        yield f"{run}: the journal has another quorum"
    if "decided_ms" not in end and not set(vote["votes"]) <= set(one["votes"]):
        yield f"{run}: votes of the journal are missing"


def _rests_on(export: Export, one: Json, record: Json) -> Iterator[str]:
    run, rows = one["id"], export.shown.get(one["id"], [])
    if record["shown"] is not None and record["shown"] != basis_of(rows):
        yield f"{run}: what was shown is not what the journal has the sum of"
    if one["by"] is None or one["state"] not in _BY_PEOPLE:
        return
    if one["decided_ms"] >= one["deadline_ms"]:
        yield f"{run} was answered after its deadline"
    if one["decided_ms"] < one["created_ms"]:
        yield f"{run} was answered before it was asked"
    since = seen_since(rows, one["by"])
    if record["shown"] is not None and since != record["seen_ms"]:
        yield f"{run}: whoever answered was not shown it when the journal says"
    if since is not None and since > one["decided_ms"]:
        yield f"{run} was shown only after the answer to the person who gave it"
    if one["state"] == "allowed" and len(record["votes"]) < one["quorum"] > 1:
        yield f"{run} needed {one['quorum']} people, {len(record['votes'])} allowed it"


def _proven(export: Export, one: Json) -> Iterator[str]:
    """Check what a step-up was proven with: that none is missing, and what each is worth."""
    run, record = one["id"], export.resolved.get(one["id"], {})
    rows = export.proofs.get(run, [])
    # Neither journals from before there was a sum nor an answer shared with another have one.
    summed = record.get("proven") if "with" not in record else None
    if summed is not None and summed != proven_sum(rows):
        yield f"{run}: what proved the answer is not what the journal has the sum of"
    for row in rows:
        fault = _worth(one, row, export.keys)
        if fault:
            yield f"{run}: what {row['person']} proved the answer with {fault}"


def proven_sum(rows: list[Json]) -> str:
    """Return the SHA-256 over all proofs of an answer, empty for none."""
    ordered = sorted(rows, key=lambda one: (one["at_ms"], one["person"]))
    lines = (json.dumps([one[name] for name in _PROVEN], separators=(",", ":")) for one in ordered)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest() if rows else ""


def _worth(one: Json, row: Json, keys: dict[str, str]) -> str:
    """Return what is wrong with a proof, nothing where it holds."""
    if row["digest"] != one["digest"]:
        return "is for another plan"
    if not one["created_ms"] <= row["at_ms"] < one["deadline_ms"]:
        return "came before the question or after its deadline"
    if row["passkey"] is None:
        late = abs(row["step"] - row["at_ms"] // _STEP_MS)
        return "is a code of another time" if late > _LATE_STEPS else ""
    signed = json.loads(row["passkey"])
    key = keys.get(signed["signed"]["passkey"], "") if keys else row["public_key"]
    if not key:
        return "was signed by a passkey whose public key is not known"
    if signed["reply"] != row["reply"]:
        return "is for another answer"
    asked = ["sayso-approve-v1", one["id"], row["digest"], row["reply"], signed["limit"]]
    challenge = hashlib.sha256(json.dumps([*asked, signed["nonce"]]).encode()).digest()
    return _signed(signed["signed"], challenge, _bytes(key))


def _signed(signed: Json, challenge: bytes, key: bytes) -> str:
    """Return what is wrong with what an authenticator returned (WebAuthn level 2, 7.2)."""
    client, data = _bytes(signed["client_data"]), _bytes(signed["authenticator_data"])
    said = json.loads(client)
    host = str(said["origin"]).partition("://")[2].partition(":")[0]
    if said["type"] != "webauthn.get" or _bytes(said["challenge"]) != challenge:
        return "is a signature over something else"
    if said.get("crossOrigin") or data[:32] != hashlib.sha256(host.encode()).digest():
        return "was signed on another page than it says"
    if data[32] & _PRESENT != _PRESENT:
        return "was signed without verifying the person"
    text = data + hashlib.sha256(client).digest()
    held = verify_signature(key, text, _bytes(signed["signature"]))
    return "" if held else "does not have the signature of its passkey"


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _starts(export: Export) -> Iterator[str]:
    for seq, run, digest in export.started:
        if run not in export.asked:
            continue
        record = export.resolved.get(run)
        if record is None or record["state"] != "allowed" or record["seq"] > seq:
            yield f"{run} started without being allowed"
        elif digest != export.asked[run]["digest"]:
            yield f"{run} started as something else than was asked"


def basis_of(rows: list[Json]) -> str:
    """Return the SHA-256 over all that was shown before a decision."""
    waiting = sorted((one for one in rows if one["waiting"]), key=_order)
    lines = (json.dumps([one[name] for name in _SHOWN], separators=(",", ":")) for one in waiting)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _order(one: Json) -> tuple[int, str]:
    return one["at_ms"], one["key"]


def seen_since(rows: list[Json], by: str) -> int | None:
    """Return since when somebody could read what they answered, ``None`` where nothing says so."""
    channel, _, account = by.partition(":")
    waiting = [one for one in rows if one["waiting"] and one["channel"] == channel]
    looks = [one for one in waiting if one["account"] == account]
    chats = {_chat(one["place"]) for one in looks if one["surface"] == "answered"}
    copies = [one for one in waiting if not one["account"] and _chat(one["place"]) in chats]
    read = [one for one in looks if one["surface"] != "answered" or one["message"]]
    own = [int(one["at_ms"]) for one in (*read, *copies)]
    return min(own, default=None)


# Signatures, as far as passkeys make them; nothing secret is computed with, so timing may show.

_PRESENT = 0x05
"""The flags of a person who was there (UP) and whom the authenticator verified (UV)."""
_P256 = 2**256 - 2**224 + 2**192 + 2**96 - 1
_P256_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_P256_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
_P256_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_ED = 2**255 - 19
_ED_L = 2**252 + 27742317777372353535851937790883648493
_ED_D = -121665 * pow(121666, -1, _ED) % _ED
_ED_SIZES = 32, 64
"""Bytes of a public key, and of a signature."""
_RSA_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")
_ES256, _EDDSA, _RS256 = (2, -7, 1), (1, -8, 6), (3, -257, None)
"""Key type, algorithm and curve of the keys that passkeys may have here."""
_CBOR_NUMBERS, _CBOR_TEXTS, _CBOR_MAP, _CBOR_INLINE = (0, 1), (2, 3), 5, 24
Point = tuple[int, int] | None
"""A point of a curve; ``None`` is the one at infinity of P-256."""


def verify_signature(key: bytes, text: bytes, signature: bytes) -> bool:
    """Check a signature by a COSE key (RFC 9053): ES256, EdDSA over Ed25519, or RS256."""
    parts = _cbor(key, 0)[0]
    kind = parts[1], parts[3], parts[-1] if isinstance(parts[-1], int) else None
    if kind == _ES256:
        point = int.from_bytes(parts[-2], "big"), int.from_bytes(parts[-3], "big")
        return _is_es256(point, text, signature)
    if kind == _EDDSA:
        return _is_ed25519(parts[-2], text, signature)
    if kind == _RS256:
        whole = int.from_bytes(parts[-1], "big"), int.from_bytes(parts[-2], "big")
        return _is_rs256(whole, text, signature)
    raise ValueError(f"a public key of a kind that passkeys of Sayso do not have: {kind}")


def _cbor(data: bytes, at: int) -> tuple[Any, int]:
    """Read one item of what COSE keys are made of (RFC 8949); return it and where it ends."""
    major, short, at = data[at] >> 5, data[at] & 31, at + 1
    size = 0 if short < _CBOR_INLINE else 1 << (short - _CBOR_INLINE)
    value = int.from_bytes(data[at : at + size], "big") if size else short
    at += size
    if major in _CBOR_NUMBERS:
        return (-1 - value if major else value), at
    if major in _CBOR_TEXTS:
        return data[at : at + value], at + value
    if major != _CBOR_MAP:
        raise ValueError("a public key that is not a map of numbers and bytes")
    found: dict[Any, Any] = {}
    for _ in range(value):
        name, at = _cbor(data, at)
        found[name], at = _cbor(data, at)
    return found, at


def _is_es256(key: tuple[int, int], text: bytes, signature: bytes) -> bool:
    """Check ECDSA over P-256 with SHA-256 (FIPS 186-5, 6.4.2)."""
    x, y = key
    r, s = _der(signature)
    on_curve = (y * y - x * x * x + 3 * x - _P256_B) % _P256 == 0
    if not (on_curve and max(key) < _P256 and 0 < r < _P256_N and 0 < s < _P256_N):
        return False
    digest = int.from_bytes(hashlib.sha256(text).digest(), "big")
    inverse = pow(s, -1, _P256_N)
    ours = _times(digest * inverse % _P256_N, _P256_G, _add)
    found = _add(ours, _times(r * inverse % _P256_N, key, _add))
    return found is not None and found[0] % _P256_N == r


def _der(signature: bytes) -> tuple[int, int]:
    """Read the two numbers of a signature; whatever is not written as DER is refused."""
    numbers, at = [], 2
    for _ in range(2):
        size = signature[at + 1]
        numbers.append(int.from_bytes(signature[at + 2 : at + 2 + size], "big"))
        at += 2 + size
    body = b"".join(_der_number(one) for one in numbers)
    if signature != b"\x30" + bytes([len(body)]) + body:
        raise ValueError("a signature that is not DER")
    return numbers[0], numbers[1]


def _der_number(value: int) -> bytes:
    raw = value.to_bytes(value.bit_length() // 8 + 1, "big")
    return b"\x02" + bytes([len(raw)]) + raw


def _times(count: int, point: Point, add: Callable[[Point, Point], Point]) -> Point:
    """Return a point added to itself this many times."""
    found: Point = None
    while count:
        if count & 1:
            found = add(found, point)
        point, count = add(point, point), count >> 1
    return found


def _add(one: Point, other: Point) -> Point:
    """Add two points of P-256."""
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2 and (y1 + y2) % _P256 == 0:
        return None
    if one == other:
        slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, _P256) % _P256
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, _P256) % _P256
    x3 = (slope * slope - x1 - x2) % _P256
    return x3, (slope * (x1 - x3) - y1) % _P256


def _is_ed25519(key: bytes, text: bytes, signature: bytes) -> bool:
    """Check Ed25519 (RFC 8032, 5.1.7), without its factor of 8."""
    if (len(key), len(signature)) != _ED_SIZES:
        return False
    owner, drawn = _ed_point(key), _ed_point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if owner is None or drawn is None or s >= _ED_L:
        return False
    digest = hashlib.sha512(signature[:32] + key + text).digest()
    count = int.from_bytes(digest, "little") % _ED_L
    base = _ed_point((4 * pow(5, -1, _ED) % _ED).to_bytes(32, "little"))
    ours = _times(s, base, _ed_add) or (0, 1)
    return ours == _ed_add(drawn, _times(count, owner, _ed_add) or (0, 1))


def _ed_point(raw: bytes) -> tuple[int, int] | None:
    """Return the point that 32 bytes stand for, ``None`` for none."""
    whole = int.from_bytes(raw, "little")
    sign, y = whole >> 255, whole & ((1 << 255) - 1)
    if y >= _ED:
        return None
    square = (y * y - 1) * pow(_ED_D * y * y + 1, -1, _ED) % _ED
    x = pow(square, (_ED + 3) // 8, _ED)
    if x * x % _ED != square:
        x = x * pow(2, (_ED - 1) // 4, _ED) % _ED
    if x * x % _ED != square or (x == 0 and sign):
        return None
    return (x if x & 1 == sign else _ED - x), y


def _ed_add(one: Point, other: Point) -> Point:
    """Add two points of Ed25519's curve, which has none at infinity."""
    (x1, y1), (x2, y2) = one or (0, 1), other or (0, 1)
    mixed = _ED_D * x1 * x2 * y1 * y2 % _ED
    x3 = (x1 * y2 + x2 * y1) * pow(1 + mixed, -1, _ED) % _ED
    return x3, (y1 * y2 + x1 * x2) * pow(1 - mixed, -1, _ED) % _ED


def _is_rs256(key: tuple[int, int], text: bytes, signature: bytes) -> bool:
    """Check RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017, 8.2.2), by the whole padded block."""
    modulus, exponent = key
    size = (modulus.bit_length() + 7) // 8
    value = int.from_bytes(signature, "big")
    if len(signature) != size or value >= modulus:
        return False
    tail = b"\0" + _RSA_SHA256 + hashlib.sha256(text).digest()
    padded = b"\0\1" + b"\xff" * (size - 2 - len(tail)) + tail
    return pow(value, exponent, modulus).to_bytes(size, "big") == padded


def _chat(place: str) -> str:
    return place.partition("/")[0]


def _notes(export: Export) -> Iterator[str]:
    by_people = [one for one in export.approvals.values() if one["by"] is not None]
    blind = [one for one in by_people if _seen(export, one) is None]
    if blind:
        yield f"{len(blind)} of them by somebody who was shown nothing that is on record"
    unread = [run for run, line in export.resolved.items() if line.get("shown", "") is None]
    if unread:
        yield f"{len(unread)} of which the journal does not have the sum of what was shown"
    proofs = [row for rows in export.proofs.values() for row in rows]
    if proofs:
        keys = sum(row["passkey"] is not None for row in proofs)
        whose = "noted elsewhere" if export.keys else "in this file"
        yield f"{keys} signed by passkeys whose keys are {whose}, {len(proofs) - keys} by a code"
    if export.header["forgotten"]:
        yield f"{len(export.header['forgotten'])} more in the journal, forgotten by the store"


def _seen(export: Export, one: Json) -> int | None:
    record = export.resolved.get(one["id"], {})
    if "with" in record:
        return record.get("seen_ms")
    return seen_since(export.shown.get(one["id"], []), one["by"])


def _noted(path: Path) -> dict[str, str]:
    """Return the passkeys of a file, as nodes' settings have them."""
    found = {one["id"]: one["publicKey"] for one in json.loads(path.read_text(encoding="utf-8"))}
    if not found:
        raise ValueError("an empty list would check nothing")
    return found


def _printable(text: str) -> str:
    """Return a text as a terminal shows it: what a forged file names must not move the cursor."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def main(arguments: list[str] | None = None) -> int:
    """Print the verdict on one file."""
    parser = argparse.ArgumentParser(
        prog="verify.py", description="check an export of `sayso audit export`"
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--sha256", default="", help="of the file, as it was noted elsewhere")
    parser.add_argument("--head", default="", help="hash of the last journal line, noted elsewhere")
    parser.add_argument(
        "--keys", type=Path, help='approvers\' passkeys, as JSON: [{"id": …, "publicKey": …}, …]'
    )
    args = parser.parse_args(arguments)
    try:
        keys = _noted(args.keys) if args.keys else None
        with args.file.open("rb") as file:
            verdict = verify(file, args.sha256, args.head, keys)
    except OSError as error:
        sys.stderr.write(f"{error.filename or args.file} cannot be read: {error.strerror}\n")
        return 2
    except (ValueError, KeyError, TypeError):
        sys.stderr.write(f"{args.keys} is not a list of passkeys\n")
        return 2
    for problem in verdict.problems:
        sys.stdout.write(f"broken: {_printable(problem)}\n")
    if verdict.problems:
        return 1
    if not (args.sha256 or args.head):
        verdict.notes.append("checked by nothing that was noted elsewhere (--sha256, --head)")
    found, notes = verdict.export, "".join(f"; {one}" for one in verdict.notes)
    decided = sum(one["by"] is not None for one in found.approvals.values())
    sys.stdout.write(
        f"ok: {found.lines} journal records, {len(found.approvals)} approvals, {decided} decided "
        f"by people{notes}; head {found.last}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

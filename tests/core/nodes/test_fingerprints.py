import pytest

from core.nodes.fingerprints import _word, fingerprint_words


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ((127, 0, 0, 1), "lusab babad"),
        ((63, 84, 220, 193), "gutih tugad"),
        ((140, 98, 193, 141), "mudof sakat"),
    ],
)
def test_words_are_proquints(address: tuple[int, ...], words: str) -> None:
    """Spell out the examples of the paper, which are IPv4 addresses."""
    assert f"{_word(bytes(address[:2]))} {_word(bytes(address[2:]))}" == words


def test_words_are_64_bits_of_the_hash_of_a_key() -> None:
    """The SHA-256 of 32 zero bytes begins 6668 7aad f862 bd77."""
    words = [_word(bytes.fromhex(part)) for part in ("6668", "7aad", "f862", "bd77")]
    assert fingerprint_words("00" * 32) == " ".join(words)


def test_one_bit_changes_the_words() -> None:
    """Keys that look alike do not read alike."""
    assert len({fingerprint_words(f"{n:064x}") for n in range(2_000)}) == 2_000

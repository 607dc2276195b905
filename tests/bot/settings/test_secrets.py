from pathlib import Path

import pytest

from bot.settings.secrets import MAX_BYTES, SecretMissing, fetch


def test_a_secret_comes_from_the_environment(tmp_path: Path) -> None:
    """{env: NAME} is that variable's value."""
    assert fetch({"env": "TOKEN"}, tmp_path, {"TOKEN": "s3cret"}) == "s3cret"


@pytest.mark.parametrize("content", ["s3cret", "s3cret\n", "s3cret\r\n"])
def test_a_secret_comes_from_a_file(tmp_path: Path, content: str) -> None:
    """{file: path} is the file's text; the line end that editors add is not part of it."""
    (tmp_path / "token").write_bytes(content.encode())

    assert fetch({"file": "token"}, tmp_path, {}) == "s3cret"
    assert fetch({"file": f"{tmp_path}/token"}, Path("/"), {}) == "s3cret"
    assert fetch({"file": "~/token"}, Path("/"), {"HOME": str(tmp_path)}) == "s3cret"


def test_only_one_line_end_is_taken_off(tmp_path: Path) -> None:
    """Anything else in it belongs to the secret."""
    (tmp_path / "token").write_text(" s3cret \n\n")

    assert fetch({"file": "token"}, tmp_path, {}) == " s3cret \n"


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ({"env": "TOKEN"}, "environment variable TOKEN is not set"),
        ({"file": "none"}, "No such file"),
        ({"file": "."}, "Is a directory"),
        ({"file": "bytes"}, "is not UTF-8 text"),
        ({"file": "empty"}, "is empty"),
        ({"file": "large"}, f"is larger than {MAX_BYTES} bytes"),
        ({"file": "nul\0"}, "cannot be read"),
        ({}, "write the secret as"),
        ({"evn": "TOKEN"}, "write the secret as"),
        ({"env": 1}, "write the secret as"),
        ({"env": "A", "file": "b"}, "write the secret as"),
    ],
)
def test_a_secret_that_cannot_be_had_says_why(
    tmp_path: Path, reference: dict[str, object], why: str
) -> None:
    """Each way to fail has its own sentence."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "large").write_text("x" * (MAX_BYTES + 1))

    with pytest.raises(SecretMissing, match=why):
        fetch(reference, tmp_path, {"TOKEN": ""})

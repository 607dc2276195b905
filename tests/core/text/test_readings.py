"""Read a text as it may be read, and know where each part of a reading is."""

import pytest

from core.text.readings import readings

ESC = "\x1b"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"gh{ESC}[1mp_abc", "ghp_abc"),
        (f"gh{ESC}[1m{ESC}[2mp_abc", "ghp_abc"),
        (f"{ESC}[31mpassword{ESC}[0m=x", "password=x"),
        ("password%3Dx", "password=x"),
        ("plain", "plain"),
    ],
)
def test_each_stretch_of_a_reading_is_a_stretch_of_the_text(text: str, read: str) -> None:
    """None is empty; together they are the reading without the signs that encodings represent."""
    (reading,) = [one for one in readings(text) if one.text == read]
    spans = list(reading.spans(0, len(read)))
    assert all(start < stop for start, stop in spans)
    kept = "".join(one for at, one in enumerate(read) if at not in reading.signs)
    assert "".join(text[start:stop] for start, stop in spans) == kept

"""Make a screenshot small: a palette of 256 colours instead of three bytes a pixel."""

import base64
import json
import struct
import zlib
from pathlib import Path

from tests.browser.devtools import Tab

_SCRIPT = Path(__file__).with_name("palette.js")
_INDEXED = 3


async def with_palette(png: bytes, tab: Tab) -> bytes:
    """Return the picture with its 256 most frequent colours; the browser reads and counts it."""
    encoded = json.dumps(base64.b64encode(png).decode())
    found = await tab.evaluate(f"({_SCRIPT.read_text(encoding='utf-8')})({encoded})")
    width, height = found["width"], found["height"]
    pixels = base64.b64decode(found["pixels"])
    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, len(pixels), width))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _INDEXED, 0, 0, 0)),
            _chunk(b"PLTE", bytes(found["palette"])),
            _chunk(b"IDAT", zlib.compress(rows, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

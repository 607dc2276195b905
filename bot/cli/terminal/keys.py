"""Detect `~.` typed at the start of a line, as ssh does."""

HELP = (
    "\r\n~.  leave the terminal; it goes on until its idle limit\r\n~~  type ~\r\n~?  this help\r\n"
)
_LINE_ENDS = b"\r\n"
_TILDE = 0x7E


class Keys:
    """What is typed, byte by byte; ``~`` is special only after the end of a line."""

    def __init__(self) -> None:
        self._at_start = True
        self._after_tilde = False
        self.left = False
        self.asked_help = False

    def take(self, data: bytes) -> bytes:
        """Return what to pass on; nothing that follows `~.` is."""
        passed = bytearray()
        for byte in data:
            if self.left:
                break
            if self._after_tilde:
                self._after_tilde = False
                passed += self._escaped(byte)
            elif byte == _TILDE and self._at_start:
                self._after_tilde = True
            else:
                passed.append(byte)
                self._at_start = byte in _LINE_ENDS
        return bytes(passed)

    def _escaped(self, byte: int) -> bytes:
        self._at_start = False
        if byte == ord("."):
            self.left = True
            return b""
        if byte == ord("?"):
            self.asked_help = self._at_start = True
            return b""
        if byte == _TILDE:
            return b"~"
        self._at_start = byte in _LINE_ENDS
        return bytes((_TILDE, byte))

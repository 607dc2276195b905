"""Name what can be wrong with a frame."""

from enum import IntEnum

Id = int | str


class Code(IntEnum):
    """Error codes: JSON-RPC 2.0's own, LSP's for cancellation, ours from -32000 on."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    CANCELLED = -32800
    FAILED = -32000
    FORBIDDEN = -32001
    DEADLINE = -32002
    BUSY = -32003
    STOPPING = -32004


class FrameError(ValueError):
    """A frame cannot be understood; ``id`` is its id if that could be read."""

    def __init__(self, code: Code, message: str, id: Id | None = None) -> None:  # noqa: A002 - the protocol's word
        super().__init__(message)
        self.code = code
        self.id = id

"""Follow one request to its end on the client's side: renew its lease, keep its output separate."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from core.model.result import StreamName
from core.remote.denials import Notice
from core.remote.result import RemoteResult
from core.remote.trust.envelope import Kind, Order, Sealer
from core.remote.trust.replay_window import wall_clock_ms
from core.remote.wire.frames import Accepted, BadFrame, End, Piece
from core.remote.wire.link import Link, LinkLost
from core.trust.ids import new_id

_RENEWALS = 3
"""A lease is renewed this often in its length, so that two may be lost."""
_ANSWER_S = 30.0
"""How long a host may take to admit or deny: its log has to reach the disk."""
_MOST_KEPT = 64 << 20


class _Ended(Exception):
    """The host reported how the request ended."""

    def __init__(self, end: End) -> None:
        super().__init__()
        self.end = end


@dataclass(slots=True)
class Call:
    """One request under way; ``agent_id`` is the host's agent."""

    agent_id: str
    order: Order
    sealer: Sealer
    clock: Callable[[], int] = wall_clock_ms
    request_id: str = field(default_factory=new_id)
    began: float = field(default_factory=time.monotonic)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    _kept: dict[StreamName, bytearray] = field(default_factory=dict)

    async def follow(self, link: Link) -> RemoteResult:
        """Send it, renew until it ends, and return how; a lost connection is a result as well."""
        try:
            await link.send(self.sealer.seal(Kind.RUN, self.request_id, self.clock(), self.order))
            accepted = await self._heard(link, _ANSWER_S)
            if not isinstance(accepted, Accepted):
                return self._lost()
            return await self._wait(link, accepted)
        except _Ended as over:
            return self._result(over.end)
        except (LinkLost, BadFrame):
            return self._lost()

    @property
    def age_ms(self) -> int:
        """Return how long it has been under way."""
        return round((time.monotonic() - self.began) * 1000)

    async def _wait(self, link: Link, accepted: Accepted) -> RemoteResult:
        renewing = asyncio.ensure_future(self._renew(link, accepted.lease_ms / 1000))
        cancelling = asyncio.ensure_future(self._cancel(link))
        silence_s = 2 * accepted.lease_ms / 1000
        try:
            async with asyncio.timeout(accepted.longest_ms / 1000):
                while True:
                    await self._heard(link, silence_s)
        except TimeoutError:
            return self._lost()
        finally:
            renewing.cancel()
            cancelling.cancel()

    async def _heard(self, link: Link, within_s: float) -> Accepted | None:
        """Handle one frame.

        Raises:
            _Ended: it was the last.
        """
        frame = await link.receive(within_s)
        if isinstance(frame, End):
            raise _Ended(frame)
        if isinstance(frame, Piece):
            kept = self._kept.setdefault(frame.stream, bytearray())
            kept += _content(frame)[: _MOST_KEPT - len(kept)]
        return frame if isinstance(frame, Accepted) else None

    async def _renew(self, link: Link, lease_s: float) -> None:
        try:
            while True:
                await asyncio.sleep(lease_s / _RENEWALS)
                await link.send(self.sealer.seal(Kind.RENEW, self.request_id, self.clock()))
        except LinkLost:
            return  # the reader gets the same error

    async def _cancel(self, link: Link) -> None:
        await self.cancelled.wait()
        try:
            await link.send(self.sealer.seal(Kind.CANCEL, self.request_id, self.clock()))
        except LinkLost:
            return

    def _lost(self) -> RemoteResult:
        """Return what is known: the command may have run, and may have ended."""
        stdout, stderr = self._streams()
        return RemoteResult(
            request_id=self.request_id,
            duration_ms=self.age_ms,
            stdout=stdout,
            stderr=stderr,
            stdout_bytes_total=len(stdout),
            stderr_bytes_total=len(stderr),
            warnings=(Notice.CONNECTION_LOST,),
        )

    def _result(self, end: End) -> RemoteResult:
        stdout, stderr = self._streams()
        return RemoteResult(
            request_id=self.request_id,
            code=end.code,
            signal=end.signal,
            duration_ms=end.duration_ms,
            stdout=stdout,
            stderr=stderr,
            stdout_bytes_total=end.stdout_bytes_total,
            stderr_bytes_total=end.stderr_bytes_total,
            truncated=end.truncated,
            denial_reason=end.denial_reason,
            warnings=end.warnings,
        )

    def _streams(self) -> tuple[bytes, bytes]:
        kept = self._kept
        return bytes(kept.get(StreamName.STDOUT, b"")), bytes(kept.get(StreamName.STDERR, b""))


def _content(piece: Piece) -> bytes:
    try:
        return piece.content
    except ValueError:
        raise BadFrame("a piece of output is not base64") from None

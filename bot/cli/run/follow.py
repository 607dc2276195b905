"""Follow one request: frames in, output out, despite signals and restarts of the gateway."""

import select
from time import monotonic

from bot.cli.run.output_streams import Outlets
from bot.cli.run.signals import Signals
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from bot.cli.run.spinner import Notice, Spinner

    Answer = dict[str, Any]

_PATIENCE_S = 30.0
"""How long to wait for a gateway that disconnected; a restart takes a few seconds."""
_RETRY_S = 0.2
_STOPPING, _GAVE_UP, _BUSY, _LATE = -32004, -32800, -32003, -32002
"""Error codes: the gateway stops, it gave up, it has no room, the wait was too long."""
_ASK_WHERE_S = 2.0


class Detached(Exception):
    """A second signal came: the user wants to leave now."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class FollowedRequest:
    """One request, followed until its answer.

    ``outlets`` is ``None`` if output is not shown as it comes; ``waiting`` creates what shows that
    somebody is asked; ``waits`` is false if nobody waits for people or for the run. ``sent``: the
    gateway may have received the request.
    """

    def __init__(
        self,
        client: Client,
        signals: Signals,
        outlets: Outlets | None,
        waiting: "Callable[[], Spinner | Notice] | None",
        *,
        waits: bool,
    ) -> None:
        self.run_id: str | None = None
        self.sent = False
        self._method = ""
        self._params: dict[str, object] = {}
        self._client = client
        self._signals = signals
        self._outlets = outlets
        self._waiting = waiting
        self._spinner: Spinner | Notice | None = None
        self._waits = waits
        self._main = self._where = 0
        self._cancelled = False
        self._ask_where_at = 0.0
        self._until = 0.0

    @property
    def interrupted(self) -> int:
        """Return the signal that requested the end, 0 for none."""
        return self._signals.received[0] if self._signals.received else 0

    def answer(self, method: str, params: "dict[str, object]") -> "Answer":
        """Send the request, and return the answer.

        Raises:
            Detached: a second signal came; the run continues.
            BrokenPipeError: nobody reads what is printed.
            GatewayUnreachable: no gateway listens, and nothing was sent.
            Unanswered: it was sent, and the gateway is gone.
            SaysoError: the error that the gateway returned.
        """
        self._method, self._params = method, params
        try:
            self._ask(method, params)
        except OSError as error:
            self._client.lost(error)
        while True:
            for frame in self._frames():
                found = self._take(frame)
                if found is not None:
                    return found

    def say(self, words: str) -> None:
        """Print a line on standard error; after a signal, only if it can be written."""
        self.wipe()
        outlets = Outlets(separate=False) if self._outlets is None else self._outlets
        if self._signals.received:
            self._spinner = self._waiting = None
            for one in outlets.all:
                one.forgives = True
        outlets.say(words)

    def wipe(self) -> None:
        """Erase the spinner."""
        if self._spinner is not None:
            try:
                self._spinner.hide()
            except OSError:
                return  # what cannot be written to has nothing to erase

    def flush(self) -> None:
        """Wait until all that was printed is written.

        Raises:
            Detached: a signal came first.
            BrokenPipeError: nobody reads it.
        """
        while self._outlets is not None and any(one.blocked for one in self._outlets.all):
            self._wait(None, with_gateway=False)
            if self._signals.received:
                raise Detached(self._signals.received[-1])

    def cancel(self) -> None:
        """Ask the gateway to end the run, and wait until it has received that."""
        if self.run_id is not None:
            self._client.close()
            self._client.call("exec.cancel", {"id": self.run_id}, timeout=5)

    def _frames(self) -> "Iterable[Answer]":
        """Return what came in; handle signals, readers and the spinner in the meantime."""
        spinning = self._spinner is not None and self._spinner.shown
        ready = self._wait(self._spinner.tick_ms if self._spinner and spinning else None)
        self._heed()
        if self._spinner is not None and spinning:
            self._spinner.tick()
            self._ask_where()
        if self._client.fileno() not in ready:
            return ()
        try:
            return self._client.frames()
        except OSError as error:
            self._again(error)
            return ()

    def _wait(self, timeout_ms: int | None, *, with_gateway: bool = True) -> set[int]:
        """Wait for the gateway, a signal, or a reader; write as much as there is room for."""
        poll = select.poll()
        poll.register(self._signals.fd, select.POLLIN)
        if with_gateway:
            poll.register(self._client.fileno(), select.POLLIN)
        outlets = () if self._outlets is None else self._outlets.all
        for one in outlets:
            if one.blocked:
                poll.register(one.fd, select.POLLOUT)
            elif one.full:
                poll.register(one.fd, 0)  # reports only that nobody reads any more
        found = dict(poll.poll(timeout_ms))
        if self._signals.fd in found:
            self._signals.drain()
        for one in outlets:
            one.flush()
            if one.full and found.get(one.fd, 0) & select.POLLERR:
                raise BrokenPipeError
        return set(found)

    def _heed(self) -> None:
        """Act on signals: the first cancels the run, another one leaves.

        The gateway is asked first: the terminal for the message may be gone.
        """
        if self.interrupted and not self._cancelled and self.run_id is not None:
            self._cancelled = True
            self._send("exec.cancel", {"id": self.run_id})
            self.say("cancelling; press Ctrl-C again to detach")
        if self._signals.detaching:
            raise Detached(self._signals.detaching)

    def _take(self, frame: "Answer") -> "Answer | None":
        """Process one frame; return the answer once it has arrived."""
        match frame.get("method"):
            case "exec.output":
                self._print(frame["params"])
            case "exec.state":
                return self._note_status(frame["params"])
            case None if frame.get("id") in (self._main, None):
                return self._answered(frame)
            case None if frame["id"] == self._where and self._spinner is not None:
                self._spinner.sent_to(frame.get("result", {}).get("copies", []))
        return None

    def _answered(self, frame: "Answer") -> "Answer | None":
        """Return the answer; ``None`` if the gateway gave none and is to be asked again.

        Raises:
            Unanswered: when asked again, it refused, which says nothing about the first time.
            SaysoError: the error that the gateway returned.
        """
        error = frame.get("error")
        if error is None:
            return self._client.result(frame)
        code, lost = error["code"], self._until > 0
        gone = code == _STOPPING and (lost or self.run_id is not None)
        if gone or code == _GAVE_UP or (lost and (code == _BUSY or frame.get("id") is None)):
            self._again(ConnectionResetError("it is stopping"))
            return None
        if code == _LATE or (lost and self.run_id is None):
            words = f"{'asked again, ' if lost else ''}it answered: {error['message']}"
            self._client.lost(OSError(words), self._method)
        return self._client.result(frame)

    def _print(self, params: "Answer") -> None:
        if self._outlets is not None:
            from binascii import a2b_base64  # noqa: PLC0415 - a short run has no pieces

            self.wipe()
            self._outlets.take(params["stream"], a2b_base64(params["data"]))

    def _note_status(self, status: "Answer") -> "Answer | None":
        """Record the status, which is the answer for a caller that does not wait."""
        self.run_id, self._until = status["id"], 0.0
        if not self._waits:
            return status
        if status["status"] == "pending" and self._spinner is None and self._waiting:
            self._spinner = self._waiting()
            self._ask_where_at = monotonic() + self._spinner.quiet_ms / 1000
        if self._spinner is not None:
            self._spinner.show(status)
        self._heed()
        return None

    def _ask_where(self) -> None:
        """Poll where the question was sent, to show it to the person who waits."""
        if monotonic() >= self._ask_where_at:
            self._ask_where_at = monotonic() + _ASK_WHERE_S
            self._where = self._send("exec.approval.copies", {"id": self.run_id})

    def _send(self, method: str, params: "dict[str, object]") -> int:
        try:
            return self._client.begin(method, params)
        except OSError:
            return 0  # connection closed, which the next read reports

    def _again(self, error: OSError) -> None:
        """Wait for the gateway to come back, and follow the same run again.

        Before its id is known, the same request is sent again; its key keeps it a single one.

        Raises:
            GatewayUnreachable: nothing was sent.
            Unanswered: the gateway does not come back, or the request has no key.
        """
        self._client.close()
        if self.run_id is None and not (self.sent and "requestKey" in self._params):
            self._client.lost(error, self._method if self.sent else "")
        if self._until:
            self._pause()
        else:
            self._until = monotonic() + _PATIENCE_S
            self.say(f"connection lost; reconnecting for up to {_PATIENCE_S:.0f} s")
        while monotonic() < self._until:
            if self._asked_again():
                return
            self._pause()
        if self.run_id is not None:
            self.say(f"lost track of run {self.run_id}; see `sayso history`")
        self._client.lost(error, self._method)

    def _asked_again(self) -> bool:
        """Ask for the run, or send the request again; ``False`` if no gateway listens."""
        try:
            if self.run_id is None:
                self._ask(self._method, self._params)
            else:
                self._ask("exec.wait", {"id": self.run_id, "stream": True})
        except OSError:
            self._client.close()
            return False
        for one in () if self._outlets is None else self._outlets.all:
            one.rewind()
        self._cancelled = False
        return True

    def _ask(self, method: str, params: "dict[str, object]") -> None:
        self._main = self._client.begin(method, params)
        self.sent = self.sent or bool(self._client.sent)

    def _pause(self) -> None:
        self._wait(round(_RETRY_S * 1000), with_gateway=False)
        if self._signals.received:
            raise Detached(self._signals.received[-1])

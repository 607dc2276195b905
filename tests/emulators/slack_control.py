"""Let another process play the members and cause faults."""

from dataclasses import dataclass

from aiohttp import web

from tests.emulators.faults import Fault, FaultKind, FaultQueue
from tests.emulators.slack_delivery import Delivery
from tests.emulators.slack_people import People
from tests.emulators.slack_rules import Json


@dataclass(slots=True)
class Controls:
    """What ``/control/…`` takes; each body's keys are the arguments of the method it names."""

    people: People
    faults: FaultQueue

    async def act(self, action: str, body: Json) -> object:
        """Carry out one action."""
        match action:
            case "press" | "press_choice" | "slash" | "say":
                return await self._person(action, body)
            case "messages":
                place = self.people.state.places.get(body["channel"])
                return list(place.messages.values()) if place is not None else []
            case "whispers":
                return self.people.state.whispers
            case "deliveries":
                return [_told(one) for one in self.people.delivery.sent]
            case _:
                return await self._fault(action, body)

    async def _person(self, action: str, body: Json) -> object:
        match action:
            case "press":
                return _told(await self.people.press(**body))
            case "press_choice":
                return _told(await self.people.press_choice(**body))
            case "slash":
                return _told(await self.people.slash(**body))
            case _:
                return [_told(one) for one in await self.people.say(**body)]

    async def _fault(self, action: str, body: Json) -> object:
        match action:
            case "fault":
                times = body.pop("times", 1)
                self.faults.add(Fault(FaultKind(body.pop("kind")), **body), times)
            case "hang_up":
                await self.people.delivery.hang_up(**body)
            case "listen":
                self.people.delivery.request_url = body["url"]
            case "patience":
                self.people.delivery.retry_delays = tuple(body["seconds"])
            case "group":
                self.people.state.user_groups[body["group"]] = set(body["members"])
            case _:
                raise web.HTTPNotFound(text=f"no control {action}")
        return True


def _told(delivery: Delivery) -> Json:
    return {
        "envelope": delivery.envelope_id,
        "kind": delivery.kind,
        "attempts": delivery.attempts,
        "acked": delivery.acked,
        "failed": delivery.failed,
    }

"""Check how long a request over HTTP may wait before anything is done."""

import pytest

from bot.api.rest.call import LONGEST_WAIT_S
from tests.support.api_gateway import ApiGateway


@pytest.mark.parametrize(
    ("wait", "status"),
    [
        *((str(LONGEST_WAIT_S), 200), (f"{LONGEST_WAIT_S}.000", 200), ("0", 200), ("0.001", 200)),
        *((f"{LONGEST_WAIT_S}.001", 400), (str(LONGEST_WAIT_S + 1), 400), ("0.0001", 400)),
        *(("-1", 400), ("01", 400), ("1e3", 400), ("", 400)),
    ],
)
def test_a_wait_is_a_number_of_seconds_up_to_an_hour(
    home: ApiGateway, wait: str, status: int
) -> None:
    """What has ended is answered at once, however long the wait may be."""
    ended = home.ask("true", wait=10)
    answer = home.client("agent").get(f"/v1/requests/{ended['id']}", params={"wait": wait})

    assert answer.status_code == status
    if status == 400:
        words = f"wait: seconds from 0 to {LONGEST_WAIT_S}, at most three decimals."
        assert answer.json()["error"]["message"] == words

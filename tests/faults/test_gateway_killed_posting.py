"""Kill a real gateway process while it posts to three real servers, and judge every copy."""

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from bot.client import Client
from core.model.approval import ApprovalState
from tests.faults.chat_platforms import POSTS
from tests.support.gateway_process import GatewayProcess
from tests.support.platform_processes import PLACES, Chat, chats, configure, copies, remember
from tests.support.prompt_copies import Asked, judge
from tests.support.waiting import wait_until

KILLS = 3
SEED = 20261121
HERE = [places[0].conversation for places in PLACES.values()]


def ask(gateway: GatewayProcess, cwd: Path, number: int) -> list[Asked]:
    """Ask three questions in one place on each platform."""
    asked = []
    with Client(str(gateway.home / "gateway.sock")) as client:
        for part in range(3):
            for place in HERE:
                key = f"k{number}-{part}-{place}"
                wish = {"command": f"echo {key} >> ledger", "cwd": str(cwd), "session": place}
                told = client.call("exec.run", {**wish, "wait": False})
                asked.append(Asked(told["id"], told["code"], place, key))
    return asked


def all_shown(three: dict[str, Chat], asked: list[Asked]) -> bool:
    """Return whether each question is in its place."""
    seen = {(copy.place, approval) for copy in copies(three) for approval in copy.open}
    return {(one.place, one.id) for one in asked} <= seen


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(90)
def test_a_gateway_that_is_killed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`kill -9` after the platforms' yes, or soon: nothing lost, duplicates only on Telegram."""
    dice = random.Random(SEED)
    gateway = GatewayProcess(tmp_path / "home")
    asked: list[Asked] = []
    with chats() as three:
        configure(gateway.home, three, [])
        remember(gateway.home, [places[0] for places in PLACES.values()])
        gateway.start()
        try:
            for number in range(KILLS):
                for name, chat in three.items():
                    chat.control("fault", kind="hold", method=POSTS[name], seconds=5.0)
                asked += ask(gateway, tmp_path, number)
                time.sleep(dice.uniform(0.0, 0.2))
                gateway.kill()
                gateway.start()
            wait_until("every prompt", lambda: all_shown(three, asked), 30, 0.1)
            # A claim is reported a moment after its message is seen.
            time.sleep(1.0)
            truth = dict.fromkeys((one.id for one in asked), ApprovalState.PENDING)
            found = judge(asked, truth, copies(three))
        finally:
            gateway.stop()

    at = Counter(name.partition("/")[0] for name in found.duplicates)
    with capsys.disabled():
        print(f"\n{KILLS} x kill -9, {len(asked)} prompts: messages too many {dict(at)}")
    assert ([], []) == (found.lost, found.wrong)
    assert at.keys() <= {PLACES["telegram"][0].conversation}
    assert at.total() <= KILLS

"""State once what people are promised on every channel; each channel's tests inherit it.

A real gate runs between the channel under test and a second platform, which is in this process.
"""

import pytest

from channels.memory import MemoryChannel
from tests.contracts.channel_setup import PeopleSetup
from tests.contracts.people_answers import AnswersContract
from tests.contracts.people_eligibility import StandingContract
from tests.contracts.people_rounds import RoundsContract
from tests.contracts.people_time import TimeContract


class PeopleContract(AnswersContract, TimeContract, StandingContract, RoundsContract):
    """Inherit and provide the fixture ``setup``: a channel, and Ana in it."""

    @pytest.fixture
    def other(self, setup: PeopleSetup) -> MemoryChannel:
        """Return the second platform."""
        return MemoryChannel("beside" if setup.channel.name == "memory" else "memory")

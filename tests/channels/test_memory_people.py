"""The in-process channel keeps what people are promised."""

import pytest

from tests.channels.memory_setup import MemoryWorld
from tests.contracts.people import PeopleContract


class TestMemoryPeople(PeopleContract):
    """The contract, with a second platform in this process as well."""

    rounds = 400

    @pytest.fixture
    def world(self) -> MemoryWorld:
        """Return an empty channel."""
        return MemoryWorld()

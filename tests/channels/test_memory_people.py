"""Keep on the in-process channel what people are promised."""

import pytest

from tests.channels.memory_setup import MemorySetup
from tests.contracts.people import PeopleContract


class TestMemoryPeople(PeopleContract):
    """The contract, with a second platform in this process as well."""

    rounds = 400

    @pytest.fixture
    def setup(self) -> MemorySetup:
        """Return an empty channel."""
        return MemorySetup()

"""Keep on Discord what people are promised, with the real discord.py."""

from tests.contracts.people import PeopleContract


class TestDiscordPeople(PeopleContract):
    """The contract; the setup is in ``conftest.py``, and all that Ana types mentions the bot."""

    mentions = ("{}",)
    rounds = 80

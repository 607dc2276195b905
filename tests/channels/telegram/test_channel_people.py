"""Keep on Telegram what people are promised, with the real python-telegram-bot."""

from tests.contracts.people import PeopleContract


class TestTelegramPeople(PeopleContract):
    """The contract; the setup is in ``conftest.py``."""

    mentions = ("@sayso_test_bot {}",)

"""Telegram keeps what people are promised, on the real python-telegram-bot."""

from tests.contracts.people import PeopleContract


class TestTelegramPeople(PeopleContract):
    """The contract; the setup is in ``conftest.py``."""

    mentions = ("@sayso_test_bot {}",)

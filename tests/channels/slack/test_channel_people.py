"""Keep on Slack what people are promised, with the real slack-bolt over a socket."""

from tests.contracts.people import PeopleContract


class TestSlackPeople(PeopleContract):
    """The contract; the setup is in ``conftest.py``."""

    mentions = ("@sayso {}", "@sayso: {}")

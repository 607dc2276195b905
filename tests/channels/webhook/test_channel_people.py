"""Keep on the webhook channel what people are promised, over signed HTTP."""

from collections.abc import AsyncIterator

import pytest

from tests.channels.webhook.desk import WebhookDesk, channel_for
from tests.contracts.people import PeopleContract
from tests.emulators.webhook import WebhookService


class TestWebhookPeople(PeopleContract):
    """The contract, with Ana at a service of her own."""

    rounds = 400

    @pytest.fixture
    async def setup(self) -> AsyncIterator[WebhookDesk]:
        """Run a service with Ana at it."""
        async with WebhookService() as service:
            setup = WebhookDesk(service, channel_for(service))
            yield setup
            for retry in setup.retries:
                retry.cancel()

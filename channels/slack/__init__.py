"""Slack, using slack-bolt (async) in Socket Mode or behind signed HTTP requests.

In addition to the files that every platform has (see ``channels``)::

    web_api     Web API calls: rates, refusals, who we are
    person_names  one name for a person, however they answer
    membership  which user groups a person is in, asked at the click
"""

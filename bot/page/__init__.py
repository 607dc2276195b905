"""Serve the control page: what waits, runs and has ended, and the rules, in a browser.

::

    app        the addresses; who is let in; faults as people read them
    forms      the fields that each form has
      ▼
    login | passkeys | push | start_page | plans | approval | rules/ | gateway    the addresses
    install                    what a phone asks for before it installs the page
    records/                   past requests and what is kept: history, stories, insight, lists
      ▼
    cards | live               cards of what waits; what changed, pushed to open pages
      ▼
    visit                      one request: cookie, CSRF, form; the headers of every answer
    session_cookie             the cookie, sealed for one browser and its Unix user
      ▼
    render | assets            templates and files, by a name that changes with their content

Everything that a page shows or does is a call of the method table with the scopes of its session,
which is a token of a person that no API takes. Cards are those of the chats (``channels.cards``).
Without JavaScript each page reads and each button works; with it pages follow what happens.
"""

"""Store people, their accounts and their tokens.

::

    people         people and their accounts
    pairing        links an account by a code
    tokens         who may call over the network;  token_text: the text of a token
    passkeys       passkeys and their challenges
    totp_keys      secrets of authenticator apps
    page_sessions  ends sessions of the control page;  page_links: one-time links into it
    push           browsers that take web push
    nodes          machines that are nodes
"""

"""Keep keys, sign with them, and pin who is at the other end; what every link to machines needs.

::

    identity      the Ed25519 keys of a home; a public key is an id
    certificate   TLS by pins: a certificate's fingerprint, or a key that is an id
    passkeys      what a passkey signs (WebAuthn);  totp  codes of authenticator apps
    vapid         the key that push services know a gateway by
    sealing       secrets of the store, sealed with a key next to it
    ids           how keys, requests and nonces are written
"""

"""Admit a request, or refuse it.

::

    guard             the order of the checks, before anything is read or run
    origin            Host and Origin
    authentication    whose token this is
    access_log        one line per request, by its route
    gate_proof_token  the token of the gateway's own proofs
"""

"""Edit exec-approvals.json: the card "Exec approvals" of S1, for this gateway or for a node.

::

    pages      the page: show a scope, save it, show what differs, try it on the past
      ▼
    backtest   what a draft would have changed in the last 30 days, with its progress
      ▼
    form       read a form of the page
      ▼
    target     whose file it is: the gateway's or a node's; read, replaced and explained by methods
      ▼
    draft      change one scope of the file as a form says, three ways side by side
"""

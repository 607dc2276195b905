"""Query the store for display: history, owners, counts, status, what happened last.

::

    references     what a person means by an id, a code or its start
    status         requests and how they stand
    owners         whose a run or an approval is
    evidence       what a decision rests on
    insight        what prompts cost
    past_commands  commands of the past, to be judged again
    lately         what happened last and belongs in one journal
"""

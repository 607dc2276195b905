"""Begin and end executors, beside the pool that holds them.

::

    options        how they are kept
    greeting       whether what was started is an executor of the right user
    cleaning       one ends what others left of runs
"""

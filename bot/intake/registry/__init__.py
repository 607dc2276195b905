"""Define what a method is: its name, scope, params and handler.

::

    method        the table, and the one way to call a method
    params        the params of every method, strict
    param_errors  which param is wrong, and what to give
"""

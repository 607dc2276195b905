"""Define what a method is: its name, scope, params and handler.

::

    method        the table, and the one way to call a method
    params        the params of the methods, strict;  terminal_params  those of the terminals
    param_errors  which param is wrong, and what to give
"""

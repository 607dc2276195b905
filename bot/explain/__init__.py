"""Judge without running: the implementation of `sayso policy explain`.

::

    explain          judges one command as the gate does; nothing runs
    explain_one      the same under the configuration in effect
    batch            JSON lines, one answer each;  batch_entry reads one
    rule_trace       which rules were checked
    approval_terms   what a question would need
    prompt_preview   what a person would see
    session_context  what people set and granted for a session
"""

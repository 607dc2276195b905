"""Help people with policy: test it, try it on the past, see what it costs, import rules.

``judge`` reads a configuration and judges with it; ``expectations``, ``backtest``, ``suggest``
and ``importing`` implement the commands of these names. Nothing here runs a command.

::

    judge              judges under a configuration; runs nothing
    checks             everything that accompanies a policy
    expectations       `sayso policy test`
    backtest           `sayso policy backtest`;  backtest_report formats it
    past_commands      the commands of the past
    draft_backtest     a draft of exec-approvals.json on the past
    suggest            `sayso policy suggest`;  suggest_report formats it
    suggestible        which entries may be proposed
    weekly_suggest     a week of prompts, while the gateway works
    prompt_costs       what prompts cost
    allowlist_dry_run  what an entry would have matched
    own_approvals      changes this home's exec-approvals.json
    home_journal       finds the journal of a home
    importing/         rules of other products
"""

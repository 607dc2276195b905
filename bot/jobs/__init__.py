"""Run what the gateway does in the background.

::

    outbox          sends committed messages, to every copy of a prompt
    message_sender  sends one batch of them to the channels
    run_dispatcher  starts what people allowed
    recovery        records and ends the runs that a dead gateway left
    journal_gaps    records what a dead gateway had only stored
    executor_recovery  ends what a dead gateway's executors left
    node_notices    notifies people of nodes that ask to be paired
    scheduler       when each job runs; the only module that knows APScheduler
    periodic        deadlines, retention, health
    weekly_report   the allowlist entries that would save prompts, once a week
    week_time       a weekday and a time of day
"""

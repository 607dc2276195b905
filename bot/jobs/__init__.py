"""Run what the gateway does in the background.

::

    outbox          committed messages, to every copy of a prompt
    message_sender  one batch of them, to the channels
    run_dispatcher  what people allowed, started
    recovery        what a dead gateway left: interrupted runs are recorded and ended
    scheduler       when each job runs; the only module that knows APScheduler
    periodic        deadlines, retention, health
    weekly_report   the allowlist entries that would save prompts, once a week
    week_time       a weekday and a time of day
"""

#!/bin/sh
# Verify the journal and print the result for node_exporter's textfile collector; run it by a timer:
#
#   verify-journal.sh >/var/lib/node_exporter/sayso.prom.new && mv …/sayso.prom.new …/sayso.prom
set -eu

if sayso audit verify >/dev/null; then verified=1; else verified=0; fi
printf '# TYPE sayso_journal_verified gauge\nsayso_journal_verified %s\n' "$verified"
printf '# TYPE sayso_journal_verified_timestamp_seconds gauge\n'
printf 'sayso_journal_verified_timestamp_seconds %s\n' "$(date +%s)"

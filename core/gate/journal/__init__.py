"""Bring to the journal what the gate decides, however long it or the store is away.

::

    journal_records   what each record says, redacted
    ends              how questions ended: answered, expired, withdrawn; nothing starts before
    refusals          requests that were refused before anybody was asked
    lasting_journal   records of what is stored already, written now or later
    doubts            what may be stored although its commit failed
    deferred          results and records that the store or the journal cannot take yet
"""

"""Name the things Sayso talks about; import nothing of ours.

Everything here is frozen and slotted. The words are fixed by ``docs/glossary.md``.
"""

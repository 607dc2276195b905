"""Read and replace small files that only their owner may touch, and identify files.

::

    private        reads, makes and replaces small files that only their owner may touch
    state_file     one small JSON file of state that may be lost
    lock           holds a lock file against other threads and processes
    file_identity  whether a file is still the one that was hashed
    lookup         tells a missing file from one that cannot be looked up
    unreadable     how to fix a file that cannot be read
    removal        removes a tree that a sandboxed command has made
"""

"""Define what a sandboxed run sees and changes, and check a workspace after it.

::

    layout           this machine's places: which are seen, and which may be changed
    mounts           what one run sees of the files
    bind_mounts      whether a folder shows files that are also elsewhere
    workspace        opens the folder that a run may change
    workspace_check  what a run left in it: nothing protected, nothing that lends rights
    protect          keeps what is protected in it as it was
    sweep            looks through it after a run for files that lend rights
    links            where links at protected places lead
    git_folder       git's own folders, and what may appear there
    permissions      what another user of this machine may do to a folder
"""

"""Resolve what git would start or obey in a repository.

::

    repository      what a repository's configuration would make git start
    received        the hooks of the repository that a push arrives at
    started         what is in the files that the values of settings start
    obedience       which settings and hooks one invocation obeys
    config          reads a configuration
    discovery       every repository that git might take around a folder and within one
    submodules      those that a repository's index lists
    folder_listing  lists a folder, and links that lead outside
    line_effects    what an earlier command of a line changes for a later one
    other_folder    `git -C FOLDER` as the same command in that folder
"""

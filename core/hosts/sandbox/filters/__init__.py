"""Restrict system calls and files from inside: seccomp and Landlock."""

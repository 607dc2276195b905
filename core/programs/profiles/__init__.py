"""Load the shipped tables and profiles of programs, and read the scripts of awk and sed."""

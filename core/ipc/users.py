"""Name the users of this machine."""

import pwd
from functools import lru_cache


@lru_cache(maxsize=256)
def user_name(uid: int) -> str:
    """Return the login name of a uid as the machine's directory has it, empty where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""

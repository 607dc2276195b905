"""List tokens that begin with letters of their own: what follows these, and how much at least."""

import re
from typing import Final

_ALPHA: Final = "A-Za-z0-9"
_HEX: Final = "A-Fa-f0-9"
_WORD: Final = r"A-Za-z0-9_\-"

VENDOR_TOKENS: Final = (
    *((f"gl{one}-", _WORD, 16) for one in ("dt", "ft", "agent", "soat", "imt", "oas", "ffct")),
    *(("gsk_", _ALPHA, 30), ("xai-", _ALPHA, 40), ("r8_", _ALPHA, 30), ("nvapi-", _WORD, 30)),
    *(("pplx-", _ALPHA, 40), ("lsv2_pt_", _HEX, 32)),
    *((f"hv{one}.", _WORD, 24) for one in "sbr"),
    *(("dckr_pat_", _WORD, 20), ("dckr_oat_", _WORD, 20)),
    *(("glsa_", "A-Za-z0-9_", 32), ("glc_ey", f"{_WORD}+/=", 30)),
    *(("dapi", _HEX, 32), ("dt0c01.", "A-Z0-9.", 24), ("NRAK-", "A-Z0-9", 27)),
    *((f"shp{one}_", _HEX, 30) for one in ("at", "ca", "pa", "ss")),
    *(("lin_api_", _ALPHA, 30), ("lin_oauth_", _ALPHA, 30), ("ntn_", _ALPHA, 40)),
    *(("tskey-", _WORD, 20), ("sntrys_", f"{_WORD}+/=", 30), ("sntryu_", _HEX, 40)),
    *(("PMAK-", rf"{_HEX}\-", 30), ("pul-", _HEX, 40), ("sgp_", "A-Fa-f0-9_", 40)),
    *((f"dp.{one}.", f"{_WORD}.", 30) for one in ("st", "pt", "ct", "sa", "scim", "audit")),
    *((f"fm{one}_", f"{_WORD}+/=", 40) for one in ("1r", "1a", "2")),
    *(("sbp_", _HEX, 40), ("sb_secret_", _WORD, 20), ("figd_", _WORD, 30)),
    *((f"pscale_{one}_", f"{_WORD}.=", 30) for one in ("tkn", "pw", "oauth")),
    *(("ATATT3", f"{_WORD}=", 40), ("ATCTT3", f"{_WORD}=", 40), ("ATBB", _ALPHA, 28)),
    *(("rubygems_", _HEX, 40), ("GOCSPX-", _WORD, 24), ("ops_eyJ", _WORD, 40)),
    *(("AGE-SECRET-KEY-1", "A-Z0-9", 50), ("xkeysib-", _HEX, 40), ("CCIPAT_", "A-Za-z0-9_", 30)),
    *(("sq0atp-", _WORD, 20), ("sq0csp-", _WORD, 30), ("bkua_", _HEX, 40), ("nfp_", _ALPHA, 30)),
)
"""The letters before a token, the signs that it consists of, and how many there are at least."""


def vendor_pattern() -> str:
    """Return the pattern of all of them, as those of ``core.text.secret_patterns`` are written."""
    return "|".join(
        f"{lead[0]}(?<![A-Za-z0-9]{lead[0]}){re.escape(lead[1:])}[{signs}]{{{{{least}{{more}}}}}}"
        for lead, signs, least in VENDOR_TOKENS
    )

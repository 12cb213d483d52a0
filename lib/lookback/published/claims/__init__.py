"""The papers' sentences held against their own tables: quoted number, recomputed number, agrees or not.

`check_all()` reads the claims (one YAML per paper), recomputes each by a registered function of the printed tables, and says for
each whether it agrees within what printing can have moved it.
"""

from lookback.published.claims.check import AGREES, CANNOT, DISAGREES, Verdict, check, check_all, printed_tables
from lookback.published.claims.claim import Claim, load_claims
from lookback.published.claims.functions import RECOMPUTATIONS

__all__ = [
    "AGREES",
    "CANNOT",
    "DISAGREES",
    "RECOMPUTATIONS",
    "Claim",
    "Verdict",
    "check",
    "check_all",
    "load_claims",
    "printed_tables",
]

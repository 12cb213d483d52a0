"""Import this before anything of Jupyter: a process then opens a notebook two seconds sooner.

jsonschema checks international web addresses with a grammar that `rfc3987_syntax` builds on import, for two seconds of processor
time. No notebook holds a field of that kind. Without the module, jsonschema leaves this one check out.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

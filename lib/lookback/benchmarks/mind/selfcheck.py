"""Where the self-check scores its clips as MIND's."""

from __future__ import annotations

PLACES = (("1st_data", "mem_test"), ("1st_data", "mirror_test"))

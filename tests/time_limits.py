"""How long a test waits for something that ends by itself. A crowded machine may stand still for minutes: slow is not wrong."""

import time
from collections.abc import Callable

HUNG_S = 900  # whoever needs longer hangs


def wait_until(true: Callable[[], object], words: str) -> None:
    """Look again and again; `words` say what never came true."""
    deadline = time.monotonic() + HUNG_S
    while not true():
        assert time.monotonic() < deadline, words
        time.sleep(0.02)

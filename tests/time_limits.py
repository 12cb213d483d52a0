"""How long a test waits for something that ends by itself. A crowded machine may stand still for minutes: slow is not wrong."""

import time
from collections.abc import Callable

import psutil

HUNG_S = 900  # whoever needs longer hangs


def wait_until(true: Callable[[], object], words: str) -> None:
    """Look again and again; `words` say what never came true."""
    deadline = time.monotonic() + HUNG_S
    while not true():
        assert time.monotonic() < deadline, words
        time.sleep(0.02)


def wait_for_the_end_of(process: int) -> None:
    """Until a process that is not the caller's own child is gone, or a zombie that nobody has asked about."""

    def ended() -> bool:
        try:
            return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    wait_until(ended, f"process {process} lives on")

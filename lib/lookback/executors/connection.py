"""Connect to a Ray cluster, or start Ray on this machine: reachable from this machine only, without usage reports."""

from __future__ import annotations

import atexit
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import lookback.without_iri_grammar  # noqa: F401
from lookback.errors import LookbackError
from lookback.extras import need
from lookback.params.stages import Ray
from lookback.scratch import scratch_folder

LOOPBACK = "127.0.0.2"  # with 127.0.0.1 Ray listens on the outer address of the machine instead
OBJECT_STORE_BYTES = 256 * 1024**2  # results are table rows; arrays go to the artifact store and not through Ray
LONGEST_FOLDER = 36  # the path of a socket has at most 103 bytes, and Ray adds 67
STARTS = 3
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "namespace": "lookback"}


def connect(workers: int, settings: Ray) -> Any:
    """The `ray` module with a connection. An existing connection of this process is used as it is."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # avoids a warning about a default of the next version
    if settings.address and _has_token():
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # Ray itself looks for a token only with the address `auto`
    need("ray")
    import ray

    if ray.is_initialized():
        return ray
    before = signal.getsignal(signal.SIGTERM)
    try:
        _initialise(ray, workers, settings)
    finally:
        if threading.current_thread() is threading.main_thread():  # Ray has set a handler of its own
            signal.signal(signal.SIGTERM, before)
    return ray


def _initialise(ray: Any, workers: int, settings: Ray) -> None:
    if settings.address:
        try:
            ray.init(address=settings.address, **QUIET)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise LookbackError(
                f"Ray cannot be reached at {settings.address}: {_cause(error)}; "
                "start it there with `ray start --head`, or leave ray.address out for a Ray on this machine"
            ) from error
    else:
        _start(ray, math.ceil(workers * settings.num_cpus))


def _has_token() -> bool:
    """Whether this user has a token. `ray start --head` makes one and requires it from every client."""
    given = os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")
    return bool(given) or (Path.home() / ".ray" / "auth_token").is_file()


def _start(ray: Any, cpus: int) -> None:
    """Start Ray. Its helper processes get 15 s, which may be too short on a busy machine, so try several times."""
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's default of 15 leaves its workers without time on a busy machine
    folder = _session_folder(ray)
    where = {"_node_ip_address": LOOPBACK} if sys.platform == "linux" else {}
    where |= {"_temp_dir": folder} if len(folder) <= LONGEST_FOLDER else {}
    for attempt in range(1, STARTS + 1):
        try:
            with _quick_helpers(folder):
                ray.init(
                    address="local",  # ignore RAY_ADDRESS
                    num_cpus=cpus,
                    object_store_memory=OBJECT_STORE_BYTES,
                    include_dashboard=False,
                    **where,
                    **QUIET,
                )
            return
        except Exception as error:  # Ray raises plain Exception here
            ray.shutdown()
            if attempt == STARTS:
                raise LookbackError(
                    f"A Ray on this machine did not start in {STARTS} tries: {_cause(error)}; use executor: local"
                ) from error


def _session_folder(ray: Any) -> str:
    """A folder for the sockets and logs of Ray, which never removes them. It is deleted with this process or by the next run."""
    stack = ExitStack()
    folder = str(stack.enter_context(scratch_folder("ray")))

    @atexit.register
    def remove() -> None:
        ray.shutdown()
        stack.close()

    return folder


@contextmanager
def _quick_helpers(folder: str) -> Iterator[None]:
    """Ray's Python processes start in a quarter of the time without the grammar of `lookback.without_iri_grammar`.

    They cache bytecode in another folder where Python must not write it beside the packages.
    """
    Path(folder, "rfc3987_syntax.py").write_text("raise ImportError('left out: lookback.without_iri_grammar says why')\n")
    names = {"PYTHONPATH": os.pathsep.join([folder, *filter(None, [os.environ.get("PYTHONPATH")])])}
    if sys.dont_write_bytecode:
        names |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(Path.home() / ".cache" / "lookback" / "bytecode")}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _cause(error: Exception) -> str:
    return " ".join(str(error).split())[:300]

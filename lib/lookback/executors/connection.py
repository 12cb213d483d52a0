"""Join a Ray cluster, or start a Ray of this machine's own: reachable from here alone, and reporting to nobody."""

from __future__ import annotations

import atexit
import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from lookback.errors import BackendUnavailable, LookbackError
from lookback.params.stages import Ray
from lookback.scratch import scratch_folder

LOOPBACK = "127.0.0.2"  # Ray takes 127.0.0.1 for a mistake and listens on the machine's outer address instead
OBJECT_STORE_BYTES = 256 * 1024**2  # results are table rows; arrays go to the artifact store, not through Ray
LONGEST_FOLDER = 36  # a socket's path has at most 103 bytes, and Ray adds 67
STARTS = 3
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "namespace": "lookback"}


def connect(workers: int, settings: Ray) -> Any:
    """The `ray` module, connected. A connection of this process that already exists is used as it is."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else Ray warns of its next version's default
    if settings.address and _has_token():
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # Ray looks for its token by itself only for the address `auto`
    try:
        import ray
    except ImportError:
        raise BackendUnavailable("executor: ray needs the package ray", "Install it with: pip install lookback[ray]") from None
    if ray.is_initialized():
        return ray
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
    return ray


def _has_token() -> bool:
    """Whether this user holds a token: `ray start --head` makes one and asks every client for it."""
    given = os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")
    return bool(given) or (Path.home() / ".ray" / "auth_token").is_file()


def _start(ray: Any, cpus: int) -> None:
    """Ray gives its helper processes 15 s to come up, too little on a busy machine's first start: try again then."""
    os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 starves its workers on a machine that does other things too
    where = {"_node_ip_address": LOOPBACK} if sys.platform == "linux" else {}
    where |= _session_folder(ray)
    for attempt in range(1, STARTS + 1):
        try:
            with _bytecode():
                ray.init(
                    address="local",  # whatever RAY_ADDRESS says
                    num_cpus=cpus,
                    object_store_memory=OBJECT_STORE_BYTES,
                    include_dashboard=False,
                    **where,
                    **QUIET,
                )
            return
        except Exception as error:  # Ray raises the bare class here
            ray.shutdown()
            if attempt == STARTS:
                raise LookbackError(
                    f"A Ray on this machine did not start in {STARTS} tries: {_cause(error)}; use executor: local"
                ) from error


def _session_folder(ray: Any) -> dict[str, str]:
    """Ray never removes its sockets and logs: they lie in a folder that goes with this process, or at the next run's start."""
    stack = ExitStack()
    folder = str(stack.enter_context(scratch_folder("ray")))

    @atexit.register
    def remove() -> None:
        ray.shutdown()
        stack.close()

    return {"_temp_dir": folder} if len(folder) <= LONGEST_FOLDER else {}


@contextmanager
def _bytecode() -> Iterator[None]:
    """Where Python may write no bytecode beside the packages, Ray's helpers would compile themselves at every start."""
    if not sys.dont_write_bytecode:
        yield
        return
    names = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(Path.home() / ".cache" / "lookback" / "bytecode")}
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

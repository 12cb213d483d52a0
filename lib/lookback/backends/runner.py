"""The start of backends whose model runs in an environment of its own (`lookback.runners`)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from lookback import runners
from lookback.backends.base import BackendOptions
from lookback.backends.runtime import Options
from lookback.errors import UsageError, hint
from lookback.registry import Availability


class RunnerBackend:
    """Keeps one child process of its model. Options are those of `defaults`, which stay here, and those of the model."""

    requires: ClassVar[tuple[str, ...]] = ()
    defaults: ClassVar[Options] = {}
    model: ClassVar[runners.Model]

    def __init__(self, options: BackendOptions):
        known = {**self.defaults, **self.model.options}
        for name in options.values:
            if name not in known:
                raise UsageError(f"{self.model.name} has no option '{name}'; {hint(name, sorted(known))}")
        self.options = options
        self.settings = {**self.defaults, **{name: value for name, value in options.values.items() if name in self.defaults}}
        told = {name: value for name, value in options.values.items() if name in self.model.options}
        self.runner = runners.Runner(runners.launch(self.model, options.device, told))

    @classmethod
    def available(cls) -> Availability:
        return runners.availability(cls.model)

    @classmethod
    def made_by(cls) -> str:
        """What the answers depend on besides this package: the installed code, packages and weights."""
        found = runners.installed(cls.model)
        return found.identity if found is not None else ""

    def ask(self, frames: np.ndarray, **facts: object) -> dict[str, np.ndarray]:
        """The model's arrays for frames (n,H,W,3), with what it has to know about them."""
        self.runner.begin(**facts)
        self.runner.push(frames)
        return dict(self.runner.answer().arrays)

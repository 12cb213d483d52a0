"""Models that cannot live in this environment: each runs as a warm child process in an environment of its own (docs/models.md)."""

from lookback.runners.catalogue import Model, catalogue, model
from lookback.runners.environments import Installed, availability, installed, launch
from lookback.runners.process import Answer, Launch, Runner

__all__ = ["Answer", "Installed", "Launch", "Model", "Runner", "availability", "catalogue", "installed", "launch", "model"]

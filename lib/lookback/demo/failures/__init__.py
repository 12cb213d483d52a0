"""Failures of simulated world models, by name."""

from lookback.demo.failures import camera, image, subject, surroundings
from lookback.demo.failures.base import FAILURES, Context, Failure, World, make_failure, model_name

__all__ = ["FAILURES", "Context", "Failure", "World", "camera", "image", "make_failure", "model_name", "subject", "surroundings"]

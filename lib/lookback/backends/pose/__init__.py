"""Camera poses: read from the files of the papers' estimators, or estimated by the embedded classical estimator."""

from lookback.artifacts import PoseTrack
from lookback.backends.pose.formats import FORMATS, read_poses

__all__ = ["FORMATS", "PoseTrack", "read_poses"]

"""Camera poses: read from the files of the papers' estimators, or estimated by the embedded classical estimator."""

from lookback.backends.pose.formats import FORMATS, read_poses
from lookback.backends.pose.track import PoseTrack

__all__ = ["FORMATS", "PoseTrack", "read_poses"]

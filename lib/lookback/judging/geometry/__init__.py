"""What poses and masks say about a clip: did the camera depart and return, did the subject leave and return, can it be judged?"""

from lookback.judging.geometry.camera_path import CameraPath, camera_path
from lookback.judging.geometry.decisions import Decision, reobserved_predicates, trigger
from lookback.judging.geometry.visibility import Visibility, visibility

__all__ = ["CameraPath", "Decision", "Visibility", "camera_path", "reobserved_predicates", "trigger", "visibility"]

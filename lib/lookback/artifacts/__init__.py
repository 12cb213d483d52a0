"""Artifacts: one typed class per role. They alone know the arrays and facts that the store holds.

`docs/artifacts.md` lists every role's arrays. A backend makes an object of its role's class; `pack` and `unpack` take it to the
store and back.
"""

from lookback.artifacts.base import Artifact, FrameRows, kind_of, kinds
from lookback.artifacts.faces import FaceTracks
from lookback.artifacts.features import Features, ObjectFeatures, PersonFeatures, TextImageFeatures
from lookback.artifacts.frames import Depth, Flow, Quality, Rewards, Style
from lookback.artifacts.masks import Masks, People
from lookback.artifacts.poses import PoseTrack, TruePoseTrack
from lookback.artifacts.run import RunArtifacts, entry_of

__all__ = [
    "Artifact",
    "Depth",
    "FaceTracks",
    "Features",
    "Flow",
    "FrameRows",
    "Masks",
    "ObjectFeatures",
    "People",
    "PersonFeatures",
    "PoseTrack",
    "Quality",
    "Rewards",
    "RunArtifacts",
    "Style",
    "TextImageFeatures",
    "TruePoseTrack",
    "entry_of",
    "kind_of",
    "kinds",
]

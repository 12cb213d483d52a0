"""The camera of a clip without a request: how far it turns, whether it comes back, how much of the first view it leaves."""

from __future__ import annotations

from lookback.benchmarks.folder.metrics.shared import TURNED_DEG, camera_path, folder_metric, seen_again
from lookback.camera.poses import signed_peak
from lookback.errors import NotScorable, Reason
from lookback.scoring import Item, PixelScoring, Scored, ScoringClip, Unit

ROUGH = "the field of view is not known and taken as usual: the turn may be up to twice as large"
HALF_TURN_DEG = 180.0  # two views cannot be farther apart
SOURCE = "this project; the path of the camera as in the benchmarks"


@folder_metric(
    "camera_turn",
    title="Camera turn",
    unit="degrees",
    range=(0.0, HALF_TURN_DEG),
    higher_is_better=None,
    roles=("pose",),
    pixels=False,
    equation="max_t angle(R_0, R_t)",
    source=SOURCE,
)
def score_turn(context: ScoringClip) -> Scored:
    """The farthest turn from the first view, and the frame that reaches it. The raw value is the yaw, right positive; it grows on
    where a camera turns past 180 degrees and its view comes nearer to the first again."""
    path = camera_path(context)
    turn, most = float(path.turn[path.farthest]), signed_peak(path.yaw)
    yaw = most if abs(most) > HALF_TURN_DEG else float(path.yaw[path.farthest])
    frame = int(path.frames[path.farthest])
    rough = ROUGH if path.turned and not path.lens_known else ""
    return Scored([Item(turn, yaw, detail=rough, n_units=1)], [Unit("farthest", "frame", turn, yaw, frame)])


@folder_metric(
    "camera_return",
    title="Camera return",
    unit="share of the turn",
    higher_is_better=None,
    roles=("pose",),
    pixels=False,
    equation="max_(a < b) 1 - angle(R_0, R_b) / angle(R_0, R_a), a over frames at least half as far away as the farthest one",
    source=SOURCE,
)
def score_return(context: ScoringClip) -> Scored:
    """The largest share of a turn that is undone. The unit names the frame that is back, and the far one before it."""
    path = camera_path(context)
    if not path.turned:
        raise NotScorable(Reason.NOT_TRIGGERED, f"the camera turns {path.turn.max():.1f} degrees, less than {TURNED_DEG:g}")
    away, back = path.way_back
    value = path.undone
    unit = Unit("back", "pair", value, None, int(path.frames[back]), int(path.frames[away]))
    return Scored([Item(value, float(path.turn[back]), n_units=1)], [unit])


@folder_metric(
    "view_left",
    title="First view out of sight",
    unit="share of the view",
    higher_is_better=None,
    roles=("pose",),
    equation="1 - min_t overlap(first view, frame t)",
    source="this project; overlap by the homography of matched features",
)
def score_view_left(context: ScoringClip) -> PixelScoring:
    """How much of the first view is gone at the most.

    A frame without a match counts only where the path has turned away, or where a cut leads to a place that was not seen before.
    """
    seen = yield from seen_again(context)
    told = [pair for pair in seen.profile if pair.found or seen.is_away(pair.second)]
    if len(told) < len(seen.profile) / 2:
        raise NotScorable(Reason.TOO_FEW_MATCHES, f"{len(told)} of {len(seen.profile)} sampled frames could be matched")
    units = [Unit(f"f{pair.second}", "frame", 1.0 - pair.overlap, pair.inliers, pair.second, pair.first) for pair in told]
    value = max(1.0 - pair.overlap for pair in told)
    return Scored([Item(value, value, n_units=len(units))], units)

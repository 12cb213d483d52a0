"""Write the page `docs/artifacts.md` from the classes: `python -m lookback.artifacts.contract > docs/artifacts.md`."""

from __future__ import annotations

import inspect
from typing import get_args

from lookback.artifacts import Artifact, kinds

PAGE = "docs/artifacts.md"
INTRODUCTION = """\
# Artifacts: what extraction stores

Every role has one class in `lookback.artifacts`, and only that class reads and writes the arrays of its role. This page is made
from those classes (`python -m lookback.artifacts.contract > docs/artifacts.md`); a test compares it with them.

An artifact is a pair of files in the store of the run: `artifacts/<role>/<backend>/<xx>/<key>.npz` with the arrays and `<key>.json`
with the record. Where a clip has no artifact of a role, the record holds `missing` with the typed reason, and there are no arrays.

- The same letter in a role's shapes means the same length. Frames are counted from 0.
- Boxes and points are in pixels of the video, x to the right and y down, the origin at the upper left corner.
- Poses are camera-to-world with OpenCV axes: x to the right, y down, z forward.
- The record may hold more facts than the ones listed: a backend's method, its sampling, its prompt.
- Reading checks names, number types and shapes. An artifact with an error is refused (`ContractError`), and the extraction stage
  makes it again.

```python
from lookback.artifacts import Masks, PoseTrack, RunArtifacts

artifacts = RunArtifacts(params.paths.artifacts, tables["artifacts"])
poses = artifacts.load(clip, PoseTrack)  # None where the clip has none
masks = artifacts.load(clip, Masks)
masks.at(12)  # the object's mask in frame 12
```

What a camera does is read from its path in one place (`lookback.measures.camera_activity`):

```python
activity = poses.activity()
activity.moves  # "none", "slight" or "clear"; p_moves and p_clear are the probabilities behind it
activity.turn_degrees  # the farthest turn from the first view; a turn past 180 degrees keeps growing
activity.departs, activity.returns, activity.return_frame  # the first view goes out of sight, and comes back
activity.trusted, activity.why  # False where the path contradicts the motion of the picture, and the sentence that says so
poses.trusted()  # the path itself, or NotScorable with the reason `untrusted_path`: what metrics of the camera call
```

The embedded backend stores its evidence with the path: `motion` and `first_view`. Paths from files have none and are believed.

Another package adds a role by declaring a class with `role` and annotated fields, as the modules of `lookback.artifacts` do.
"""


FILES = """\
## Files made elsewhere

Poses, masks, depth and detections that another program made are read with every layout. They replace the estimate of this project
for the clips that have such a file, unless the run names a backend for the role. Their content is part of the artifact's key.

A clip's file is named in one of four ways; the first that gives one counts.

1. By a pattern: `--poses 'poses/{model}/{clip}.npz' --poses-format vggt`, `--masks PATTERN`, `--depth PATTERN`,
   `--files faces=PATTERN`; in a parameter file `curation.sources[].poses`, `poses_format` and `files: {masks: PATTERN}`. Fields are
   {model}, {clip}, {setting}, {subset}, {sample}, {condition}, {scene} and {video} (the video's name without suffix). A pattern
   starts at the dataset folder, or is absolute. A pattern that fits no clip is refused; one that fits some is counted, and the
   first clip without a file is named.
2. By a row of `files.csv` in the dataset folder, with the columns `clip_id`, `model`, `poses_file`, `poses_format` and
   `<role>_file`, for example `masks_file`.
3. By the layout's own manifest: the same columns in WRBench's manifest; in MBench's `samples.jsonl` the entry
   `artifacts.<format>.path`, `artifacts.poses` with path and format, or `artifacts.<role>.path`.
4. By its name beside the video: `<video>.poses.<format>.npz` (or .npy, .txt, .csv), `<video>.<role>.npz` (or .npy, or a folder),
   where `<video>` is the video's name with or without its suffix; or `images.txt` in the folder of a single video, as COLMAP.

Paths in a dataset cannot leave it. Only plain arrays are read, nothing is unpickled, and a file that unpacks to more than its video
can need is refused.

| `poses_format` | file |
|---|---|
| `c2w` | .npy or .npz (`c2w`, `cam_c2w`, `poses`) of (N,4,4) or (N,3,4) camera-to-world; `intrinsics.npy` (N,4) beside it |
| `colmap` | `images.txt` (world-to-camera, ordered by image name), with `cameras.txt` beside it |
| `da3` | Depth-Anything-3's `results.npz`: `extrinsics` world-to-camera, `intrinsics` and `depth` at the processed size |
| `kitti` | text, twelve numbers a line: the 3x4 camera-to-world matrix |
| `mapanything` | .npz with `cam_c2w` or `camera_poses` (N,4,4), `intrinsic` |
| `tum` | text: time tx ty tz qx qy qz qw, camera-to-world |
| `ue5` | CSV of an Unreal Engine 5 camera: loc_x loc_y loc_z, rot_x rot_y rot_z (radians), fx fy cx cy if known |
| `vggt` | .npy or .npz with `extrinsic` (N,3,4) world-to-camera, `intrinsic` at the network's size |
| `vggt_omega` | `poses.npy` (camera-to-world) or `extrinsics_opencv_w2c.npy`, `intrinsics.npy` beside it at the network's size |
| `vipe` | `pose/<name>.npz` with `data` camera-to-world and `inds`; `intrinsics/<name>.npz` beside the folder |

`poses` (and `depth`) have a row per frame. Fewer rows are read in two cases, and `validate` and the items' `detail` say so: the
file says the frames in rising order (`frame_index` (N) in an .npz, `inds` of `vipe`, the numbers in `colmap`'s image names), or
there are as many rows as every k-th frame gives, ceil(frames / k) for a whole k; row i is then frame k i, with the largest such
k. Any other number is refused: a file that was cut short would be stretched over the whole clip.

- `masks`: .npz with `masks` (N,H,W), 0 outside the object, at any size with the shape of the picture; `frame_index` (N) unless
  there is one mask per frame; `confidence` (N) if known. Or an .npy of the masks alone, or a folder of PNG masks. Give every frame
  a mask, all 0 where the object is not seen: a frame without one counts as not looked at.
- `people`: .npz with `masks` (K,H,W), `frame_index` (K) in order, `track` (K), the number of the person; `confidence` (K) if known.
- `depth`: .npz with `depth` (N,h,w), an .npy, or a folder of .npy or 16-bit PNG maps in millimetres: the distance along the
  camera's axis, not relative inverse depth.
- `faces`: .npz with the arrays of the role below, and `sampled_frames`, all frames that were searched, if known.
- `clip`, `object_features`, `person_features`: .npz with the arrays of the role below.

The roles `features`, `flow`, `perceptual`, `quality` and `image_reward` are not read from files: metrics call their networks on the
frames of their own presets.
"""


def page() -> str:
    """The whole page in Markdown."""
    return "\n".join([INTRODUCTION, FILES, *(_section(kind) for kind in kinds())])


def _section(kind: type[Artifact]) -> str:
    lines = [f"## `{kind.role}`: {kind.__name__}", "", inspect.getdoc(kind) or "", ""]
    lines += ["| array | type | shape | meaning |", "|---|---|---|---|"]
    for array in kind.contract().arrays:
        meaning = f"{array.meaning} (only some backends)" if array.optional else array.meaning
        lines.append(f"| `{array.name}` | {array.dtype_name} | ({', '.join(array.shape.split())}) | {meaning} |")
    if facts := kind.contract().facts:
        lines += ["", "| fact of the record | type | meaning |", "|---|---|---|"]
        lines += [f"| `{fact.field}` | {_words(fact.type)} | {fact.meaning} |" for fact in facts]
    return "\n".join([*lines, ""])


def _words(plain: type) -> str:
    return str(plain).replace("tuple", "list").replace(", ...", "") if get_args(plain) else plain.__name__


if __name__ == "__main__":
    print(page(), end="")

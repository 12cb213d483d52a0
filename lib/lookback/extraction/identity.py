"""What an artifact depends on: the producer that makes it and the parts of the clip it looks at."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from lookback.backends.choose import backend_options
from lookback.clips import Clip
from lookback.code import code_version
from lookback.errors import MediaError
from lookback.files import sha256_json
from lookback.hashcache import HashCache
from lookback.media.hashing import content_hash
from lookback.params import RunParams
from lookback.paths import resolve
from lookback.registry import BackendSpec
from lookback.store import Producer
from lookback.weights import fingerprint

GT_ROLES = {"gt_pose": "pose"}  # roles that look at the ground truth with another role's backend
FIELDS = ("benchmark", "fps", "setting", "object_name", "fov_deg", "caption_segments", "prompt", "poses_format", "n_frames")
FILES = ("poses", "gt_depth", "gt_intrinsics")
FEEDING = "lookback.extraction.onepass"  # how frames reach a backend


def producer_of(role: str, spec: BackendSpec, params: RunParams) -> Producer:
    """The producer's identity: role, backend, the code it runs, options and weights."""
    options = backend_options(GT_ROLES.get(role, role), params)
    values = dict(options.values)
    settings = sha256_json([values, options.seed, options.device, options.allow_download])
    weights = fingerprint(spec.weights, values.get("path") or None) if spec.weights else ""
    others = [f"{name}:{file_hash(resolve(str(path)))}" for name, path in sorted(values.items()) if name.endswith("_path") and path]
    version = code_version(spec.build.__module__, FEEDING)
    return Producer(role, spec.name, version, settings[:16], ",".join(filter(None, [weights, *others])))


def input_hash(clip: Clip, upstream: Mapping[str, str]) -> str:
    """Hash of the video's content, of every field and file of the clip that a backend may look at, and of what it builds on.

    `upstream` gives the key of each role it builds on: other masks make other features of the masked object.
    """
    fields = {name: getattr(clip, name) for name in FIELDS}
    fields["object_anchor"] = clip.object_anchor.model_dump() if clip.object_anchor else None
    named = {name: path for name in FILES if (path := getattr(clip, name))} | {"depth": clip.extras.get("depth")}
    files = {name: file_hash(resolve(str(path))) for name, path in named.items() if path}
    files |= {beside.name: content for beside in _beside(clip.poses) if (content := file_hash(beside)) != "absent"}
    return sha256_json([clip.content_hash, fields, files, dict(upstream)])


def _beside(poses: str | None) -> list[Path]:
    """Files that a reader of poses also reads: COLMAP's cameras, MemoBench's and ViPE's intrinsics."""
    if not poses:
        return []
    path = resolve(poses)
    return [path.with_name("cameras.txt"), path.with_name("intrinsics.npy"), path.parent.with_name("intrinsics") / path.name]


def truth_as_clip(clip: Clip) -> Clip:
    """The ground truth in a clip's clothes, so that the pose backends can look at it."""
    return clip.model_copy(
        update={
            "video": clip.ground_truth or clip.video,
            "poses": clip.gt_poses,
            "poses_format": clip.gt_poses_format,
            "content_hash": _content_hash(clip.ground_truth) if clip.ground_truth else clip.content_hash,
            "n_frames": clip.gt_frames,
            "object_anchor": None,
            "object_name": "",
            "prompt": "",
            "caption_segments": [],
        }
    )


def changed_since_curation(clip: Clip) -> str:
    """A sentence when the video is no longer the one that curation hashed; empty when it is, or when it cannot be read at all."""
    try:
        if not clip.content_hash or content_hash(resolve(clip.video)) == clip.content_hash:
            return ""
    except MediaError:  # decoding says why
        return ""
    return f"{clip.video} is not the file that curation saw (its content changed); run the curation stage again"


def can_be_read(clip: Clip) -> bool:
    """Whether what was found out about the clip will hold: a video that is away or locked may come back."""
    return os.access(resolve(clip.video), os.R_OK)


@cache
def _content_hash(path: str) -> str:
    try:
        return content_hash(resolve(path))
    except MediaError as error:
        return str(error.reason)


@cache
def _hashes() -> HashCache:
    return HashCache.of_project()


def file_hash(path: Path) -> str:
    """Hash of a file's or folder's content; `absent` when it is not there, `unreadable` when it may not be read."""
    try:
        if path.is_dir():
            return _hashes().tree(path)
        return _hashes().file(path) if path.is_file() else "absent"
    except OSError:
        return "unreadable"

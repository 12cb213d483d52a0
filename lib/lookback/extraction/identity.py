"""What an artifact depends on: the producer that makes it, and the parts of the clip that the producer reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from lookback.backends.choose import backend_options
from lookback.clips import Clip
from lookback.code import version_of
from lookback.devices import kind_of
from lookback.errors import MediaError
from lookback.files import sha256_json
from lookback.hashcache import HashCache
from lookback.media import content_hash
from lookback.media.reader import os_errors_as_media_errors
from lookback.params import RunParams
from lookback.paths import resolve
from lookback.registry import BackendSpec
from lookback.store import Producer
from lookback.weights import fingerprint

GT_ROLES = {"gt_pose": "pose"}  # roles that run the backend of another role on the ground truth
FIELDS = ("benchmark", "fps", "setting", "object_name", "fov_deg", "caption_segments", "prompt", "poses_format", "n_frames")
FILES = ("poses", "gt_depth", "gt_intrinsics")
FEEDING = "lookback.extraction.onepass"  # the code that passes frames to a backend


def producer_of(role: str, spec: BackendSpec, params: RunParams, benchmark: str = "") -> Producer:
    """The identity of the producer: role, backend, code, options and weights."""
    options = backend_options(spec, params, benchmark)
    values = dict(options.values)
    settings = sha256_json([values, options.seed, kind_of(options.device), options.allow_download])
    weights = fingerprint(spec.weights, values.get("path") or None) if spec.weights else ""
    others = [f"{name}:{file_hash(resolve(str(path)))}" for name, path in sorted(values.items()) if name.endswith("_path") and path]
    version = version_of(spec.build, FEEDING)
    return Producer(role, spec.name, version, settings[:16], ",".join(filter(None, [weights, spec.made_by(), *others])))


def input_hash(clip: Clip, upstream: Mapping[str, str], role: str = "") -> str:
    """Hash of the content of the video, of every field and file of the clip that a backend may read, and of required artifacts.

    `upstream` gives the key of each required role: other masks lead to other features of the masked object. A file that was made
    elsewhere for another role does not count.
    """
    fields = {name: getattr(clip, name) for name in FIELDS}
    fields["object_anchor"] = clip.object_anchor.model_dump() if clip.object_anchor else None
    named = {name: path for name in FILES if (path := getattr(clip, name))} | {"given": clip.files.get(role)}
    files = {name: file_hash(resolve(str(path))) for name, path in named.items() if path}
    files |= {beside.name: content for beside in _beside(clip.poses) if (content := file_hash(beside)) != "absent"}
    return sha256_json([clip.content_hash, fields, files, dict(upstream)])


def _beside(poses: str | None) -> list[Path]:
    """Files that the pose readers also read: the cameras of COLMAP, the intrinsics of MemoBench and ViPE."""
    if not poses:
        return []
    path = resolve(poses)
    return [path.with_name("cameras.txt"), path.with_name("intrinsics.npy"), path.parent.with_name("intrinsics") / path.name]


def truth_as_clip(clip: Clip) -> Clip:
    """A clip whose video is the ground truth, so that the pose backends can process it."""
    return clip.model_copy(
        update={
            "video": clip.ground_truth or clip.video,
            "poses": clip.gt_poses,
            "poses_format": clip.gt_poses_format,
            "files": {},
            "content_hash": truth_hash(clip.ground_truth) if clip.ground_truth else clip.content_hash,
            "n_frames": clip.gt_frames,
            "object_anchor": None,
            "object_name": "",
            "prompt": "",
            "caption_segments": [],
        }
    )


def changed_since_curation(clip: Clip) -> str:
    """A message when the video has changed since curation hashed it; empty when it has not, or when it cannot be read."""
    try:
        if not clip.content_hash or content_hash(resolve(clip.video)) == clip.content_hash:
            return ""
    except MediaError:  # the decoder reports it
        return ""
    return f"{clip.video} has changed since the curation stage; run the curation stage again"


def can_be_read(clip: Clip) -> bool:
    """Whether the video can be read. Results for a missing or locked video are not stored, because it may come back."""
    return os.access(resolve(clip.video), os.R_OK)


def truth_hash(path: str) -> str:
    """Hash of a ground truth, which curation does not hash. It is read again when it has changed: a session may outlive it."""
    video, hashes = resolve(path), _hashes()
    try:
        with os_errors_as_media_errors(video):
            if not (digest := hashes.known_content(video)):
                digest = content_hash(video)
                hashes.remember_content(video, digest)
            return digest
    except MediaError as error:
        return str(error.reason)


@cache
def _hashes() -> HashCache:
    return HashCache.of_project()


def file_hash(path: Path) -> str:
    """Hash of the content of a file or folder; `absent` when it does not exist, `unreadable` when it cannot be read."""
    try:
        if path.is_dir():
            return _hashes().tree(path)
        return _hashes().file(path) if path.is_file() else "absent"
    except OSError:
        return "unreadable"

"""Corruptions of the other layouts."""

import os
import shutil

import numpy as np
from corrupting import (
    DECODE,
    GENERATED,
    INVALID,
    LENGTH,
    MISSING,
    REST,
    SYNTHETIC,
    TRUTH,
    WR_VIDEO,
    Case,
    document,
    manifest,
    mirrored,
    mixed_sizes,
    nan_poses,
    odd_mirror,
    sheet,
    sidecar,
    text,
)
from layout_data import action_json, turn, write_csv, write_json
from lookback.errors import Reason

OTHERS: dict[str, Case] = {
    # memobench
    "phases swapped": Case(
        "memobench", sheet(["Study_001", 20, 14, 6], REST), "r_start", INVALID, "returns at frame 6, but leaves at 14", "d_start"
    ),
    "phase is a word": Case(
        "memobench", sheet(["Study_001", 20, "soon", 14], REST), "d_start", INVALID, "is 'soon', not a frame number", "d_start"
    ),
    "phase is half a frame": Case(
        "memobench", sheet(["Study_001", 20, 5.5, 14], REST), "d_start", INVALID, "is '5.5', not a frame number", "d_start"
    ),
    "phase beyond the sheet's length": Case(
        "memobench", sheet(["Study_001", 20, 6, 25], REST), "r_start", INVALID, "but the ground truth has 20 frames", "d_start"
    ),
    "phase beyond the video": Case(
        "memobench",
        sheet(["Study_001", "", 6, 25], REST),
        "r_start",
        INVALID,
        "is 25, but the ground truth has 20 frames",
        "r_start",
    ),
    "phase row twice": Case(
        "memobench",
        sheet(["Study_001", 20, 6, 14], ["Study_001", 20, 6, 14], REST),
        "clip",
        INVALID,
        "occurs a second time",
        "d_start",
    ),
    "phase row of no clip": Case(
        "memobench",
        sheet(["Study_001", 20, 6, 14], ["whatever", 20, 6, 14], REST),
        "clip",
        INVALID,
        "'whatever' is no clip name",
        "d_start",
    ),
    "phase column missing": Case(
        "memobench",
        sheet(["Study_001", 6], header=("clip", "d_start")),
        "r_start",
        MISSING,
        "has no column r_start or re-enter",
        "d_start",
    ),
    "phase column twice": Case(
        "memobench",
        sheet(["Study_001", 6, 6, 9], header=("clip", "d_start", "d_start", "r_start")),
        "header",
        INVALID,
        "has the column 'd_start' twice",
        "d_start",
    ),
    "phase sheet no XLSX": Case(
        "memobench",
        lambda root: ((root / "data/phases.csv").unlink(), (root / "data/phases.xlsx").write_bytes(b"PK not a zip")),
        "document",
        INVALID,
        "is no readable XLSX file",
        "d_start",
    ),
    "phase sheet with an endless cell": Case(
        "memobench",
        lambda root: (root / "data/phases.csv").write_text('clip,d_start,r_start\n"' + "x" * 200_000),
        "document",
        INVALID,
        "is no readable CSV file",
        "d_start",
    ),
    "sheet's length is wrong": Case(
        "memobench",
        sheet(["Study_001", 18, 6, 14], REST),
        "n_frames",
        LENGTH,
        "is 18, but the ground truth has 20 frames",
        "gt_frames",
    ),
    "ground truth poses NaN": Case(
        "memobench",
        lambda root: np.save(root / SYNTHETIC / "1/poses.npy", nan_poses(20)),
        "gt_poses",
        INVALID,
        "is not finite",
        "gt_poses",
    ),
    "ground truth poses mirrored": Case(
        "memobench",
        lambda root: np.savez(root / "data/Real_Raw/007/raw/007_mapanything.npz", cam_c2w=mirrored()),
        "gt_poses",
        INVALID,
        "is mirrored",
        "gt_poses",
    ),
    "ground truth missing": Case(
        "memobench",
        lambda root: shutil.rmtree(root / SYNTHETIC / "RGB1"),
        "ground_truth",
        MISSING,
        "there is no ground truth of 'Study_001'",
        "ground_truth",
    ),
    "intrinsics negative": Case(
        "memobench",
        lambda root: np.save(root / SYNTHETIC / "1/intrinsics.npy", np.full((20, 4), -1.0)),
        "gt_intrinsics",
        INVALID,
        "focal length that is no number above 0",
        "gt_intrinsics",
    ),
    "frames of two sizes": Case("memobench", mixed_sizes, "video", Reason.SIZE_MISMATCH, "frames must be of one size"),
    "clip folder empty": Case(
        "memobench",
        lambda root: (shutil.rmtree(root / "output/wan/Real/007"), (root / "output/wan/Real/007").mkdir()),
        "video",
        MISSING,
        "holds no frames",
    ),
    "metadata row of no clip": Case(
        "memobench",
        lambda root: write_csv(
            root / "data/sam3_metadata/real_metadata.csv",
            ["video_id", "subject", "prompt"],
            [["seven", "beaker", "x"], [7, "beaker", "x"]],
        ),
        "video_id",
        INVALID,
        "is 'seven', which names no real clip",
        "prompt",
    ),
    # wrbench
    "axes are OpenGL": Case(
        "wrbench",
        sidecar(lambda value: value.update(target_coordinate_convention="opengl_c2w")),
        "target_coordinate_convention",
        INVALID,
        "must be OpenCV camera-to-world",
        "target_poses",
    ),
    "target poses NaN": Case(
        "wrbench",
        lambda root: np.save(root / f"{WR_VIDEO}.target_c2w.npy", nan_poses()),
        "target_poses",
        INVALID,
        "is not finite",
        "target_poses",
    ),
    "target poses of another length": Case(
        "wrbench",
        lambda root: np.save(root / f"{WR_VIDEO}.target_c2w.npy", turn(20)),
        "target_poses",
        LENGTH,
        "has 20 poses, but the video has 12 frames",
        "target_poses",
    ),
    "target poses missing": Case(
        "wrbench",
        lambda root: (root / f"{WR_VIDEO}.target_c2w.npy").unlink(),
        "target_pose_path",
        MISSING,
        "does not exist",
        "target_poses",
    ),
    "sidecar leads out": Case(
        "wrbench",
        sidecar(lambda value: value.update(target_pose_path="/tmp/poses.npy")),
        "target_pose_path",
        INVALID,
        "is absolute",
        "target_poses",
    ),
    "sidecar is cut off": Case(
        "wrbench", text(f"{WR_VIDEO}.camera.json", b'{"fov": 7'), "document", INVALID, "is not valid JSON", "target_poses"
    ),
    "field of view is absurd": Case(
        "wrbench", sidecar(lambda value: value.update(fov=720)), "fov", INVALID, "not a field of view in degrees", "fov_deg"
    ),
    "sidecar's length is wrong": Case(
        "wrbench",
        sidecar(lambda value: value.update(num_frames=81)),
        "num_frames",
        LENGTH,
        "is 81, but the video has 12 frames",
        "target_poses",
    ),
    "sidecar's size is wrong": Case(
        "wrbench",
        sidecar(lambda value: value.update(image_size=[48, 64])),
        "image_size",
        Reason.SIZE_MISMATCH,
        "is [48, 64], but the video is 64x48",
        "target_poses",
    ),
    "camera unknown": Case(
        "wrbench",
        manifest(lambda row: row.update(camera_type="spin:left")),
        "camera_type",
        INVALID,
        "is no camera request",
        "camera",
    ),
    "condition type unknown": Case(
        "wrbench",
        manifest(lambda row: row.update(condition_type="magic")),
        "condition_type",
        INVALID,
        "write one of source-video",
        "condition_type",
    ),
    "event level unknown": Case(
        "wrbench", manifest(lambda row: row.update(event_delta="half")), "event_delta", INVALID, "is 'half'"
    ),
    "model missing": Case("wrbench", manifest(lambda row: row.pop("model")), "model", MISSING, "is missing"),
    "generation failed": Case(
        "wrbench",
        manifest(lambda row: row.update(status="failed", error="CUDA out of memory")),
        "status",
        MISSING,
        "the generation failed (CUDA out of memory)",
    ),
    "manifest without a list": Case(
        "wrbench", lambda root: write_json(root / "manifest.json", {"rows": 3}), "videos", INVALID, "holds no list of videos"
    ),
    "suite is broken": Case("wrbench", text("variants.jsonl", b"{}\n"), "natural25", INVALID, "family_id: is missing"),
    # mind
    "action.json missing": Case(
        "mind", lambda root: (root / TRUTH / "action.json").unlink(), "document", MISSING, "does not exist", "actions"
    ),
    "mark_time beyond the end": Case(
        "mind",
        document(f"{TRUTH}/action.json", lambda value: value.update(mark_time=20)),
        "mark_time",
        INVALID,
        "but the video ends at frame 20",
        "actions",
    ),
    "mark_time is a text": Case(
        "mind",
        document(f"{TRUTH}/action.json", lambda value: value.update(mark_time="8")),
        "mark_time",
        INVALID,
        "not a whole number of 0 or more",
        "actions",
    ),
    "action rows missing": Case(
        "mind",
        document(f"{TRUTH}/action.json", lambda value: value["data"].pop()),
        "data",
        LENGTH,
        "has 19 rows for 20 frames",
        "actions",
    ),
    "action frame number": Case(
        "mind",
        document(f"{TRUTH}/action.json", lambda value: value["data"][4].update(time=9)),
        "data[4].time",
        INVALID,
        "is 9, not 4",
        "actions",
    ),
    "action value": Case(
        "mind",
        document(f"{TRUTH}/action.json", lambda value: value["data"][5].update(ws=7)),
        "data[5].ws",
        INVALID,
        "use 0, 1 or 2",
        "actions",
    ),
    "actor position NaN": Case(
        "mind",
        document(f"{TRUTH}/action.json", lambda value: value["data"][2]["actor_pos"].update(x=float("nan"))),
        "data[2].actor_pos",
        INVALID,
        "finite x, y and z",
        "actions",
    ),
    "actor position of many digits": Case(
        "mind",
        document(f"{TRUTH}/action.json", lambda value: value["data"][2]["actor_pos"].update(x=10**400)),
        "data[2].actor_pos",
        INVALID,
        "finite x, y and z",
        "actions",
    ),
    "total_time is wrong": Case(
        "mind",
        lambda root: action_json(root / TRUTH / "action.json", total=30),
        "total_time",
        LENGTH,
        "is 30, but the ground truth has 20 frames",
        "gt_frames",
    ),
    "ground truth folder missing": Case(
        "mind",
        lambda root: shutil.rmtree(root / TRUTH),
        "ground_truth",
        MISSING,
        "the ground truth has no '1st_data/test/mem_test/hall'",
        "ground_truth",
    ),
    "generated video missing": Case("mind", lambda root: (root / GENERATED).unlink(), "video", MISSING, "does not exist"),
    "mirror video of odd length": Case("mind", odd_mirror, "video", LENGTH, "the way back must be as long", "video"),
    # folder
    "folder link to itself": Case(
        "folder", lambda root: (root / "loop").symlink_to(root / "loop"), "path", INVALID, "leads to itself"
    ),
    "folder link out": Case(
        "folder",
        lambda root: (root / "out.mp4").symlink_to("/etc/hostname"),
        "path",
        INVALID,
        "is a symbolic link out of the dataset",
    ),
    "file name is not UTF-8": Case(
        "folder",
        lambda root: (root / "alpha/one.mp4").rename(os.fsdecode(os.fsencode(root) + b"/alpha/\xff\xfe.mp4")),
        "path",
        INVALID,
        "has a name that is not UTF-8",
    ),
    "folder video empty": Case(
        "folder", lambda root: (root / "alpha/one.mp4").write_bytes(b""), "video", DECODE, "is empty (0 bytes)"
    ),
    "anchor of no size": Case(
        "folder",
        lambda root: write_csv(root / "anchors.csv", ["clip_id", "centre_x", "centre_y", "width", "height"], [["one", 5, 5, 0, 9]]),
        "anchor",
        INVALID,
        "has no finite size above 0",
        "object_anchor",
    ),
    "anchors.csv outside the frame": Case(
        "wrbench",
        lambda root: write_csv(
            root / "anchors.csv",
            ["clip_id", "centre_x", "centre_y", "width", "height"],
            [["kitchen_cat_cup_knock__T0__yaw_LR@yaw_LR", 900, 5, 4, 4]],
        ),
        "anchors.csv",
        INVALID,
        "outside the 64x48 frame",
        "object_anchor",
    ),
}

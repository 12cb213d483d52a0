"""Corruptions of an MBench setup folder: documents, names, paths, videos, poses, tasks."""

import numpy as np
from corrupting import (
    DECODE,
    FIRST_VIDEO,
    INVALID,
    LINES,
    MISSING,
    POSES,
    SAMPLE,
    VIDEO,
    Case,
    da3_array,
    document,
    line,
    link,
    nan_poses,
    no_rotation,
    outside,
    text,
    truncated,
    video_path,
)
from layout_data import da3, read_lines, turn, write_lines

MBENCH: dict[str, Case] = {
    # documents
    "dataset.yaml is no YAML": Case(
        "mbench", text("dataset.yaml", b"dataset_id: [mbencha"), "document", INVALID, "is not valid YAML"
    ),
    "dataset.yaml calls a constructor": Case(
        "mbench", text("dataset.yaml", b"!!python/object/apply:os.system ['true']"), "document", INVALID, "is not valid YAML"
    ),
    "dataset.yaml is a list": Case("mbench", text("dataset.yaml", b"- a\n- b\n"), "document", INVALID, "is a list, not a mapping"),
    "unknown dataset_id": Case(
        "mbench", text("dataset.yaml", b"dataset_id: mbenchx\n"), "dataset_id", INVALID, "write one of mbencha, mbencht"
    ),
    "dataset_id of the wrong type": Case(
        "mbench", text("dataset.yaml", b"dataset_id: [1]\n"), "dataset_id", INVALID, "is a list, not a text"
    ),
    "samples.jsonl missing": Case("mbench", lambda root: (root / LINES).unlink(), "document", MISSING, "does not exist"),
    "samples.jsonl not UTF-8": Case(
        "mbench", text(LINES, b'{"subset": "\xff\xfe"}\n'), "document", INVALID, "is not UTF-8 (byte 12)"
    ),
    "line cut off": Case(
        "mbench",
        lambda root: (root / LINES).open("a").write('{"subset": "human", "samp\n'),
        "document",
        INVALID,
        "is not valid JSON",
    ),
    "line is a list": Case(
        "mbench", lambda root: (root / LINES).open("a").write("[1, 2]\n"), "document", INVALID, "is a list, not a mapping"
    ),
    "deeply nested JSON": Case(
        "mbench", lambda root: (root / LINES).open("a").write("[" * 100_000 + "\n"), "document", INVALID, "is not valid JSON"
    ),
    "sample.json cut off": Case("mbench", text(SAMPLE, b'{"metadata": {'), "document", INVALID, "is not valid JSON"),
    # names
    "subset missing": Case("mbench", line(lambda row: row.pop("subset")), "subset", MISSING, "is missing"),
    "subset unknown": Case("mbench", line(lambda row: row.update(subset="animals")), "subset", INVALID, "use one of human, object"),
    "sample_id with a slash": Case(
        "mbench", line(lambda row: row.update(sample_id="a/b")), "sample_id", INVALID, "holds a character that ids cannot have"
    ),
    "sample_id is a number": Case("mbench", line(lambda row: row.update(sample_id=7)), "sample_id", INVALID, "is 7, not a text"),
    "model_id of another folder": Case(
        "mbench", line(lambda row: row.update(model_id="yume")), "model_id", INVALID, "must be 'wan'"
    ),
    "item_id disagrees": Case("mbench", line(lambda row: row.update(item_id="human:x:y")), "item_id", INVALID, "make them agree"),
    "duplicate id": Case(
        "mbench",
        lambda root: write_lines(root / LINES, [*read_lines(root / LINES), read_lines(root / LINES)[0]]),
        "clip_id",
        INVALID,
        "occurs a second time",
    ),
    "sample.json of another sample": Case(
        "mbench",
        document(SAMPLE, lambda value: value.update(sample_id="cup_9")),
        "sample_id",
        INVALID,
        "in the folder of 'object_1'",
    ),
    # paths
    "absolute path": Case("mbench", video_path("/etc/passwd"), FIRST_VIDEO, INVALID, "the path '/etc/passwd' is absolute"),
    "drive letter": Case("mbench", video_path("C:\\videos\\a.mp4"), FIRST_VIDEO, INVALID, "is absolute"),
    "path with ..": Case("mbench", video_path("../../secret.mp4"), FIRST_VIDEO, INVALID, "leaves the dataset by '..'"),
    "path with backslash ..": Case("mbench", video_path("..\\..\\secret.mp4"), FIRST_VIDEO, INVALID, "leaves the dataset by '..'"),
    "path is a number": Case("mbench", video_path(3), FIRST_VIDEO, INVALID, "is no path but 3"),
    "path with a NUL": Case("mbench", video_path("a\0b.mp4"), FIRST_VIDEO, INVALID, "is no path"),
    "link out of the dataset": Case("mbench", outside(VIDEO), FIRST_VIDEO, INVALID, "is a symbolic link out of the dataset"),
    "link to itself": Case("mbench", link(VIDEO, "video.mp4"), FIRST_VIDEO, INVALID, "is a symbolic link that leads to itself"),
    # videos
    "video missing": Case("mbench", lambda root: (root / VIDEO).unlink(), FIRST_VIDEO, MISSING, "does not exist"),
    "video of zero bytes": Case("mbench", text(VIDEO, b""), FIRST_VIDEO, DECODE, "is empty (0 bytes)"),
    "video is text": Case("mbench", text(VIDEO, b"not a video at all" * 50), "video", DECODE, "cannot be opened as a video"),
    "video cut off": Case("mbench", truncated(VIDEO), "video", DECODE, ""),
    "no generated video": Case(
        "mbench",
        line(lambda row: row["media"]["videos"][0].update(role="source")),
        "media.videos",
        MISSING,
        "has no entry with the role 'generated'",
    ),
    "media.videos empty": Case(
        "mbench", line(lambda row: row["media"].update(videos=[])), "media.videos", INVALID, "not a list with at least one entry"
    ),
    # camera poses
    "poses missing": Case("mbench", lambda root: (root / POSES).unlink(), "artifacts.da3.path", MISSING, "does not exist", "poses"),
    "poses are NaN": Case(
        "mbench", lambda root: da3(root / POSES, nan_poses()), "poses", INVALID, "frame 3 has a pose that is not finite", "poses"
    ),
    "poses are scaled": Case("mbench", lambda root: da3(root / POSES, no_rotation()), "poses", INVALID, "is no rotation", "poses"),
    "poses without extrinsics": Case(
        "mbench", da3_array(depth=np.ones((2, 2, 2))), "poses", INVALID, "has no array 'extrinsics'", "poses"
    ),
    "poses of a wrong shape": Case(
        "mbench", da3_array(extrinsics=np.eye(4)), "poses", INVALID, "must have shape (N,3,4) or (N,4,4)", "poses"
    ),
    "more poses than frames": Case(
        "mbench", lambda root: da3(root / POSES, turn(50)), "poses", INVALID, "50 poses and the video only 12 frames", "poses"
    ),
    "pickled poses": Case(
        "mbench",
        lambda root: np.savez(root / POSES, extrinsics=np.array([{"a": 1}], dtype=object)),
        "poses",
        INVALID,
        "cannot be read as a numpy file",
        "poses",
    ),
    "poses are text": Case("mbench", text(POSES, b"hello"), "poses", INVALID, "cannot be read", "poses"),
    # tasks
    "anchor missing": Case(
        "mbench",
        document(SAMPLE, lambda value: value["metadata"].pop("object_anchor")),
        "metadata.object_anchor",
        MISSING,
        "needs it",
        "object_anchor",
    ),
    "anchor of three numbers": Case(
        "mbench",
        document(SAMPLE, lambda value: value["metadata"].update(object_anchor=[1, 2, 3])),
        "metadata.object_anchor",
        INVALID,
        "four finite numbers",
        "object_anchor",
    ),
    "anchor without area": Case(
        "mbench",
        document(SAMPLE, lambda value: value["metadata"].update(object_anchor=[1, 2, 0, 3])),
        "metadata.object_anchor",
        INVALID,
        "is no box in the frame",
        "object_anchor",
    ),
    "anchor outside the frame": Case(
        "mbench",
        document(SAMPLE, lambda value: value["metadata"].update(object_anchor=[500, 2, 5, 3])),
        "metadata.object_anchor",
        INVALID,
        "outside the 64x48 frame",
        "object_anchor",
    ),
    "caption of the wrong type": Case(
        "mbench",
        document(SAMPLE, lambda value: value["metadata"].update(caption=["a"])),
        "metadata.caption",
        INVALID,
        "is a list, not a text",
        "prompt",
    ),
    "caption with half a character": Case(
        "mbench",
        document(SAMPLE, lambda value: value["metadata"].update(caption="a \ud83d cup")),
        "metadata.caption",
        INVALID,
        "not a text",
        "prompt",
    ),
    "caption segments of numbers": Case(
        "mbench",
        document(SAMPLE, lambda value: value["metadata"].update(caption_segments=[1, 2])),
        "metadata.caption_segments",
        INVALID,
        "not a list of texts",
        "caption_segments",
    ),
}

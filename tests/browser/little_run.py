"""A little run whose every frame, mask and camera is known: a playroom by three models, and a clip of fifteen minutes."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import cv2
import made_artifacts
import numpy as np
import pandas as pd
from lookback.artifacts import Depth
from lookback.camera.intent import preset
from lookback.clips import KEYS, Clip, clips_to_frame
from lookback.demo.clip import RenderedClip, render_clip
from lookback.demo.spec import ClipSpec
from lookback.media import encode, open_video
from lookback.store import ArtifactStore, Producer
from lookback.tables import write_table

RUN = "little"
SIZE, FRAMES, LONGER, FPS = (160, 96), 24, 36, 12.0
CAPTIONS = ["A ball lies on the rug.", "The camera turns away.", "The camera turns back."]
VERBATIM = 'Yes. The ball is seen at first ("frame 2"), then it is out of view, and it is back from frame 14 on.'
LONG_FRAMES, LONG_PERIOD, LONG_FPS = 21600, 48, 24
LONG_LABEL = "folder/quarter-hour/long"


@dataclass(frozen=True)
class LittleRun:
    root: Path
    clips: dict[str, Clip]  # by label

    @property
    def folder(self) -> Path:
        return self.root / "outputs" / RUN

    def frame(self, label: str, index: int, truth: bool = False) -> np.ndarray:
        """The frame as the package's own decoder reads it."""
        clip = self.clips[label]
        with open_video(self.root / str(clip.ground_truth if truth else clip.video)) as video:
            return video.read([index])[0]


def write_little_run(root: Path) -> LittleRun:
    """Clips, artifacts and tables below `root`, as the stages would have written them."""
    (root / "params").mkdir(parents=True)
    (root / "notebooks").mkdir()
    (root / "params" / f"{RUN}.yaml").write_text("description: three models in a playroom\ncuration: {}\n")
    folder = root / "outputs" / RUN
    (folder / "videos").mkdir(parents=True)
    faithful = _film("none", 0.0, FRAMES)
    films = {
        "aldermoor": faithful,
        "birkdale": _film("object_vanishes", 1.0, FRAMES),
        "calderbrook": _film("none", 0.0, LONGER),
        "truth": faithful,
    }
    for name, film in films.items():
        encode(folder / "videos" / f"{name}.mp4", film.frames, FPS)
    clips = _clips(films)
    _write_long_clip(folder / "videos" / "long.mp4")
    long = Clip(
        benchmark="folder", setting="", model_id="quarter-hour", clip_id="long", video=f"outputs/{RUN}/videos/long.mp4", prompt=""
    )
    write_table(folder / "tables", "clips", clips_to_frame([*clips, long]))
    _write_artifacts(folder, clips, films)
    _write_scores(folder / "tables", clips, films)
    return LittleRun(root, {clip.label: clip for clip in [*clips, long]})


def _film(failure: str, severity: float, frames: int) -> RenderedClip:
    return render_clip(ClipSpec("playroom", preset("yaw_LR", frames=frames), "none", failure, severity, *SIZE, seed=7))


def _clips(films: dict[str, RenderedClip]) -> list[Clip]:
    truth = films["truth"]
    clips = []
    for model in ("aldermoor", "birkdale", "calderbrook"):
        common = {
            "model_id": model,
            "scene": "playroom",
            "video": f"outputs/{RUN}/videos/{model}.mp4",
            "prompt": "A ball in a playroom.",
        }
        common |= {"camera": f"yaw:left:60@{FRAMES // 2},yaw:right:60@{FRAMES // 2}", "object_name": "a ball"}
        clips.append(
            Clip(
                benchmark="memobench",
                setting="synthetic",
                clip_id="Playroom_001",
                ground_truth=f"outputs/{RUN}/videos/truth.mp4",
                d_start=truth.d_start,
                r_start=truth.r_start,
                gt_frames=FRAMES,
                **common,
            )
        )
        if model != "calderbrook":
            clips.append(Clip(benchmark="wrbench", setting="demo", clip_id="playroom__yaw_LR", **common))
            clips.append(
                Clip(
                    benchmark="mbench",
                    setting="T",
                    clip_id="object:play_001:text",
                    subset="object",
                    caption_segments=CAPTIONS,
                    **common,
                )
            )
    return clips


def _write_artifacts(folder: Path, clips: list[Clip], films: dict[str, RenderedClip]) -> None:
    store = ArtifactStore(folder / "artifacts")
    rows = []
    for clip in clips:
        film = films[clip.model_id]
        count = len(film.parts)
        index = np.arange(count)
        masks = film.parts == 1
        boxes = np.array([_box(mask) for mask in masks], np.float32)
        seen = masks.any(axis=(1, 2))
        away = int(np.argmin(seen)) if not seen.all() else count
        state = np.where(seen, np.where(index > away, 3, 1), 0).astype(np.int8)
        intrinsics, still = np.repeat(film.intrinsics[None], count, axis=0), np.zeros(count, bool)
        artifacts = (
            made_artifacts.poses(film.c2w, intrinsics=intrinsics, has_translation=still),
            made_artifacts.masks(masks, boxes=boxes, state=state),
            Depth(frame_index=index, depth=film.depth.astype(np.float32)),
        )
        for artifact in artifacts:
            role, entry = artifact.role, artifact.pack()
            producer = Producer(role, "truth", "1")
            key = store.save(producer, clip.label, entry.arrays, entry.record)
            rows.append(_row(clip, role=role, stored=key, n_frames=count, backend="truth", version="1", input_hash=clip.label))
        rows.append(_row(clip, role="faces", reason="no_face", detail="no face in this clip"))
    columns = {"stored": "", "reason": "", "detail": "", "n_frames": None, "summary": "{}"}
    columns |= dict.fromkeys(["backend", "version", "weights", "params_hash", "input_hash"], "")
    write_table(folder / "tables", "artifacts", pd.DataFrame([{**columns, **row} for row in rows])[[*KEYS, "role", *columns]])


def _box(mask: np.ndarray) -> list[float]:
    if not mask.any():
        return [np.nan] * 4
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]


def _write_scores(folder: Path, clips: list[Clip], films: dict[str, RenderedClip]) -> None:
    units, items, judgements, failures, segments = [], [], [], [], []
    for clip in (clip for clip in clips if clip.benchmark == "memobench"):
        film, scale = films[clip.model_id], len(films[clip.model_id].frames) / FRAMES
        spans = {"V": (0, clip.d_start), "D": (clip.d_start, clip.r_start), "R": (clip.r_start, FRAMES)}
        for phase, (start, end) in spans.items():
            segments.append(_row(clip, kind="phase", segment_id=phase, start=round(start * scale), end=round(end * scale), text=""))
        if len(film.frames) == FRAMES:
            values = [_psnr(film.frames[k], films["truth"].frames[k]) for k in range(FRAMES)]
            common = {"metric": "memobench.psnr", "variant": "paper", "reason": "", "detail": "", "raw": None}
            units += [
                _row(clip, unit_id=f"frame_{k:03d}", kind="frame", frame=k, frame_other=k, phase="", value=value, **common)
                for k, value in enumerate(values)
            ]
            items.append(_row(clip, phase="", value=float(np.mean(values)), n_units=FRAMES, **common))
        judgements.append(
            _row(
                clip,
                **{"task": "vqa", "question_id": "q1", "judge": "recorded", "repeat": 0, "frame": 14, "confidence": None},
                **{"question": "Is the ball there after the return?", "answer": "yes", "value": 0.9, "value_from": "stated"},
                **{"reason": "", "verbatim": VERBATIM, "prompt_version": "1", "simulated": False},
            )
        )
    vanishing = next(clip for clip in clips if clip.benchmark == "memobench" and clip.model_id == "birkdale")
    failures.append(
        _row(
            vanishing,
            label="object_vanishes",
            confidence=0.9,
            frame_start=14,
            frame_end=FRAMES - 1,
            rule="r",
            evidence="no ball after the return",
        )
    )
    provenance = dict.fromkeys(["backend", "version", "weights", "params_hash", "input_hash"], "")
    order = {
        "units": ["metric", "variant", "unit_id", "kind", "frame", "frame_other", "phase", "value", "raw", "reason", "detail"],
        "items": ["metric", "variant", "phase", "value", "raw", "reason", "detail", "n_units", *provenance],
    }
    write_table(folder, "units", pd.DataFrame(units)[[*KEYS, *order["units"]]])
    write_table(folder, "items", pd.DataFrame([{**row, **provenance} for row in items])[[*KEYS, *order["items"]]])
    asked = ["task", "question_id", "judge", "repeat", "frame", "question", "answer", "value", "confidence", "value_from", "reason"]
    asked += ["verbatim", "prompt_version", "simulated", *provenance]
    write_table(folder, "judgements", pd.DataFrame([{**row, **provenance} for row in judgements])[[*KEYS, *asked]])
    write_table(folder, "failures", pd.DataFrame(failures))
    write_table(folder, "segments", pd.DataFrame(segments))


def _psnr(image: np.ndarray, truth: np.ndarray) -> float:
    """10 log10(255^2 / mse), at most 60."""
    mse = float(((image.astype(float) - truth) ** 2).mean())
    return min(60.0, 10 * np.log10(255**2 / max(mse, 1e-9)))


def _row(clip: Clip, **values: object) -> dict[str, object]:
    return {**dict(zip(KEYS, clip.key, strict=True)), **values}


def long_frame(index: int) -> np.ndarray:
    """A 1080p picture that tells its number within the period: a bar that moves 20 pixels a frame."""
    picture = np.full((1080, 1920, 3), (90, 110, 130), np.uint8)
    cv2.rectangle(picture, (20 * (index % LONG_PERIOD), 200), (20 * (index % LONG_PERIOD) + 300, 800), (230, 60, 30), -1)
    return picture


def _write_long_clip(path: Path) -> None:
    """Fifteen minutes of 1080p: one group of pictures (two seconds), its packets written 450 times with later time stamps."""
    piece = path.with_name("piece.mp4")
    with av.open(str(piece), "w") as out:
        stream = out.add_stream("libx264", rate=LONG_FPS)
        stream.width, stream.height, stream.pix_fmt = 1920, 1080, "yuv420p"
        stream.options = {"preset": "veryfast", "g": str(LONG_PERIOD), "keyint_min": str(LONG_PERIOD), "sc_threshold": "0"}
        for index in range(LONG_PERIOD):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(long_frame(index), format="rgb24")))
        out.mux(stream.encode(None))
    with av.open(str(piece)) as source, av.open(str(path), "w") as out:
        video = source.streams.video[0]
        target = out.add_stream_from_template(video)
        packets = [(bytes(packet), packet.pts, packet.dts, packet.is_keyframe) for packet in source.demux(video) if packet.size]
        period = int(Fraction(LONG_PERIOD, LONG_FPS) / video.time_base)
        for repeat in range(LONG_FRAMES // LONG_PERIOD):
            for content, pts, dts, keyframe in packets:
                packet = av.Packet(content)
                packet.pts, packet.dts, packet.time_base = pts + repeat * period, dts + repeat * period, video.time_base
                packet.stream, packet.is_keyframe = target, keyframe
                out.mux(packet)
    piece.unlink()

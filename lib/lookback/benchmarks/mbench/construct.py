"""Build an MBench set from source videos: selection, description, five captions and an action, written in MBench's layout.

The paper's steps (sections 3.1 and 3.2): a vision-language model selects videos by written criteria and describes them; the
description becomes five captions with a camera instruction in front of each (MBench-T), and an exit-wait-reenter action (MBench-A).
Every answer is recorded, so a second call costs nothing. People then review the drafts (`review.csv`).
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lookback.benchmarks.mbench.benchmark import SUBSETS
from lookback.camera.intent import CameraIntent, make_intent, motion
from lookback.camera.text import to_captions
from lookback.clips import Clip
from lookback.conditions.construction import Ask
from lookback.errors import ContractError, NotScorable, UsageError
from lookback.judging.prompting import load_prompt
from lookback.judging.question import Part, Question
from lookback.judging.reply_text import parse_json
from lookback.judging.tasks import Sampling, compose, other_footage
from lookback.layouts.confine import is_video_file
from lookback.layouts.writing import write_csv, write_image, write_json
from lookback.media import open_video
from lookback.names import one_line
from lookback.paths import portable

SEGMENTS = 5
DEGREES = 60.0
REVIEW = "review.csv"
REVIEW_COLUMNS = ["sample_id", "subset", "caption", "target", "action", "keep", "comment"]
DATASETS = {"A": ("mbencha", "{action}_{length}"), "T": ("mbencht", "text")}


@dataclass
class Draft:
    """One source video on its way into the set."""

    video: Path
    sample_id: str
    subset: str = ""
    selection: Mapping[str, Any] = field(default_factory=dict)
    description: Mapping[str, Any] = field(default_factory=dict)
    segments: tuple[str, ...] = ()
    problem: str = ""

    @property
    def target(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.description.get("target", {})
        return found

    @property
    def action(self) -> str:
        """Exit, wait, reenter: the camera turns to the side that the target leaves fastest, waits, and turns back."""
        away, back = ("right", "left") if float(self.target.get("center_x", 0.5)) <= 0.5 else ("left", "right")
        return f"{away}_then_wait_then_{back}"


def construct(videos: Path, out: Path, ask: Ask, n_frames: int = 8) -> list[Draft]:
    """Ask about every video below a folder and write the drafts that are complete. Drafts with a problem are not written."""
    drafts = find_videos(videos)
    _select(drafts, ask, n_frames)
    _describe([draft for draft in drafts if draft.subset and not draft.problem], ask, n_frames)
    _divide([draft for draft in drafts if draft.description and not draft.problem], ask)
    complete = [draft for draft in drafts if draft.segments and not draft.problem]
    write_sets(complete, out)
    write_review(complete, out)
    return drafts


def find_videos(folder: Path) -> list[Draft]:
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder of source videos")
    found = sorted(path for path in folder.rglob("*") if is_video_file(path))
    if not found:
        raise UsageError(f"{folder} holds no video")
    names = [path.stem for path in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ContractError(f"{folder}: two videos are called '{twice}'; a sample's name must be its own")
    return [Draft(path, path.stem) for path in found]


def _questions(
    drafts: Sequence[Draft], prompt_name: str, n_frames: int, values: Callable[[Draft], dict[str, str]]
) -> list[Question]:
    """One question per draft; a video that cannot be read becomes the draft's problem."""
    questions, prompt = [], load_prompt(prompt_name)
    for draft in drafts:
        clip = Clip(benchmark="mbench", setting="", model_id="source", clip_id=draft.sample_id, video=portable(draft.video))
        try:
            shown = other_footage(clip.video)
        except NotScorable as error:
            draft.problem = f"the video cannot be read ({error.detail})"
            continue
        frames = shown.uniform(Sampling(n_frames=n_frames)) if n_frames else ()
        part = (Part("document", prompt_name),)
        questions.append(compose(clip, "construct", prompt, "questions", part, shown, frames, **values(draft)))
    return questions


def _answers(drafts: Sequence[Draft], questions: Sequence[Question], ask: Ask) -> list[tuple[Draft, Mapping[str, Any]]]:
    """The JSON object that answers each question. An answer that is none becomes the draft's problem."""
    by_name = {draft.sample_id: draft for draft in drafts}
    found: list[tuple[Draft, Mapping[str, Any]]] = []
    for asked in ask(questions):
        draft, answer = by_name[asked.question.clip.clip_id], asked.answers[0]
        value = parse_json(answer.verbatim) if answer.reason is None else None
        if isinstance(value, dict):
            found.append((draft, value))
        else:
            draft.problem = one_line(f"the judge gave no JSON object ({answer.reason or 'another form'})")
    return found


def _select(drafts: Sequence[Draft], ask: Ask, n_frames: int) -> None:
    questions = _questions(drafts, "mbench_construct_select.v1", n_frames, lambda draft: {})
    for draft, value in _answers(drafts, questions, ask):
        draft.selection = value
        subset = str(value.get("subset", "")).strip().lower()
        if subset in SUBSETS:
            draft.subset = subset
        elif subset == "none":
            draft.problem = one_line(f"not selected: {value.get('reason', 'no reason given')}")
        else:
            draft.problem = one_line(f"the judge named the subset '{subset}', which MBench does not have")


def _describe(drafts: Sequence[Draft], ask: Ask, n_frames: int) -> None:
    questions = _questions(drafts, "mbench_construct_describe.v1", n_frames, lambda draft: {"subset": draft.subset})
    for draft, value in _answers(drafts, questions, ask):
        if missing := _missing(value):
            draft.problem = f"the description {missing}"
        else:
            draft.description = value


def _missing(value: Mapping[str, Any]) -> str:
    """What a description lacks, in words."""
    for name in ("scene", "caption"):
        if not isinstance(value.get(name), str) or not value[name].strip():
            return f"has no {name}"
    target = value.get("target")
    if not isinstance(target, dict) or not isinstance(target.get("name"), str) or not target["name"].strip():
        return "names no target"
    box = [target.get(name) for name in ("center_x", "center_y", "width", "height")]
    numbers = [float(value) for value in box if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1]
    if len(numbers) != len(box):
        return "gives no box of the target as shares of the picture"
    if min(numbers[2:]) <= 0:
        return "gives the target a box without a size"
    return ""


def _divide(drafts: Sequence[Draft], ask: Ask) -> None:
    """Five captions, each with the camera's instruction in front."""
    values = lambda draft: {"description": json.dumps(draft.description, ensure_ascii=False)}  # noqa: E731
    for draft, value in _answers(drafts, _questions(drafts, "mbench_construct_segments.v1", 0, values), ask):
        texts = value.get("segments")
        if (
            not isinstance(texts, list)
            or len(texts) != SEGMENTS
            or not all(isinstance(text, str) and text.strip() for text in texts)
        ):
            count = len(texts) if isinstance(texts, list) else "no"
            draft.problem = f"the judge gave {count} captions, {SEGMENTS} are needed"
            continue
        instructions = to_captions(_five_phases(draft))
        draft.segments = tuple(f"{said} {text.strip()}" for said, text in zip(instructions, texts, strict=True))


def _five_phases(draft: Draft) -> CameraIntent:
    """Hold, turn away, hold, turn back, hold: one camera instruction per caption."""
    away = motion("yaw", draft.action.split("_")[0], DEGREES)
    return make_intent([(), (away,), (), (away.reversed(),), ()], 10 * SEGMENTS, "text")


def write_sets(drafts: Sequence[Draft], out: Path) -> None:
    """`mbench_a` and `mbench_t` below `out`, in the layout that `lookback validate` and `lookback conditions` read."""
    for setting, (dataset_id, pattern) in DATASETS.items():
        root = out / f"mbench_{setting.lower()}"
        for draft in drafts:
            place = root / "samples" / draft.subset / draft.sample_id
            with open_video(draft.video) as reader:
                frame = reader.read([0])[0]
            write_image(place / "reference.png", frame)
            shutil.copyfile(draft.video, place / "source_video.mp4")
            write_json(place / "sample.json", _sample(draft, setting, frame.shape[1], frame.shape[0]))
        document = {
            "dataset_id": dataset_id,
            "dataset_name": f"MBench-{setting} from source videos",
            "version": "1.0",
            "path_mode": "relative_to_dataset_root",
            "condition_id": {"pattern": pattern},
        }
        root.mkdir(parents=True, exist_ok=True)
        (root / "dataset.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


def _sample(draft: Draft, setting: str, width: int, height: int) -> dict[str, Any]:
    target = draft.target
    metadata: dict[str, Any] = {
        "scene": draft.description["scene"],
        "caption": draft.description["caption"],
        "object_anchor": {
            "center": [target["center_x"] * width, target["center_y"] * height],
            "width": target["width"] * width,
            "height": target["height"] * height,
        },
        "object_card": {"name": target["name"], "attributes": [str(each) for each in target.get("attributes", [])]},
        "description": dict(draft.description),
        "selection": dict(draft.selection),
    }
    if setting == "T":
        metadata["caption_segments"] = list(draft.segments)
    annotations = {"action": draft.action} if setting == "A" else {}
    return {"sample_id": draft.sample_id, "subset": draft.subset, "metadata": metadata, "annotations": annotations}


def write_review(drafts: Sequence[Draft], out: Path) -> None:
    """One row per draft. People write yes or no into `keep`; what they wrote before is kept."""
    known = {row["sample_id"]: row for row in _read_review(out / REVIEW)} if (out / REVIEW).is_file() else {}
    rows = []
    for draft in drafts:
        before = known.get(draft.sample_id, {})
        facts = [draft.sample_id, draft.subset, draft.description["caption"], draft.target["name"], draft.action]
        rows.append([*facts, before.get("keep", ""), before.get("comment", "")])
    write_csv(out / REVIEW, [REVIEW_COLUMNS, *rows])


def apply_review(out: Path) -> tuple[list[str], list[str], list[str]]:
    """Remove the samples that people do not keep. (kept, removed, not reviewed yet)."""
    answers: dict[str, list[str]] = {"yes": [], "no": [], "": []}
    for number, row in enumerate(_read_review(out / REVIEW), start=2):
        said = row["keep"].strip().lower()
        if said not in answers:
            raise ContractError(f"{out / REVIEW}, line {number}: keep is '{row['keep']}'; write yes or no, or leave it empty")
        answers[said].append(row["sample_id"])
        if said == "no":
            for setting in DATASETS:
                shutil.rmtree(out / f"mbench_{setting.lower()}" / "samples" / row["subset"] / row["sample_id"], ignore_errors=True)
    return answers["yes"], answers["no"], answers[""]


def _read_review(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        raise UsageError(f"{path}: there is no such review; construct the set first")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    safe = [row for row in rows if row.get("sample_id") and row.get("subset") in SUBSETS and "/" not in row["sample_id"]]
    if len(safe) != len(rows) or any(set(REVIEW_COLUMNS) - set(row) for row in rows):
        raise ContractError(f"{path}: its columns must be {', '.join(REVIEW_COLUMNS)}, with the names that were written there")
    return safe

"""MBench's sample.json: the task that every model gets, shared by all its generations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lookback.clips import Anchor
from lookback.errors import Reason
from lookback.layouts.confine import Root, existing_file
from lookback.layouts.documents import Document, read_json
from lookback.layouts.reading import Breach
from lookback.paths import portable

# Spellings of the anchor's four numbers: centre x, centre y, width, height.
ANCHOR_KEYS = (
    ("centre_x", "centre_y", "width", "height"),
    ("center_x", "center_y", "width", "height"),
    ("cx", "cy", "w", "h"),
    ("x", "y", "width", "height"),
)


@dataclass
class Sample:
    """What all clips of a sample share: values by Clip field, and a breach for each broken field."""

    path: Path
    subset: str
    values: dict[str, Any] = field(default_factory=dict)
    problems: dict[str, Breach] = field(default_factory=dict)

    def required(self, setting: str) -> list[tuple[str, Breach]]:
        """The fields that this subset needs (README, "sample.json required fields by subset") and that are missing."""
        wanted = {
            ("object", "T"): ("object_name", "metadata.object_card"),
            ("object", "A"): ("object_anchor", "metadata.object_anchor"),
            ("causal", "T"): ("caption_segments", "metadata.caption_segments"),
            ("causal", "A"): ("prompt", "annotations.action or metadata.caption"),
        }.get((self.subset, setting))
        if wanted is None:
            return []
        name, source = wanted
        if name in self.problems or self.values.get(name) or (name == "prompt" and self.values.get("extras", {}).get("action")):
            return []
        problem = f"is missing, and the subset '{self.subset}' of MBench-{setting} needs it"
        return [(name, Breach(self.path, source, problem, "add it to sample.json", Reason.MISSING_INPUT))]


def read_sample(root: Root, subset: str, sample_id: str) -> Sample:
    """The sample, with each broken field noted. A file that cannot be parsed at all raises a Breach."""
    folder = root.path / "samples" / subset / sample_id
    sample = Sample(folder / "sample.json", subset, {"scene": sample_id})
    root.confirm(folder, sample.path, "path")
    if sample.path.is_file():
        _Parser(sample, Document(read_json(sample.path), sample.path), sample_id).parse()
    for name, file in (("reference_image", "reference.png"), ("ground_truth", "source_video.mp4")):
        if (folder / file).exists():
            sample_file(root, sample, name, folder / file)
    return sample


def sample_file(root: Root, sample: Sample, name: str, path: Path) -> None:
    try:
        root.confirm(path, path, name)
        sample.values[name] = portable(existing_file(path, path, name, path.name))
    except Breach as breach:
        sample.problems[name] = breach


class _Parser:
    def __init__(self, sample: Sample, document: Document, sample_id: str):
        self.sample, self.document, self.sample_id = sample, document, sample_id

    def parse(self) -> None:
        for name, expected in (("sample_id", self.sample_id), ("subset", self.sample.subset)):
            if (found := self.document.get(name)) not in (None, expected):
                raise Breach(self.sample.path, name, f"is '{found}' in the folder of '{expected}'", "make folder and field agree")
        extras: dict[str, Any] = {}
        self._take("prompt", lambda: self.document.text("metadata.caption", ""))
        self._take("caption_segments", lambda: self.document.texts("metadata.caption_segments", []))
        self._take("object_anchor", self._anchor)
        self._take("object_name", self._object_name)
        self._take("scene", lambda: self.document.text("metadata.scene", self.sample_id))
        self._take("camera", lambda: extras.update(self._action()) or "")
        if (card := self.document.get("metadata.object_card")) is not None:
            extras["object_card"] = card
        self.sample.values["extras"] = extras
        if not self.sample.values.get("prompt"):
            self.sample.values["prompt"] = " ".join(self.sample.values.get("caption_segments", []))

    def _take(self, name: str, read: Callable[[], Any]) -> None:
        try:
            self.sample.values[name] = read()
        except Breach as breach:
            self.sample.problems[name] = breach

    def _action(self) -> dict[str, Any]:
        """`annotations.action`: a name such as left_then_right, or one action word per frame."""
        action = self.document.get("annotations.action")
        if action is None:
            return {}
        if isinstance(action, str):
            return {"action": self.document.text("annotations.action")}
        return {"action": self.document.texts("annotations.action")}

    def _object_name(self) -> str:
        """The words that describe the object to the mask backend: attributes and name of its card (paper, appendix B.3)."""
        card = self.document.get("metadata.object_card")
        if card is None or isinstance(card, str):
            return self.document.text("metadata.object_card", "")
        inner = self.document.inner("metadata.object_card")
        attributes = inner.texts("attributes") if inner.get("attributes") else []
        return " ".join([*attributes, inner.text("name")])

    def _anchor(self) -> Anchor | None:
        """`metadata.object_anchor`: centre, width and height in the first frame, in pixels or as shares of the frame."""
        name = "metadata.object_anchor"
        value = self.document.get(name)
        if value is None:
            return None
        numbers = _four_numbers(value)
        if numbers is None:
            wanted = "centre, width and height as four finite numbers"
            raise Breach(self.sample.path, name, f"does not hold {wanted}", 'write {"center": [x, y], "width": w, "height": h}')
        if numbers[2] <= 0 or numbers[3] <= 0 or min(numbers[:2]) < 0:
            problem = f"is no box in the frame (centre {numbers[0]:g}, {numbers[1]:g}, size {numbers[2]:g} x {numbers[3]:g})"
            raise Breach(self.sample.path, name, problem, "give a centre inside the frame and a size above 0")
        return Anchor(centre_x=numbers[0], centre_y=numbers[1], width=numbers[2], height=numbers[3])


def _four_numbers(value: Any) -> list[float] | None:
    if isinstance(value, dict):
        centre = value.get("center", value.get("centre"))
        if isinstance(centre, dict):
            centre = [centre.get("x"), centre.get("y")]
        if isinstance(centre, list):
            value = [*centre, value.get("width"), value.get("height")]
        else:
            value = next(([value[key] for key in keys] for keys in ANCHOR_KEYS if all(key in value for key in keys)), None)
    if not isinstance(value, list) or len(value) != 4:
        return None
    plain = all(isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < 1e6 for number in value)
    return [float(number) for number in value] if plain else None

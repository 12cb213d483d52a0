"""The demo's tasks in words: captions, five-segment prompts, WRBench's prompts."""

from __future__ import annotations

from lookback.camera.intent import CameraIntent
from lookback.camera.text import to_captions, to_text
from lookback.demo.scene import Scene


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def the(name: str) -> str:
    """A noun phrase made definite: "a cup" -> "the cup"."""
    for article in ("an ", "a "):
        if name.startswith(article):
            return f"the {name.removeprefix(article)}"
    return name


def opening(scene: Scene) -> str:
    """What the first frame shows."""
    return sentence(f"in {scene.place}, {scene.subject.name} is in view")


def caption(scene: Scene, event: str) -> str:
    """One sentence for the scene and one for what happens."""
    return f"{opening(scene)} {sentence(scene.events[event].text)}"


def caption_segments(scene: Scene, event: str, camera: CameraIntent) -> list[str]:
    """MBench-T: a camera instruction and a description per segment (before, leaving, away, returning, after)."""
    subject = the(scene.subject.name)
    what = scene.events[event]
    stories = [
        caption(scene, event),
        sentence(f"{subject} leaves the frame"),
        sentence(f"only the rest of {the(scene.place)} is seen"),
        sentence(f"{subject} comes back into view"),
        sentence(what.expected_state),
    ]
    return [f"{instruction} {story}" for instruction, story in zip(to_captions(camera), stories, strict=True)]


def prompt(scene: Scene, event: str, camera: CameraIntent) -> str:
    """Scene, event and camera in one text (MemoBench, WRBench, MIND)."""
    return f"{caption(scene, event)} {to_text(camera)}"

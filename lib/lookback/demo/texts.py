"""The demo's tasks in words: captions, five-segment prompts, and a prompt suite in the form of Natural-25."""

from __future__ import annotations

from functools import cache
from typing import Any

from lookback.camera.intent import CameraIntent, preset
from lookback.camera.text import to_captions, to_text
from lookback.demo.plan import FPS, Task
from lookback.demo.scene import Scene
from lookback.demo.scenes import load_scene
from lookback.layouts.writing import Request, Texts

SEGMENTS = 5  # of a five-segment prompt: before, leaving, away, returning, after
FAMILIES = {"office": "office_officer_counter_sit", "kitchen": "kitchen_cup_table_tip", "dining": "dining_candle_table_burn"}
TIERS = {"none": "T0", "spatial": "T1", "state": "T2_div_a", "full": "T2_div_b"}
DELTAS = {"none": "none", "spatial": "spatial", "state": "state_only", "full": "full"}
CAMERAS = ("none", "static", "yaw_LR", "yaw_RL", "pan_LR")


@cache
def request_of(task: Task) -> Request:
    """A task with its texts, as the layouts' writers take it."""
    scene = load_scene(task.scene)
    segments = tuple(caption_segments(scene, task.event, task.camera)) if len(task.camera.segments) == SEGMENTS else ()
    subject = scene.subject
    texts = Texts(
        subject.name, tuple(subject.attributes), caption(scene, task.event), prompt(scene, task.event, task.camera), segments
    )
    suite = {"family": _family(scene), "variants": _variants(scene)} if task.scene in FAMILIES else {}
    names = (task.setting, task.clip_id, task.subset, task.sample_id, task.condition_id, task.scene, task.event)
    return Request(*names, task.camera, texts, FPS, task.mark_time, suite)


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
    """A camera instruction and a description per segment."""
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
    """Scene, event and camera in one text."""
    return f"{caption(scene, event)} {to_text(camera)}"


def _family(scene: Scene) -> dict[str, Any]:
    subject = scene.subject
    guidance = {
        "shot_type": "eye-level medium shot",
        "composition": f"{subject.name} left of the centre",
        "lighting": "daylight" if scene.outdoor else "soft indoor light",
        "texture": ", ".join(subject.attributes),
        "palette": "natural colours",
    }
    nearby = [thing.name for thing in scene.things if thing.hallucinated][6:9]
    return {
        "family_id": FAMILIES[scene.name],
        "scene": scene.place,
        "first_frame_guidance": guidance,
        "primary_object": {"id": subject.name.replace(" ", "_"), "name": subject.name},
        "supporting_objects": [{"id": name.replace(" ", "_"), "name": name, "role": "anchor"} for name in nearby],
    }


def variant_id(scene: str, event: str, camera: str) -> str:
    return f"{FAMILIES[scene]}__{TIERS[event]}__{camera}"


def _variants(scene: Scene) -> list[dict[str, Any]]:
    return [_variant(scene, event, camera) for event in TIERS for camera in CAMERAS]


def _variant(scene: Scene, event: str, camera: str) -> dict[str, Any]:
    what = scene.events[event]
    tier, _, divergence = TIERS[event].partition("_")
    motion = "" if camera == "none" else f" {to_text(preset(camera))}"
    return {
        "variant_id": variant_id(scene.name, event, camera),
        "family_id": FAMILIES[scene.name],
        "reasoning_tier": tier,
        "oov_gap": camera,
        "event_delta": DELTAS[event],
        "divergence_id": divergence or None,
        "world_state_prompt": sentence(what.text),
        "expected_state": sentence(what.expected_state),
        "ti2v_prompt": f"{sentence(what.text)}{motion}",
    }

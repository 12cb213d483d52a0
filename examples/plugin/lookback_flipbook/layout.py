"""The layout `flipbook`: a folder of videos with a list of them, `flipbook.json`.

    {"clips": [{"model": "steady", "scene": "meadow", "video": "steady/meadow.mp4", "prompt": "Walk round the meadow."}]}

`prompt` may be left out.
"""

from __future__ import annotations

from pathlib import Path

from lookback.clips import Clip
from lookback.layouts.confine import Root
from lookback.layouts.documents import Document, read_json
from lookback.layouts.reading import Breach, Findings, Reading, without_duplicates
from lookback.params.stages import Source
from lookback.paths import portable
from lookback.registry import layout

LIST = "flipbook.json"
SETTING = "return"  # the one task: leave the first picture, come back to it


@layout(name="flipbook", title="Flipbook: videos and their list", looks_like=LIST)
class Flipbook:
    """Every entry of the list is a clip; one that is wrong is a violation, and the others are read."""

    @staticmethod
    def detect(root: Path) -> str | None:
        return f"{LIST} lists the clips" if (root / LIST).is_file() else None

    @staticmethod
    def read(source: Source) -> Reading:
        root, findings, clips = Root.of(source.root), Findings(), []
        path = root.path / LIST
        with findings.guard():
            for number, entry in enumerate(Document(read_json(root.file(LIST, path, LIST)), path).rows("clips")):
                try:
                    clips.append(_clip(root, path, Document(entry, path, f"clips[{number}].")))
                except Breach as breach:
                    findings.add(breach)
        kept = without_duplicates(clips, findings, {})
        return Reading("flipbook", kept, violations=findings.violations, notes=[f"Flipbook: {len(kept)} clips"])


def _clip(root: Root, path: Path, entry: Document) -> Clip:
    model, scene = entry.name("model"), entry.name("scene")
    video = root.inside(entry.text("video"), path, f"{entry.prefix}video")
    return Clip(
        benchmark="flipbook",
        setting=SETTING,
        model_id=model,
        clip_id=scene,
        sample_id=scene,
        scene=scene,
        video=portable(root.video(video, path, f"{entry.prefix}video")),
        prompt=entry.text("prompt", default=""),
    )

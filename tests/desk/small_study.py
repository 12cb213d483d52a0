"""A small run on disk: four scenes by three models, asked about by three benchmarks; its films are half a second long."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from lookback.clips import Clip, clips_to_frame
from lookback.desk import Settings, Study
from lookback.media import encode
from lookback.params import load_run
from lookback.tables import write_table

MODELS = ("aldermoor", "birkdale", "calderbrook")
SECONDS = 0.5


def clips(scenes: int = 4, models: tuple[str, ...] = MODELS) -> list[Clip]:
    made = []
    for model in models:
        film = {"model_id": model, "video": f"outputs/small/{model}.mp4", "prompt": "A ball lies on a rug."}
        for number in range(scenes):
            made += [
                Clip(benchmark="wrbench", setting="natural25", clip_id=f"w{number}", scene=f"s{number}", camera="yaw_LR", **film),
                Clip(benchmark="mbench", setting="T", clip_id=f"human:h{number}:text", subset="human", scene=f"h{number}", **film),
                Clip(
                    benchmark="memobench",
                    setting="real",
                    clip_id=f"Scene{number}_001",
                    scene=f"Scene{number}",
                    ground_truth="outputs/small/aldermoor.mp4",
                    **film,
                ),
            ]
    return made


def banks(made: list[Clip]) -> str:
    """24 questions for every MemoBench task: six per dimension, three of each polarity."""
    dimensions = ("Instruction Following", "Object and Background", "Continuity of Memory", "Physics Adherence")
    asked = [
        {
            "ID": 6 * place + number,
            "Dimension": dimension,
            "Dimension Polarity": "Negative" if number % 2 else "Positive",
            "Question": f"{dimension}, question {number}?",
        }
        for place, dimension in enumerate(dimensions)
        for number in range(6)
    ]
    tasks = sorted({(clip.setting, clip.clip_id) for clip in made if clip.benchmark == "memobench"})
    return json.dumps([{"setting": setting, "clip_id": clip_id, "questions": asked} for setting, clip_id in tasks])


@cache
def film(shade: int) -> bytes:
    with TemporaryDirectory() as folder:
        return encode(Path(folder) / "film.mp4", np.full((4, 48, 64, 3), shade, np.uint8), 4 / SECONDS).read_bytes()


class SmallRun:
    """A run below `root`; `study(form=...)` opens one of its studies."""

    def __init__(self, root: Path, made: list[Clip]):
        self.root, self.clips = root, made
        folder = root / "outputs" / "small"
        for model in dict.fromkeys(clip.model_id for clip in made):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{model}.mp4").write_bytes(film(40 + 60 * MODELS.index(model)))
        write_table(folder / "tables", "clips", clips_to_frame(made))
        (folder / "tables" / "judging").mkdir()
        (folder / "tables" / "judging" / "vqa_banks.json").write_text(banks(made))

    @property
    def params(self):
        return load_run("small")

    def study(self, form: str = "mbench_trigger", **settings) -> Study:
        return Study.open(self.params, self.clips, Settings(form=form, **settings))

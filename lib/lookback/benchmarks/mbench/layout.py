"""MBench-A and MBench-T: dataset.yaml, samples/{subset}/{sample_id}/sample.json, models/{model_id}/samples.jsonl.

Source: MBench's README, "Data Preparation". Paths in samples.jsonl are relative to the model's folder (as in the README's example
line) or to the dataset folder (`path_mode: relative_to_dataset_root`); both are tried.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lookback.benchmarks.mbench.benchmark import SUBSETS
from lookback.benchmarks.mbench.sample import Sample, read_sample
from lookback.clips import Clip
from lookback.errors import Reason
from lookback.layouts.confine import Root, folders
from lookback.layouts.documents import Document, read_jsonl, read_yaml
from lookback.layouts.given import Place, artifact_files
from lookback.layouts.reading import Breach, ClipRef, Findings, Reading, without_duplicates
from lookback.params.stages import Source
from lookback.paths import portable
from lookback.registry import layout

SETTINGS = {"mbencha": "A", "mbencht": "T"}


@layout(name="mbench", title="MBench-A / MBench-T setup folder", looks_like="dataset.yaml with samples/ and models/")
class MBench:
    """Reads one setup folder. Both settings have the same layout; `dataset_id` says which one it is."""

    @staticmethod
    def detect(root: Path) -> str | None:
        if (root / "dataset.yaml").is_file() and ((root / "models").is_dir() or (root / "samples").is_dir()):
            return "dataset.yaml lies beside samples/ and models/"
        return None

    @staticmethod
    def read(source: Source) -> Reading:
        return _Reader(Root.of(source.root)).read()


class _Reader:
    def __init__(self, root: Root):
        self.root = root
        self.findings = Findings()
        self.samples: dict[tuple[str, str], Sample | Breach] = {}
        self.where: dict[int, Path | str] = {}

    def read(self) -> Reading:
        reading = Reading("mbench", violations=self.findings.violations)
        with self.findings.guard():
            self.dataset_id, self.setting = self._identity()
            models = folders(self.root.path / "models")
            if not models:
                remedy = "put models/{model_id}/samples.jsonl there"
                raise Breach(self.root.path / "models", "models", "holds no model folder", remedy, Reason.MISSING_INPUT)
            clips = [clip for model in models for clip in self._model(model)]
            reading.clips = without_duplicates(clips, self.findings, self.where)
            reading.notes.append(f"MBench-{self.setting}: {len(reading.clips)} clips of {len(models)} models")
        return reading

    def _identity(self) -> tuple[str, str]:
        path = self.root.path / "dataset.yaml"
        name = Document(read_yaml(path), path).text("dataset_id").lower()
        if name not in SETTINGS:
            raise Breach(path, "dataset_id", f"is '{name}'", f"write one of {', '.join(SETTINGS)}")
        return name, SETTINGS[name]

    def _model(self, folder: Path) -> list[Clip]:
        clips = []
        with self.findings.guard(item=ClipRef(model_id=folder.name)):
            self.root.confirm(folder, folder, "path")
            for where, value in read_jsonl(folder / "samples.jsonl"):
                if (clip := self._clip(folder, where, value)) is not None:
                    self.where[id(clip)] = where
                    clips.append(clip)
        return clips

    def _clip(self, folder: Path, where: str, value: Any) -> Clip | None:
        item = ClipRef(model_id=folder.name)
        try:
            if isinstance(value, Breach):
                raise value
            line = Document(value, where)
            subset, sample_id, condition = line.name("subset"), line.name("sample_id"), line.name("condition_id")
            item = ClipRef(folder.name, subset, condition, sample_id)
            self._check_names(line, folder, item)
            video = self._video(folder, line)
            sample = self._sample(subset, sample_id)
        except Breach as breach:
            self.findings.add(breach, item=item)
            return None
        for name, problem in [*sample.problems.items(), *sample.required(self.setting)]:
            self.findings.add(problem, name, item)
        values = dict(sample.values)
        with self.findings.guard("poses", item):
            values |= self._artifacts(folder, line, item)
        return Clip(
            benchmark="mbench",
            setting=self.setting,
            model_id=folder.name,
            clip_id=f"{subset}:{sample_id}:{condition}",
            subset=subset,
            sample_id=sample_id,
            condition_id=condition,
            video=portable(video),
            **values,
        )

    def _check_names(self, line: Document, folder: Path, item: ClipRef) -> None:
        if item.subset not in SUBSETS:
            raise Breach(line.where, "subset", f"is '{item.subset}'", f"use one of {', '.join(SUBSETS)}")
        expected = {
            "model_id": folder.name,
            "dataset_id": self.dataset_id,
            "item_id": f"{item.subset}:{item.sample_id}:{item.condition_id}",
        }
        for name, value in expected.items():
            if (found := line.get(name)) is not None and str(found).lower() != value.lower():
                raise Breach(line.where, name, f"is '{found}', but in this place it must be '{value}'", "make them agree")

    def _video(self, folder: Path, line: Document) -> Path:
        videos = line.rows("media.videos")
        generated = [row for row in videos if isinstance(row, dict) and row.get("role", "generated") == "generated"]
        if not generated:
            remedy = 'add {"path": ..., "role": "generated"}'
            raise Breach(line.where, "media.videos", "has no entry with the role 'generated'", remedy, Reason.MISSING_INPUT)
        field = f"media.videos[{videos.index(generated[0])}].path"
        return self.root.video(self._placed(folder, generated[0].get("path"), line.where, field), line.where, field)

    def _placed(self, folder: Path, text: Any, where: Path | str, field: str) -> Path:
        """The path below the model's folder, or below the dataset folder when only that exists."""
        beside = self.root.inside(text, where, field, base=folder)
        if beside.exists():
            return beside
        below = self.root.inside(text, where, field)
        return below if below.exists() else beside

    def _artifacts(self, folder: Path, line: Document, item: ClipRef) -> dict[str, Any]:
        if line.get("artifacts") is None:
            return {}
        place: Place = lambda text, field: self._placed(folder, text, line.where, field)  # noqa: E731
        return artifact_files(self.root, line.inner("artifacts"), place, self.findings, item)

    def _sample(self, subset: str, sample_id: str) -> Sample:
        key = (subset, sample_id)
        if key not in self.samples:
            try:
                self.samples[key] = read_sample(self.root, subset, sample_id)
            except Breach as breach:
                self.samples[key] = breach
        found = self.samples[key]
        if isinstance(found, Breach):
            raise found
        return found

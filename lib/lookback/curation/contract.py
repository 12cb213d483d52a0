"""Validation: every violation of a source, or only those that matter to the named metrics."""

from __future__ import annotations

from collections.abc import Sequence

from lookback.clips import Clip
from lookback.curation.inspection import ClipToInspect, inspect_all
from lookback.errors import Reason, UsageError
from lookback.layouts.detection import read
from lookback.layouts.filters import apply_filters, concerning
from lookback.layouts.given import POSES, concern
from lookback.layouts.reading import ClipRef, Violation
from lookback.params.stages import Filters, Source
from lookback.progress import track
from lookback.registry import METRICS, MetricSpec

ROLE_FIELDS = {"pose": POSES}  # the role whose files have a field of their own
# What to do when a metric needs a field that the dataset does not have.
REMEDIES = {
    "d_start": "give the phase sheet (phases in the parameters, --phases on the command line)",
    "r_start": "give the phase sheet (phases in the parameters, --phases on the command line)",
    "ground_truth": "give the ground truth (gt_root in the parameters, --gt-root on the command line)",
    "gt_poses": "give the ground truth with its camera poses (gt_root, --gt-root)",
    "poses": "estimate camera poses and name the file, or let the extraction stage do it",
    "target_poses": "put <video>.target_c2w.npy beside the video",
}


def validate(source: Source, metrics: Sequence[str] = (), filters: Filters | None = None, workers: int = 1) -> list[Violation]:
    """All violations; an empty list means that the source is correct.

    With `metrics`, only those that matter to them: clips that cannot be used at all, and the fields in the metrics' `needs`.
    """
    return violations_and_warnings(source, metrics, filters, workers)[0]


def violations_and_warnings(
    source: Source, metrics: Sequence[str] = (), filters: Filters | None = None, workers: int = 1
) -> tuple[list[Violation], list[Violation]]:
    """The same, and what is scored though it lacks something: a part of the task, or the poses of some frames."""
    specs = [METRICS.get(name) for name in metrics]
    reading = apply_filters([read(source)], filters or Filters())[0]
    found = list(reading.violations)
    clips: list[Clip] = []
    tasks = [ClipToInspect(clip) for clip in reading.clips]
    for _, result in track(inspect_all(tasks, workers), "validating", total=len(tasks)):
        found += result.violations
        clips += [result.clip] if result.clip is not None else []
    found = concerning(found, reading.clips)
    if specs:
        fields = {field for spec in specs for need in spec.needs for field in need.split("|")}
        fields |= {concern(ROLE_FIELDS.get(role, role)) for spec in specs for role in spec.roles}
        found = [v for v in found if not v.concerns or v.concerns in fields]
        found += _needed(specs, clips, found)
    lines = {(violation.path, violation.field, violation.problem): violation for violation in reversed(found)}
    told = [lines[line] for line in sorted(lines)]
    warnings = [each for each in told if each.warning] + [_short(clip) for clip in clips if clip.shortfall]
    return [each for each in told if not each.warning], warnings


def _short(clip: Clip) -> Violation:
    problem = f"has {clip.shortfall}"
    remedy = "generate the whole task; tables mark such a clip, the leaderboard and comparisons of runs exclude it"
    return Violation(clip.video, "video", problem, remedy, Reason.TOO_SHORT, kept=True, item=ClipRef.of(clip))


def _needed(specs: list[MetricSpec], clips: list[Clip], found: list[Violation]) -> list[Violation]:
    """A violation for every field that a metric needs and a clip does not have, unless there is one about it already."""
    known = {(violation.item, violation.concerns) for violation in found}
    missing: dict[tuple[ClipRef, str], Violation] = {}
    for spec in specs:
        concerned = [clip for clip in clips if spec.applies_to(clip.benchmark, clip.setting, clip.subset)]
        if clips and not concerned:
            kinds = ", ".join(sorted({f"{clip.benchmark} {clip.setting} {clip.subset}".strip() for clip in clips}))
            raise UsageError(f"The metric {spec.name} applies to none of these clips ({kinds}); see lookback list-metrics")
        for clip in concerned:
            for need in spec.needs:
                item, fields = ClipRef.of(clip), need.split("|")  # one of them is enough
                absent = all(getattr(clip, field) in (None, "", []) for field in fields)
                if absent and (item, need) not in missing and not any((item, field) in known for field in fields):
                    name = " or ".join(fields)
                    remedy = REMEDIES.get(fields[0], f"add {name} to the dataset")
                    problem = f"is missing, and {spec.name} needs it"
                    missing[item, need] = Violation(clip.video, name, problem, remedy, Reason.MISSING_INPUT, fields[0], item=item)
    return list(missing.values())

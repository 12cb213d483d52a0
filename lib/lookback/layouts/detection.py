"""Which layout a folder has. Every registered layout is asked, and the answer comes with a reason in words."""

from __future__ import annotations

from pathlib import Path

from lookback.clips import Clip
from lookback.errors import ContractError, UsageError
from lookback.layouts.anchors import with_anchors
from lookback.layouts.confine import Root
from lookback.layouts.documents import is_unicode
from lookback.layouts.given import with_given_files
from lookback.layouts.reading import Breach, Findings, Reading
from lookback.names import odd_character, one_line
from lookback.params.stages import Source
from lookback.paths import resolve
from lookback.registry import LAYOUTS

# Any tree of videos is a `folder`, so it counts only where no benchmark's layout is recognised.
FALLBACK = "folder"
IDS = ("setting", "model_id", "clip_id", "subset", "sample_id", "condition_id", "scene")


def detect(root: Path) -> tuple[str, str]:
    """(layout, why). No match, or more than one, is a UsageError that lists what was looked for."""
    if not root.exists():
        raise UsageError(f"The dataset {root} does not exist; correct its path")
    found = {spec.name: why for spec in LAYOUTS if (why := spec.detect(root))}
    special = {name: why for name, why in found.items() if name != FALLBACK}
    if len(special) == 1 or (found and not special):
        name = next(iter(special or found))
        return name, f"Layout '{name}': {found[name]}"
    if special:
        reasons = "; ".join(f"{name}: {why}" for name, why in special.items())
        raise UsageError(f"{root} could be several layouts ({reasons}); say which with layout (--layout)")
    if root.is_file():
        Root.of(str(root))  # says so: none of the layouts is this one file
    specs = sorted(LAYOUTS, key=lambda spec: spec.name == FALLBACK)
    looked = "; ".join(f"{spec.name}: {spec.looks_like}" for spec in specs)
    raise UsageError(f"{root} has no known layout; looked for {looked}")


def read(source: Source) -> Reading:
    """Read a source in its layout. With `auto` the layout is detected, and the first note gives the reason."""
    root = resolve(source.root)
    try:
        name, why = (source.layout, "") if source.layout != "auto" else detect(root)
        reading = LAYOUTS.get(name).read(source)
    except OSError as error:
        raise ContractError(f"{error.filename or root} cannot be read ({error.strerror}); check its permissions") from None
    if why:
        reading.notes.insert(0, why)
    _refuse_odd_names(reading)
    folder = root.parent if root.is_file() else root
    return with_given_files(with_anchors(reading, folder), source, folder)


def _refuse_odd_names(reading: Reading) -> None:
    """Remove clips whose ids or paths are not UTF-8 (no table could store them), or whose ids contain control characters."""
    findings = Findings(reading.violations)
    kept = []
    for clip in reading.clips:
        breach = _odd_name(clip)
        if breach is None:
            kept.append(clip)
        else:
            findings.add(breach)
    reading.clips = kept


def _odd_name(clip: Clip) -> Breach | None:
    if not is_unicode(f"{clip.key}{clip.video}{clip.ground_truth}"):
        return Breach(clip.video, "path", "has a name that is not UTF-8", "rename the file")
    for name in IDS:
        if odd := odd_character(getattr(clip, name)):
            problem = f"the id '{one_line(getattr(clip, name))}' holds {odd}"
            return Breach(clip.video, name, problem, "give it a name of letters, digits, '_', '-' and '.'")
    return None

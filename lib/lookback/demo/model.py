"""The demo world as a model that `lookback generate` can call: it films the task of one record.

python -m lookback.demo.model --record {record} --output {output} --failure style_shift --severity 0.5
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from lookback.camera.intent import parse
from lookback.demo.clip import render_clip
from lookback.demo.failures import FAILURES
from lookback.demo.plan import Task, full_plan
from lookback.demo.spec import FAITHFUL
from lookback.demo.texts import DELTAS, FAMILIES
from lookback.errors import LookbackError, UsageError, hint
from lookback.layouts.writing import write_video


def task_of(record: dict[str, Any]) -> Task:
    """The task of the demo's plan that a record means, or one put together from the record's family, event and camera."""
    names = (record["benchmark"], record["setting"], record["clip_id"])
    for task, _ in full_plan():
        if (task.benchmark, task.setting, task.clip_id) == names:
            return task
    variant = record["facts"].get("variant", {})
    scene = {family: name for name, family in FAMILIES.items()}.get(variant.get("family_id"))
    event = {delta: name for name, delta in DELTAS.items()}.get(variant.get("event_delta"))
    if scene is None or event is None or not record["camera"]:
        raise UsageError(f"The demo world has no scene for the record '{record['clip_id']}'; it has its own datasets")
    return Task(*names, scene, event, parse(record["camera"]))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--failure", default=FAITHFUL)
    parser.add_argument("--severity", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    try:
        if given.failure not in (known := list(dict.fromkeys([FAITHFUL, *FAILURES]))):
            raise UsageError(f"There is no failure '{given.failure}'; {hint(given.failure, known)}")
        if not given.record.is_file():
            raise UsageError(f"{given.record}: there is no such record")
        record = json.loads(given.record.read_text(encoding="utf-8"))
        task = task_of(record)
        spec = task.spec((given.failure, given.severity), record["width"], record["height"], given.seed)
        clip = render_clip(spec)
        write_video(given.output, clip.frames[task.mark_time :], record["fps"])
    except LookbackError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

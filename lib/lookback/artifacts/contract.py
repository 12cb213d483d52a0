"""The page `docs/artifacts.md`, written from the classes: `python -m lookback.artifacts.contract > docs/artifacts.md`."""

from __future__ import annotations

import inspect
from typing import get_args

from lookback.artifacts import Artifact, kinds

PAGE = "docs/artifacts.md"
OPENING = """\
# Artifacts: what extraction stores

Every role has one class in `lookback.artifacts`, and only that class reads and writes the arrays of its role. This page is made
from those classes (`python -m lookback.artifacts.contract > docs/artifacts.md`); a test compares it with them.

An artifact lies in the run's store as a pair of files, `artifacts/<role>/<backend>/<xx>/<key>.npz` with the arrays and `<key>.json`
with the record. Where a clip has no artifact of a role, the record holds `missing` with the typed reason, and there are no arrays.

- The same letter in a role's shapes means the same length. Frames are counted from 0.
- Boxes and points are in pixels of the video, x to the right and y down, the origin at the upper left corner.
- Poses are camera-to-world with OpenCV axes: x to the right, y down, z forward.
- The record may hold more facts than the ones listed: a backend's method, its sampling, its prompt.
- Reading checks names, number types and shapes. What does not agree is refused (`ContractError`); the extraction stage makes it
  again.

```python
from lookback.artifacts import Masks, PoseTrack, RunArtifacts

artifacts = RunArtifacts(params.paths.artifacts, tables["artifacts"])
poses = artifacts.load(clip, PoseTrack)  # None where the clip has none
masks = artifacts.load(clip, Masks)
masks.at(12)  # the object's mask in frame 12
```

A package from outside adds a role by declaring a class with `role` and annotated fields, as the modules of `lookback.artifacts` do.
"""


def page() -> str:
    """The whole page in Markdown."""
    return "\n".join([OPENING, *(_section(kind) for kind in kinds())])


def _section(kind: type[Artifact]) -> str:
    lines = [f"## `{kind.role}`: {kind.__name__}", "", inspect.getdoc(kind) or "", ""]
    lines += ["| array | type | shape | meaning |", "|---|---|---|---|"]
    for array in kind.contract().arrays:
        meaning = f"{array.meaning} (only some backends)" if array.optional else array.meaning
        lines.append(f"| `{array.name}` | {array.dtype_name} | ({', '.join(array.shape.split())}) | {meaning} |")
    if facts := kind.contract().facts:
        lines += ["", "| fact of the record | type | meaning |", "|---|---|---|"]
        lines += [f"| `{fact.field}` | {_words(fact.type)} | {fact.meaning} |" for fact in facts]
    return "\n".join([*lines, ""])


def _words(plain: type) -> str:
    return str(plain).replace("tuple", "list").replace(", ...", "") if get_args(plain) else plain.__name__


if __name__ == "__main__":
    print(page(), end="")

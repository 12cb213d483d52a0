"""What WRBench asks its annotators: one claim per axis (section 3.5).

The re-observed axes first ask whether the return can be judged at all.
"""

from __future__ import annotations

PREFERENCE = {
    "camera": "In which video does the camera move more as requested?",
    "visual_integrity": "Which video is the more intact picture, without melting, flicker or artefacts?",
    "visible_spatial": "While the subject is in view: in which video is it more in the right place?",
    "visible_state": "While the subject is in view: in which video is it more in the right state?",
    "reobserved_spatial": "After the subject came back: in which video is it more in the right place?",
    "reobserved_state": "After the subject came back: in which video is it more in the right state?",
}
JUDGEABLE_FIRST = frozenset({"reobserved_spatial", "reobserved_state"})

"""What annotators are asked: one claim on one axis at a time (MBench appendix C.1; WRBench section 3.5)."""

from __future__ import annotations

# MBench: the twelve dimensions, each asked of its own subset
MBENCH_PREFERENCE = {
    "human_identity": ("human", "Which video better keeps the same person: is the face after the return the face from before?"),
    "human_appearance": ("human", "Which video better keeps the person's clothes, hair and build after the return?"),
    "object_texture": ("object", "Which video better keeps the object's surface, colours and markings after the return?"),
    "object_geometry": ("object", "Which video better keeps the object's shape and size after the return?"),
    "epipolar": ("environment", "Which video better keeps the place's layout when the camera comes back?"),
    "reprojection": ("environment", "In which video do things stand more exactly where they stood before?"),
    "lighting": ("environment", "Which video better keeps brightness and colour of light when the camera comes back?"),
    "style": ("environment", "Which video better keeps one rendering style throughout?"),
    "action_interaction": ("causal", "In which video does the camera follow the requested motion better?"),
    "text_interaction": ("causal", "Which video better shows what the captions say, segment by segment?"),
    "state_evolution": ("causal", "In which video does the unseen process visibly go on while nobody looks?"),
    "evolution_correctness": ("causal", "In which video has the unseen process reached the more plausible state at the return?"),
}
MBENCH_TRIGGER = {
    "human": "Does the person visibly leave the view and come back?",
    "object": "Does the object visibly leave the view (or get covered) and come back?",
    "environment": "Does the camera visibly leave the first view and come back to it?",
    "causal": "Does the video visibly enter its challenge: does the process run on while it is out of view, and is it seen again?",
}
# WRBench: one claim per axis; the re-observed axes first ask whether the return can be judged at all
WRBENCH_PREFERENCE = {
    "camera": "In which video does the camera move more as requested?",
    "visual_integrity": "Which video is the more intact picture, without melting, flicker or artefacts?",
    "visible_spatial": "While the subject is in view: in which video is it more in the right place?",
    "visible_state": "While the subject is in view: in which video is it more in the right state?",
    "reobserved_spatial": "After the subject came back: in which video is it more in the right place?",
    "reobserved_state": "After the subject came back: in which video is it more in the right state?",
}
JUDGEABILITY_FIRST = {"reobserved_spatial", "reobserved_state"}
JUDGEABILITY = "Does the subject leave the view and come back clearly enough to be judged, in both videos?"

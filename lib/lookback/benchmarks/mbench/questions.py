"""What MBench asks its annotators: twelve dimensions, each of its own subset, and one trigger per subset (appendix C.1)."""

from __future__ import annotations

PREFERENCE = {
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
TRIGGER = {
    "human": "Does the person visibly leave the view and come back?",
    "object": "Does the object visibly leave the view (or get covered) and come back?",
    "environment": "Does the camera visibly leave the first view and come back to it?",
    "causal": "Does the video visibly enter its challenge: does the process run on while it is out of view, and is it seen again?",
}

"""Failure forensics: which failures a clip shows, and in which frames.

Read the modules in this order:
- what is measured: `pairs` (which frames are compared), `measures`, `probe` (all measures of one clip), `evidence`, `collect`;
- which rule decides: `rules`, `scene_rules`, `subject_rules`, and `score` (how good the rules are);
- how it is drawn: `pictures`, `drawing`;
- cases worth looking at: `cases`.
"""

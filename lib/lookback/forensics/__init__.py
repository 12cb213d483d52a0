"""Failure forensics: which failures a clip shows, and in which frames.

Read the modules in this order:
- what is measured: `pairs` (which frames are compared), `measures`, `probe` (all measures of one clip), `curves` (what shows over
  time), `evidence`, `collect`, and `features` (all of it as one row of plain numbers);
- what decides: in the demo world `rules`, `scene_rules`, `subject_rules` with their `limits`; on real clips `model` with the
  recorded tables of `calibration`; `verdicts` (either of them, with probabilities and abstentions) and `score` (how good they are);
- how it is drawn: `pictures`, `drawing`;
- cases worth looking at: `cases`.
"""

"""Judging: ask the questions that need eyes, record the answers, and let them score and gate items.

- the questions: `question` (what is asked and what comes back), `prompting` (prompt files), `tasks` (from a clip to questions),
  `frames` (the images that are sent)
- the judges: `judges/` (one file each), `panel` (which judge has which role), `geometry` (what poses and masks say)
- the client: `run` (all questions of a run), `asking` (calls, retries, budget), `recording`, `endpoint` (HTTP), `spreading` (Ray)
- reading answers: `parsing` (from a reply to answers), `verdicts` (a clip's answers), `gate` (their effect on items)
- looking at the result: `quality/` (how good the judges are), `cards` (frames beside words)
"""

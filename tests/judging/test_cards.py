"""Cards show the frames that a judge saw beside its words."""

from __future__ import annotations

import pandas as pd
from lookback.clips import KEYS, clips_to_frame
from lookback.judging.cards import reply_cards
from lookback.judging.tasks import Sampling


def test_a_card_shows_the_frames_the_question_and_the_words_without_running_them(make_clip):
    clip = make_clip(benchmark="mbench", setting="T", subset="human")
    row = dict(zip(KEYS, clip.key, strict=True)) | {"task": "trigger", "judge": "openai/x", "question": "Does it return?"}
    row |= {"answer": "no", "value": 0.2, "value_from": "stated", "reason": "", "simulated": False}
    row["verbatim"] = "<script>alert(1)</script>"
    unread = row | {"answer": "", "reason": "judge_unparsed"}
    cards = reply_cards(clips_to_frame([clip]), pd.DataFrame([row, unread]), Sampling(n_frames=5))
    text = cards._repr_html_()
    assert text.count("data:image/jpeg;base64,") == 10  # the five frames of the run for each of two cards
    assert "Does it return?" in text and "no (0.20, stated)" in text and "no answer: judge_unparsed" in text
    assert "<script>" not in text


def test_a_clip_that_cannot_be_read_says_so_in_its_card(make_clip, tmp_path):
    clip = make_clip(video=str(tmp_path / "gone.mp4"))
    row = dict(zip(KEYS, clip.key, strict=True)) | {"task": "probe", "judge": "x", "question": "?", "answer": "yes", "value": 1.0}
    row |= {"value_from": "stated", "reason": "", "verbatim": "Yes", "simulated": True}
    text = reply_cards(clips_to_frame([clip]), pd.DataFrame([row]), Sampling()).text
    assert "no such file" in text and "simulated" in text

"""Contact sheets: right size, right frames, phases marked."""

import numpy as np
import pytest
from lookback.demo.clip import render_clip
from lookback.demo.sheets import BAR, GAP, MARGIN, PHASE_COLOURS, comparison_sheet, failure_sheet, phase, sheet


def test_sheet_shows_evenly_spaced_frames_under_phase_bars(faithful):
    out = sheet([("faithful", faithful)], count=4)
    height, width = faithful.frames.shape[1:3]
    assert out.shape == (GAP + height + BAR + GAP, MARGIN + 4 * (width + GAP), 3)
    for column, frame in enumerate((0, 8, 15, 23)):
        x, y = MARGIN + column * (width + GAP), GAP + BAR
        np.testing.assert_array_equal(out[y : y + height, x : x + width], faithful.frames[frame])
        assert tuple(out[y - 2, x + 5]) == PHASE_COLOURS[phase(faithful, frame)]


def test_phases_follow_the_subject(faithful):
    assert [phase(faithful, frame) for frame in (0, 11, 23)] == ["V", "D", "R"]


def test_comparison_puts_the_failure_below(faithful, spec):
    wrong = render_clip(spec(failure="object_vanishes", severity=1.0))
    out = comparison_sheet(faithful, wrong, count=3)
    height, width = faithful.frames.shape[1:3]
    last = MARGIN + 2 * (width + GAP)
    np.testing.assert_array_equal(out[-height - GAP : -GAP, last : last + width], wrong.frames[-1])


@pytest.mark.parametrize("name", ["identity_drift", "hard_cut"])
def test_failure_sheet_has_a_row_per_severity(name):
    out = failure_sheet(name, severities=(0.5, 1.0), frames=8, size=(96, 64))
    assert out.shape[0] == BAR + GAP + 3 * (64 + BAR + GAP)

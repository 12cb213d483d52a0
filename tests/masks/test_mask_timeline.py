"""The visibility timeline from masks drawn by hand."""

from __future__ import annotations

import numpy as np
import pytest
from lookback.backends.masks.artifact import MaskRows, timeline
from lookback.errors import NotScorable, Reason
from mask_scenes import film


def test_object_leaves_and_returns() -> None:
    seen = np.array([True, True, False, True, True])
    sides = np.zeros((5, 4), bool)
    sides[[1, 3], 2] = True
    assert timeline(seen, sides).tolist() == [1, 2, 0, 2, 3]


def test_side_touched_from_the_start_is_not_leaving() -> None:
    sides = np.zeros((3, 4), bool)
    sides[:, 3] = True
    sides[2, 0] = True
    assert timeline(np.ones(3, bool), sides).tolist() == [1, 1, 2]


def test_boxes_and_border_come_from_the_mask() -> None:
    info = film("playroom", "static@12").info
    rows = MaskRows(info)
    mask = np.zeros(rows.size, bool)
    mask[10:20, :30] = True
    rows.add(4, mask, 1.5)
    entry = rows.finish({})
    np.testing.assert_allclose(entry.boxes[0], np.array([0, 10, 30, 20]) * rows.scale)
    assert entry.confidence[0] == 1 and entry.frame_index[0] == 4


def test_never_found_is_no_mask() -> None:
    rows = MaskRows(film("playroom", "static@12").info)
    rows.add(0, np.zeros(rows.size, bool), 0.0)
    with pytest.raises(NotScorable) as caught:
        rows.finish({})
    assert caught.value.reason == Reason.NO_MASK

"""MemoBench: what is taken where a clip's folder holds more than one video."""

import pytest
from layout_data import frame_folder, video
from lookback.layouts import read
from lookback.params.stages import Source

PLACE = "output/svc/Real/007"


def second_videos(reading):
    return [note for note in reading.notes if "second video" in note]


def test_of_two_videos_of_a_clip_the_one_of_the_released_program_is_taken_and_the_note_names_both(dataset):
    root = dataset("memobench")
    video(root / PLACE / "007.mp4", seed=5)
    reading = read(Source(root=str(root)))
    (clip,) = [clip for clip in reading.clips if (clip.model_id, clip.clip_id) == ("svc", "real_007")]
    assert clip.video.endswith(f"{PLACE}/video.mp4") and reading.violations == []
    (note,) = second_videos(reading)
    assert note.startswith("MemoBench: 1 clip with a second video") and f"{PLACE}/007.mp4" in note and "video.mp4 is taken" in note


@pytest.mark.parametrize("also", ["frames", "link", "depth.mp4"])
def test_frames_a_link_to_the_video_and_other_videos_are_no_second_video(dataset, also):
    root = dataset("memobench")
    if also == "frames":
        frame_folder(root / PLACE / "frames", 4)
    elif also == "link":
        (root / PLACE / "007.mp4").symlink_to("video.mp4")
    else:
        video(root / PLACE / also)
    assert second_videos(read(Source(root=str(root)))) == []

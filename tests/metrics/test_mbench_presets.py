"""MBench's presets against the defaults of the backends and judges that work for its metrics."""

from lookback.backends.clip import OpenClip
from lookback.backends.faces import backends as faces
from lookback.backends.features import crops
from lookback.backends.perceptual import backends as perceptual
from lookback.measures.features import MATCH_THRESHOLD
from lookback.params.stages import Judging
from lookback.registry import METRICS

IDENTITY, TEXTURE = "entity.human_identity_consistency", "entity.object_texture_consistency"
STYLE = "environment.rendering_style"


def test_mbenchs_presets_say_what_its_backends_do():
    """Settings that extraction fixes stand in the presets as words; here they are held to the backends' own defaults."""
    settings = {name: METRICS.get(f"mbencha.{name}").preset("paper", {}) for name in (IDENTITY, TEXTURE, STYLE)}
    assert str(settings[IDENTITY]["frames"]).startswith(f"{faces.N_FRAMES} evenly spread")
    assert str(settings[IDENTITY]["tracker"]).endswith(f"at least {MATCH_THRESHOLD}")
    assert str(settings[TEXTURE]["frames"]).startswith(f"at most {crops.MAX_CROPS},")
    assert f"a square of {crops.SIDE} px" in str(settings[TEXTURE]["crop"])
    style = perceptual.OPTIONS
    assert settings[STYLE]["frames"] == f"{style['sample_fps']:g} per second, at most {style['max_frames']}"
    assert settings[STYLE]["size"] == f"longer side {style['max_side']} px" and settings[STYLE]["layer"] == style["style_layer"]
    words = METRICS.get("mbencht.causal.prompt_interaction").preset("paper", {})
    assert words["frames"] == f"{OpenClip.defaults['frames_per_segment']} of each caption segment"
    ratings = METRICS.get("mbencht.causal.state_progress").preset("paper", {})
    assert ratings["frames"] == f"{Judging().n_frames} evenly spread"

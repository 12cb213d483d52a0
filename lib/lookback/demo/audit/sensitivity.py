"""Metrics against failures: how far a measure falls when a failure is injected, and from which severity on this exceeds chance.

All drops are counted in the measure's bad direction, so that positive always means "noticed".
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from lookback.clips import KEYS
from lookback.scoring.direction import better_sign, parts_are_measures

MEANT_FOR: dict[str, tuple[str, ...]] = {
    "camera_inactivity": ("memobench.camera_activity", "memobench.camera_controllability", "cam_align", "camera_interaction"),
    "camera_drift": ("camera_interaction", "spatial_epipolar", "spatial_reprojection", "wrbench.cam_prec", "mind.action"),
    "wrong_direction": ("wrbench.cam_align", "camera_interaction"),
    "object_vanishes": ("memobench.ors", "object_texture_consistency", "object_geometry_consistency", "state_progress"),
    "identity_drift": ("human_identity_consistency", "human_appearance_consistency", "object_texture_consistency"),
    "texture_drift": ("object_texture_consistency", "human_appearance_consistency"),
    "state_reset": ("vqa_continuity_of_memory", "progress_correctness", "wrbench.reobserved_state"),
    "event_never_starts": ("wrbench.visible_state", "wrbench.reobserved_state", "state_progress"),
    "teleport": ("wrbench.visible_spatial", "wrbench.reobserved_spatial", "vqa_continuity_of_memory", "vqa_physics_adherence"),
    "duplicate": ("wrbench.reobserved_spatial", "wrbench.visible_spatial", "vqa_object_background"),
    "background_hallucination": ("memobench.object_identity", "memobench.geo3d", "vqa_object_background", "spatial_reprojection"),
    "lighting_shift": ("rendering_lighting",),
    "style_shift": ("rendering_style",),
    "hard_cut": ("mind.gsc", "mind.lcm", "mind.dino", "memobench.motion_smoothness"),
    "ghosting": ("mind.gsc", "mind.lcm", "mind.dino", "mind.visual"),
    "geometric_melt": ("object_geometry_consistency", "spatial_epipolar", "spatial_reprojection", "memobench.geo3d"),
    "subject_dragged": ("wrbench.support", "wrbench.visible_spatial"),
}


def meant_for(failure: str, measure: str) -> bool:
    """Whether a measure (a metric's name, for MIND with its part) is meant to see the failure."""
    return any(wanted in measure for wanted in MEANT_FOR.get(failure, ()))


TASK = ["benchmark", "setting", "clip_id"]  # the same scene, camera and event
NOTICES = 0.5  # rank correlation of drop and severity from which a measure counts as seeing a failure
FEWEST_CLIPS = 2  # with one failing clip, any drop would be a perfect correlation
ALONE = 0.01  # spread of a single good clip, as a share of its value
NO_PAIR = "no faithful clip scored"
DROPS = [*KEYS, "measure", "failure", "severity", "faithful", "value", "drop", "reason"]
REACTIONS = [*KEYS, "measure", "control", "kind", "strength", "sound", "value", "drop"]
SENSITIVITY = ["measure", "failure", "meant", "n", "mean_drop", "spread", "rank_correlation", "seen", "threshold", "detected_from"]
SENSITIVITY += ["missing"]


def measures(items: pd.DataFrame) -> pd.DataFrame:
    """Items with the column `measure` and its `sign`: the metric over the whole clip, or each part that is a measure.

    Metrics of which no value is better than another are left out."""
    whole = items[(items["phase"] == "") | items["benchmark"].map(parts_are_measures).astype(bool)]
    sign = [better_sign(metric, phase) for metric, phase in zip(whole["metric"], whole["phase"], strict=True)]
    named = whole.assign(measure=(whole["metric"] + " " + whole["phase"]).str.strip(), sign=sign)
    return named[named["sign"] != 0]


def paired_drops(items: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """One row per failing clip and measure: its value, the faithful clip's value on the same task, and the drop; or the reason
    there is none."""
    named = measures(items).merge(truth[[*KEYS, "failure", "severity"]], on=KEYS)
    sound = named[(named["severity"] == 0) & named["value"].notna()]
    right = sound.groupby([*TASK, "measure"])["value"].mean().rename("faithful").reset_index()
    wrong = named[named["severity"] > 0].merge(right, on=[*TASK, "measure"], how="left")
    reason = wrong["reason"].mask(wrong["value"].notna() & wrong["faithful"].isna(), NO_PAIR)
    return wrong.assign(drop=wrong["sign"] * (wrong["faithful"] - wrong["value"]), reason=reason)[DROPS]


def reactions(trials: pd.DataFrame) -> pd.DataFrame:
    """One row per corrupted clip and measure: its value, the sound clip's, and the drop."""
    if trials.empty:
        return pd.DataFrame(columns=REACTIONS)
    scored = measures(trials[trials["value"].notna()])
    key = [*TASK, "sound_model", "measure"]
    right = scored[scored["control"] == "sound"].groupby(key)["value"].mean().rename("sound").reset_index()
    wrong = scored[scored["control"] != "sound"].merge(right, on=key)
    return wrong.assign(drop=wrong["sign"] * (wrong["sound"] - wrong["value"]))[REACTIONS]


def thresholds(reacted: pd.DataFrame, false_alarms: float) -> dict[str, float]:
    """Per measure: the drop that nuisances exceed with a chance of at most `false_alarms` (their empirical quantile)."""
    grouped = reacted[reacted["kind"] == "nuisance"].groupby("measure")["drop"]
    return {str(measure): max(0.0, float(np.quantile(drops, 1 - false_alarms))) for measure, drops in grouped}


def sensitivity(drops: pd.DataFrame, limits: dict[str, float]) -> pd.DataFrame:
    """Per measure and failure: n failing clips, mean drop, its rank correlation with severity (severity 0 drops 0; missing below
    two clips), whether the failure is `seen` (the correlation is clear and the drop exceeds the spread of the sound clips), and the
    smallest severity whose mean drop exceeds what nuisances do (missing: none does, or the measure met no nuisance)."""
    spreads = _spreads(drops)
    rows = []
    for (measure, failure), group in drops.groupby(["measure", "failure"], sort=True):
        told = group[group["drop"].notna()]
        rho, limit, spread = _rank_correlation(told), limits.get(str(measure), np.nan), spreads.get(str(measure), np.nan)
        by_severity = told.groupby("severity")["drop"].mean()
        noticed = by_severity[by_severity > limit]
        rows.append(
            {
                "measure": measure,
                "failure": failure,
                "meant": meant_for(str(failure), str(measure)),
                "n": len(told),
                "mean_drop": told["drop"].mean(),
                "spread": spread,
                "rank_correlation": rho,
                "seen": bool(rho >= NOTICES and told["drop"].mean() > spread),
                "threshold": limit,
                "detected_from": noticed.index.min() if len(noticed) else np.nan,
                "missing": _missing(group),
            }
        )
    return pd.DataFrame(rows, columns=SENSITIVITY)


def _spreads(drops: pd.DataFrame) -> dict[str, float]:
    """Per measure: how much the sound clips differ among themselves (standard deviation)."""
    sound = drops.dropna(subset=["faithful"]).drop_duplicates([*TASK, "measure"]).groupby("measure")["faithful"]
    return sound.std().fillna(ALONE * sound.mean().abs()).to_dict()


def _rank_correlation(told: pd.DataFrame) -> float:
    if len(told) < FEWEST_CLIPS:
        return np.nan
    severity, drop = ([*told[name], *[0.0] * len(told)] for name in ("severity", "drop"))
    return float(spearmanr(severity, drop).statistic) if len(set(drop)) > 1 else 0.0


def _missing(group: pd.DataFrame) -> str:
    """Why failing clips have no drop, the commonest reason first."""
    reasons = group.loc[group["drop"].isna(), "reason"].value_counts()
    return ", ".join(f"{reason} {count}" for reason, count in reasons.items())


def invariance(reacted: pd.DataFrame) -> pd.DataFrame:
    """Per measure and corruption: n and the mean drop at each strength, in units of the sound clips' mean value."""
    if reacted.empty:
        return pd.DataFrame(columns=["measure", "control", "kind", "strength", "n", "mean_drop", "relative_drop"])
    grouped = reacted.groupby(["measure", "control", "kind", "strength"], sort=True)
    table = grouped.agg(n=("drop", "count"), mean_drop=("drop", "mean"), sound=("sound", "mean")).reset_index()
    size = table["sound"].abs().where(table["sound"].abs() > 1e-9)
    return table.assign(relative_drop=table["mean_drop"] / size).drop(columns="sound")

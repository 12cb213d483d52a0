"""Verdicts against labels: precision, recall, F1, abstention and their intervals; and when a label counts as better than chance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lookback.stats.intervals import wilson
from lookback.validity.dataset import Label

CONFIDENCE = 0.95
AGREED = 0.5  # kappa of the two passes from which a label can be held against a tool
MIN_POSITIVES, MIN_SCENES = 3, 2  # with fewer examples nothing can be learned in one scene and tried in another
NONE, DISPUTED = "none", "disputed"


@dataclass(frozen=True)
class Said:
    """What was said about one label of one clip: named or not, or the reason for saying nothing."""

    clip: str
    label: str
    named: bool
    probability: float = float("nan")
    abstained: str = ""  # the typed reason
    words: str = ""


def agreement(labels: Iterable[Label], names: Sequence[str]) -> dict[str, float]:
    """Kappa of the two passes per label, from how many clips both, one or none of them name it in.

    Which pass named a doubtful failure is not recorded, so both passes get half of them (Scott's pi).
    """
    kappas = {}
    clips = list(labels)
    for name in names:
        both = sum(name in clip.sure for clip in clips)
        one = sum(name in clip.doubtful for clip in clips)
        share = (2 * both + one) / (2 * len(clips))
        expected = share**2 + (1 - share) ** 2
        kappas[name] = (1 - one / len(clips) - expected) / (1 - expected) if 0 < share < 1 else float("nan")
    return kappas


def label_row(label: str, said: Iterable[Said], labels: Mapping[str, Label]) -> dict[str, object]:
    """The figures of one label. A failure that only one pass saw counts neither as a hit nor as a false alarm."""
    known = [one for one in said if one.label == label and label not in labels[one.clip].doubtful]
    answered = [one for one in known if not one.abstained]
    truth = np.array([label in labels[one.clip].sure for one in answered], bool)
    named = np.array([one.named for one in answered], bool)
    right, positives = int((truth & named).sum()), int(truth.sum())
    every = sum(label in labels[one.clip].sure for one in known)
    return {
        "label": label,
        "n": len(answered),
        "positives": positives,
        "named": int(named.sum()),
        "right": right,
        **_share("precision", right, int(named.sum())),
        **_share("recall", right, positives),
        "F1": 2 * right / (positives + int(named.sum())) if positives + int(named.sum()) else float("nan"),
        "abstained": len(known) - len(answered),
        "abstained_share": 1 - len(answered) / len(known) if known else float("nan"),
        "F1_abstained_missed": 2 * right / (every + int(named.sum())) if every + int(named.sum()) else float("nan"),
        "base_rate": positives / len(answered) if answered else float("nan"),
    }


def _share(name: str, hits: int, n: int) -> dict[str, float]:
    if not n:
        return {name: float("nan"), f"{name}_low": float("nan"), f"{name}_high": float("nan")}
    low, high = wilson(hits / n, n, CONFIDENCE)
    return {name: hits / n, f"{name}_low": low, f"{name}_high": high}


def beats_chance(row: Mapping[str, object]) -> bool:
    """Named clips show the failure more often than clips do at large: the whole interval of precision is above the base rate."""
    return bool(float(row["precision_low"]) > float(row["base_rate"]))  # type: ignore[arg-type]


def score_table(said: Sequence[Said], labels: Mapping[str, Label], names: Sequence[str]) -> pd.DataFrame:
    """One row per label that somebody saw or that was named."""
    kappas = agreement(labels.values(), names)
    rows = [{**label_row(name, said, labels), "kappa": kappas[name]} for name in names]
    frame = pd.DataFrame(rows)
    frame["agreed"] = frame["kappa"] >= AGREED
    frame["beats_chance"] = [beats_chance(row) for row in rows]
    seen = {name for label in labels.values() for name in label.sure}
    return frame[frame["label"].isin(seen) | (frame["named"] > 0)].reset_index(drop=True)


def enough_examples(label: str, labels: Iterable[Label]) -> bool:
    """Whether a model can be fitted in some scenes and tried in another."""
    scenes = [clip.scene for clip in labels if label in clip.sure]
    return len(scenes) >= MIN_POSITIVES and len(set(scenes)) >= MIN_SCENES


def macro_f1(table: pd.DataFrame, column: str = "F1") -> float:
    """Mean F1 over the labels that both passes agree on. With `F1`, labels that are never answered are left out."""
    rows = table[table["agreed"] & ((table["n"] > 0) if column == "F1" else True)]
    return float(rows[column].fillna(0.0).mean()) if len(rows) else float("nan")


def summary(
    said: Sequence[Said],
    labels: Mapping[str, Label],
    table: pd.DataFrame,
    truths: Sequence[str],
    rightly: Collection[tuple[str, str]] = (),
) -> dict[str, float]:
    """The figures of the whole: macro-F1, inactivity, failures on ground truths, and what became of the surest failures.

    `rightly` are the (clip, label) of which somebody who looked at the clip says that nothing can be said without a judge.
    """
    by_clip: dict[str, dict[str, Said]] = {}
    for one in said:
        by_clip.setdefault(one.clip, {})[one.label] = one
    surest = [clip for clip in by_clip if labels[clip].surest not in (NONE, DISPUTED)]
    told = [by_clip[clip].get(labels[clip].surest) for clip in surest]
    faithful = [clip for clip in by_clip if labels[clip].surest == NONE]
    wrong = [one for one in said if one.named and one.label not in labels[one.clip].sure | labels[one.clip].doubtful]
    inactivity = table.loc[table["label"] == "camera_inactivity", "F1"]
    return {
        "clips": len(by_clip),
        "macro_f1": macro_f1(table),
        "macro_labels": int((table["agreed"] & (table["n"] > 0)).sum()),
        "agreed_labels": int(table["agreed"].sum()),
        "macro_f1_abstained_missed": macro_f1(table, "F1_abstained_missed"),
        "inactivity_f1": float(inactivity.iloc[0]) if len(inactivity) else float("nan"),
        "named_on_truths": sum(one.named for one in said if one.clip in truths),
        "truths": sum(clip in by_clip for clip in truths),
        "false_alarms": len(wrong),
        "faithful": len(faithful),
        "faithful_flagged": sum(any(one.named for one in by_clip[clip].values()) for clip in faithful),
        "surest": len(surest),
        "surest_named": sum(one is not None and one.named for one in told),
        "surest_abstained": sum(one is not None and bool(one.abstained) for one in told),
        "surest_rightly": sum(one is not None and bool(one.abstained) and (one.clip, one.label) in rightly for one in told),
    }

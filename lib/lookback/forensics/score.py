"""How good the rules are: found failures against the injected ones of the demo world; and counts per model and split."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lookback.clips import KEYS
from lookback.forensics.rules import LABELS, OF_INJECTED, TITLES

FAITHFUL = "none"
NOTHING = "nothing found"


def with_truth(failures: pd.DataFrame, truth: pd.DataFrame, min_severity: float = 0.5) -> pd.DataFrame:
    """One row per clip: the injected failure as a label (`injected`), and the set of labels found (`found`)."""
    kept = truth[(truth["failure"] == FAITHFUL) | (truth["severity"] >= min_severity)].copy()
    kept["injected"] = [OF_INJECTED.get(name, name) for name in kept["failure"]]
    found = failures.groupby(KEYS)["label"].agg(frozenset).to_dict()
    kept["found"] = [found.get(tuple(key), frozenset()) for key in kept[KEYS].itertuples(index=False)]
    return kept[[*KEYS, "injected", "severity", "found"]].reset_index(drop=True)


def confusion(clips: pd.DataFrame) -> pd.DataFrame:
    """Rows: what was injected. Columns: in how many of those clips each label was found (labels are not exclusive)."""
    rows = []
    for injected in (*LABELS, FAITHFUL):
        part = clips[clips["injected"] == injected]
        if len(part):
            counts = {label: int(sum(label in found for found in part["found"])) for label in LABELS}
            nothing = int(sum(not found for found in part["found"]))
            rows.append({"injected": injected, "clips": len(part), **counts, NOTHING: nothing})
    return pd.DataFrame(rows)


def label_scores(clips: pd.DataFrame) -> pd.DataFrame:
    """Precision, recall and F1 per label that was injected; faithful clips count against precision.

    A label that was never found has no precision.
    """
    rows = []
    for label in LABELS:
        injected = (clips["injected"] == label).to_numpy()
        found = np.array([label in labels for labels in clips["found"]], bool)
        if not injected.any():
            continue
        right = int((injected & found).sum())
        precision = right / found.sum() if found.any() else float("nan")
        recall = right / injected.sum()
        f1 = 2 * precision * recall / (precision + recall) if right else 0.0
        counts = {"injected": int(injected.sum()), "found": int(found.sum()), "right": right}
        rows.append({"label": label, **counts, "precision": precision, "recall": recall, "F1": f1})
    return pd.DataFrame(rows)


def macro_f1(scores: pd.DataFrame) -> float:
    """Mean F1 over the injected labels."""
    return float(scores["F1"].mean())


def clean_share(clips: pd.DataFrame) -> float:
    """Share of faithful clips on which nothing was found."""
    faithful = clips[clips["injected"] == FAITHFUL]
    return float(np.mean([not found for found in faithful["found"]])) if len(faithful) else float("nan")


def counts(failures: pd.DataFrame, clips: pd.DataFrame, abstentions: pd.DataFrame) -> pd.DataFrame:
    """Clips with each failure per model and split, as in MemoBench's table S10; non-exclusive. Empty where none was judged."""
    split = ["benchmark", "setting", "model_id"]
    total = clips.groupby(split).size().rename("clips")
    found, silent = (
        rows.drop_duplicates([*KEYS, "label"])
        .groupby([*split, "label"])
        .size()
        .unstack("label")
        .reindex(index=total.index, columns=list(LABELS))
        .fillna(0)
        for rows in (failures, abstentions)
    )
    judged = silent.lt(total, axis=0)
    return total.to_frame().join(found.where(judged).astype("Int64")).reset_index().rename(columns=TITLES)

"""`make validity`: verdicts against labels, on real clips (cross-validated by scene), on the demo, and for the geometric judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from lookback.clips import clips_from_frame
from lookback.errors import Reason
from lookback.files import write_json, write_text
from lookback.forensics.calibration import Calibration, calibration
from lookback.forensics.rules import LABELS
from lookback.forensics.score import FAITHFUL, clean_share, label_scores, with_truth
from lookback.forensics.score import macro_f1 as demo_macro_f1
from lookback.paths import RunPaths, resolve
from lookback.tables import csv_text, read_csv, read_table
from lookback.validity.by_eye import rightly_silent, why_wrong
from lookback.validity.dataset import RUN, TRUTH, label_name, read_labels
from lookback.validity.fit import all_said
from lookback.validity.judged import judge_table, wrong_answers
from lookback.validity.page import sheets, write_page, wrong_verdicts
from lookback.validity.run import labelled, real_run
from lookback.validity.scores import Said, score_table, summary

GOALS = {"macro_f1": 0.6, "inactivity_f1": 0.85, "surest": 0.7}
SHOWN = ("label", "n", "positives", "named", "right", "precision", "recall", "F1", "abstained", "kappa", "state", "rules_F1")


@dataclass
class Result:
    """Tables by title, sentences, and the figures of the summaries."""

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    figures: dict[str, Mapping[str, float]] = field(default_factory=dict)
    pictures: str = "<p>The labelled clips are not here.</p>"


def validity(source: Path, workers: int = 0) -> tuple[Result, Path]:
    """The whole comparison, written below outputs/validity; returns it with the page."""
    out, result = RunPaths.of(RUN).root, Result()
    if source.is_dir():
        _real(source, workers, out, result)
    else:
        result.words.append(f"{source} is absent: no labelled real clips, so only the demo is compared")
    _demo(RunPaths.of("demo").tables, result)
    for title, table in result.tables.items():
        write_text(out / f"{title.split(':')[0].replace(' ', '_')}.csv", csv_text(table))
    figures = {
        part: {name: None if np.isnan(value) else value for name, value in found.items()} for part, found in result.figures.items()
    }
    write_json(out / "summary.json", {"words": result.words, **figures})
    page = write_page(
        out / "validity.html", result.words, {title: shown(table) for title, table in result.tables.items()}, result.pictures
    )
    return result, page


def _real(source: Path, workers: int, out: Path, result: Result) -> None:
    labels = read_labels(source)
    run = labelled(real_run(source, workers), labels)
    tried = all_said(run.features, labels)
    said = switched_off(tried, calibration("real"))
    rules = rules_said(run.rules, list(run.features.index))
    truths = [clip for clip in labels if clip.endswith(TRUTH)]
    table, by_rules = score_table(tried, labels, LABELS), score_table(rules, labels, LABELS)
    table["state"] = table["label"].map({name: _state(calibration("real"), name) for name in LABELS})
    table["rules_F1"] = table["label"].map(by_rules.set_index("label")["F1"])
    result.tables |= {
        "real clips: every label, cross-validated by scene": table,
        "rules: the hand-written rules on the same clips": by_rules,
        "judge: the geometric judge's answers against the labels (its bounds: set on these clips)": judge_table(run.judge, labels),
    }
    on = score_table(said, labels, LABELS)
    result.figures["real"] = summary(said, labels, on, truths, rightly_silent())
    result.figures["rules"] = summary(rules, labels, by_rules, truths)
    result.words += sentences(result.figures["real"], result.figures["rules"])
    wrong = [*wrong_verdicts(said, labels), *wrong_answers(run.judge, labels)]
    why = why_wrong()
    rows = [(one.clip, one.label, kind, one.probability, one.words, why.get((one.clip, one.label), "")) for one, kind in wrong]
    result.tables["wrong verdicts: of the labels that are on, and of the geometric judge"] = pd.DataFrame(
        rows, columns=["clip", "label", "wrong", "probability", "evidence", "why (looked at)"]
    )
    write_text(out / "verdicts.csv", csv_text(pd.DataFrame([one.__dict__ for one in tried])))
    clips = clips_from_frame(read_table(RunPaths.of(RUN).tables, "clips"))
    result.pictures = sheets(wrong, {label_name(clip): resolve(clip.video) for clip in clips}, why)


def switched_off(said: Sequence[Said], table: Calibration) -> list[Said]:
    """The verdicts as a run gives them: labels that are experimental say nothing."""
    off = {name for name, label in table.labels.items() if label.by != "judge" and (label.experimental or label.model is None)}
    return [replace(one, named=False, abstained=one.abstained or str(Reason.UNPROVEN)) if one.label in off else one for one in said]


def rules_said(found: pd.DataFrame, clips: Sequence[str]) -> list[Said]:
    """The written rules as verdicts; a rule without evidence says nothing, which these rules count as no failure."""
    named = {(row.clip, row.label): float(row.confidence) for row in found.itertuples()}
    return [Said(clip, label, (clip, label) in named, named.get((clip, label), 0.0)) for clip in clips for label in LABELS]


def _state(table: Calibration, name: str) -> str:
    label = table.labels[name]
    return "judge" if label.by == "judge" else "off" if label.experimental or label.model is None else "on"


def sentences(real: Mapping[str, float], rules: Mapping[str, float]) -> list[str]:
    """The summary in words, with the hand-written rules beside it and the goal where there is one."""
    named, abstained, rightly, of = (int(real[f"surest{part}"]) for part in ("_named", "_abstained", "_rightly", ""))
    return [
        f"macro-F1 {real['macro_f1']:.2f} over the {int(real['macro_labels'])} answered of the {int(real['agreed_labels'])} labels "
        f"that both passes agree on (kappa 0.5 or more; goal {GOALS['macro_f1']}); {real['macro_f1_abstained_missed']:.2f} with "
        f"every abstention counted as missed; hand-written rules {rules['macro_f1_abstained_missed']:.2f}",
        f"camera inactivity F1 {real['inactivity_f1']:.2f} (goal {GOALS['inactivity_f1']}); "
        f"hand-written rules {rules['inactivity_f1']:.2f}",
        f"failures named on {int(real['truths'])} ground truths: {int(real['named_on_truths'])} (goal 0); "
        f"hand-written rules {int(rules['named_on_truths'])}",
        f"surest failure of {of} clips: {named} named and {rightly} rightly abstained from, judged by eye "
        f"({(named + rightly) / max(of, 1):.0%}; goal {GOALS['surest']:.0%}), {abstained - rightly} wrongly abstained from, "
        f"{of - named - abstained} missed; hand-written rules named {int(rules['surest_named'])}",
        f"false alarms: {int(real['false_alarms'])}, and {int(real['faithful_flagged'])} of {int(real['faithful'])} faithful clips "
        f"flagged; hand-written rules {int(rules['false_alarms'])} and {int(rules['faithful_flagged'])}",
    ]


def _demo(tables: Path, result: Result) -> None:
    """The demo world's part, from a finished run."""
    if not (tables / "failures.parquet").is_file():
        result.words.append("outputs/demo holds no finished run: `make report` makes it, then the demo is compared, too")
        return
    clips = with_truth(read_table(tables, "failures"), read_table(tables, "truth"))
    table = label_scores(clips)
    silent = tables / "forensics" / "abstentions.csv"
    if silent.is_file():
        table["abstained"] = table["label"].map(read_csv(silent)["label"].value_counts()).fillna(0).astype(int)
    result.tables["demo: injected failures of 0.5 or more"] = table
    faithful = int((clips["injected"] == FAITHFUL).sum())
    score, clean = demo_macro_f1(table), clean_share(clips)
    result.figures["demo"] = {
        "macro_f1": score,
        "faithful": faithful,
        "flagged": round(faithful * (1 - clean)),
        "clips": len(clips),
    }
    result.words.append(
        f"demo: macro-F1 {score:.2f} on {len(clips)} clips, {round(faithful * (1 - clean))} of {faithful} faithful clips flagged"
    )


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """The table as it is printed: shares with their intervals, two decimals."""
    frame = table.copy()
    for name in ("precision", "recall"):
        if f"{name}_low" in frame:
            frame[name] = [
                "-" if np.isnan(value) else f"{value:.2f} [{low:.2f}, {high:.2f}]"
                for value, low, high in zip(frame[name], frame.pop(f"{name}_low"), frame.pop(f"{name}_high"), strict=True)
            ]
    kept = [name for name in SHOWN if name in frame] if "kappa" in frame else list(frame.columns)
    numbers = frame[kept].select_dtypes("float").columns
    return frame[kept].assign(
        **{name: frame[name].map(lambda value: "-" if np.isnan(value) else f"{value:.2f}") for name in numbers}
    )


def as_text(result: Result, page: Path) -> str:
    """The tables and sentences for the terminal."""
    parts = [f"{title}\n{shown(table).to_string(index=False)}\n" for title, table in result.tables.items()]
    return "\n".join([*parts, *result.words, "", f"page: {page}"])

"""The report's tables: marks by printed values, headers, lengths, LaTeX widths, footnotes, and what stands behind a number."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from lookback.benchmarks.mbench.report import paper_tables as mbench_tables
from lookback.benchmarks.memobench.report import coverage_sweep, failure_counts
from lookback.benchmarks.mind.report import paper_tables as mind_tables
from lookback.benchmarks.wrbench.report import further_tables, profile_table
from lookback.clips import KEYS
from lookback.demo.audit.reading import finding
from lookback.demo.failures import model_name
from lookback.demo.plan import RIGHT
from lookback.params.load import validate
from lookback.report.behind import answers_behind, worst_frames, worst_units
from lookback.report.build import ReportBuilder
from lookback.report.compare import rank_changes
from lookback.report.model_table import NO_CLIPS, NOT_RUN, Column, model_table
from lookback.report.paper import PaperData
from lookback.report.stage_tables import audit_reach, whole_counts
from lookback.report.table import PaperTable, bounds_text, mark_best
from lookback.report.trust import NO_VERDICT, audit_sentence, audited_failures, judged_by, without_judged_marks
from lookback.scoring.figures import coverage_table, distribution_figure
from lookback.tables import empty_table, write_table
from made_runs import made_run
from time_limits import HUNG_S

ROW = dict(zip(KEYS, ("wrbench", "demo", "m", "c"), strict=True))


def marks(*values: float, more: bool = True, digits: int = 2) -> list[str]:
    return mark_best(pd.DataFrame({"x": values}), {"x": more}, {"x": digits})["x"].tolist()


def test_numbers_printed_alike_share_a_mark():
    assert marks(0.991, 0.994, 0.5, 0.1) == ["best", "best", "second", ""]
    assert marks(0.991, 0.994, 0.5, 0.1, digits=3) == ["second", "best", "", ""]
    assert marks(3.0, 1.0, 2.0, 1.001, more=False) == ["", "best", "second", "best"]


def test_nothing_is_marked_where_there_is_nothing_to_compare():
    assert marks(1.0, 1.001, 0.999) == ["", "", ""]
    assert marks(0.0, np.nan, 0.0) == ["", "", ""], "never triggered, beside cells without a value"
    assert marks(5.0, 0.0, 0.0) == ["best", "", ""], "the worst number is no second best"


def test_headers_say_which_way_is_better_and_csv_keeps_the_names():
    table = PaperTable("t", "T", pd.DataFrame({"model": ["a"], "PSNR": [1.0], "LPIPS": [0.1], "n": [3]}), ["model"])
    table.better = {"PSNR": True, "LPIPS": False}
    assert "PSNR ↑" in table.to_html() and "LPIPS ↓" in table.to_html() and ">n<" in table.to_html()
    assert r"PSNR $\uparrow$" in table.to_latex() and r"LPIPS $\downarrow$" in table.to_latex()
    assert table.to_csv().splitlines()[0] == "model,PSNR,LPIPS,n"


def test_a_number_that_rounds_to_zero_has_no_sign():
    table = PaperTable("t", "T", pd.DataFrame({"model": ["a", "b"], "drop": [-0.0004, -0.004]}), ["model"], digits={"drop": 2})
    assert table.texts("drop") == ["0.00", "0.00"]
    table.digits = {"drop": 3}
    assert table.texts("drop") == ["0.000", "-0.004"] and "-0.0004" in table.to_csv()
    assert bounds_text(-0.0004, 0.02, 2) == " [0.00, 0.02]" and bounds_text(np.nan, 0.02, 2) == ""


def test_a_long_table_is_shortened_on_the_page_alone_and_says_so():
    table = PaperTable("agreement-x", "X", pd.DataFrame({"row": [f"r{k}" for k in range(153)], "v": np.arange(153.0)}), ["row"])
    short = table.to_html(30)
    assert short.count("<tr>") == 31 and "30 of 153 rows shown; all in tables/report/agreement-x.csv." in short
    assert table.to_html().count("<tr>") == 154 and len(table.to_csv().splitlines()) == 154
    rows = [line for line in table.to_latex().splitlines() if line.startswith("r") and line.endswith(r"\\") and "row" not in line]
    assert len(rows) == 153


def test_a_row_that_begins_with_a_bracket_or_a_star_is_no_option_of_the_line_before():
    table = PaperTable("x", "T", pd.DataFrame({"[m]": ["plain", "[ours] big", "*starred"], "v": [1.0, 2.0, 3.0]}), ["[m]"])
    lines = table.to_latex().splitlines()
    assert [line.split(" & ")[0] for line in lines if " & " in line] == ["{}[m]", "plain", "{}[ours] big", "{}*starred"]


def wide_table() -> PaperTable:
    numbers = {f"a long header {k}": [0.123, 4.5] for k in range(14)}
    frame = pd.DataFrame({"model": ["sim-a", "sim-b"], **numbers})
    note = "Backends: " + ", ".join(f"person_features{k}=efficientnet-lite{k}" for k in range(9))
    return PaperTable("wide", "Wide", frame, ["model"], notes=[note])


def test_only_a_wide_table_is_shrunk():
    narrow = PaperTable("narrow", "N", pd.DataFrame({"model": ["a"], "x": [1.0]}), ["model"])
    assert "resizebox" in wide_table().to_latex() and "resizebox" not in narrow.to_latex()
    assert '"table many' in wide_table().to_html() and " many" not in narrow.to_html()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex (Debian package texlive-latex-recommended)")
@pytest.mark.parametrize("margins", [r"\usepackage[a4paper,margin=1in]{geometry}", ""])
def test_a_wide_table_and_long_words_fit_the_page(tmp_path: Path, margins: str):
    words = pd.DataFrame(
        {"what": ["a sentence about mbencha.entity.object_geometry_consistency and 9f" + 31 * "0a", "b"], "x": [1.0, 2.0]}
    )
    row = {"interface": "sim-event-never-starts-050", "subtype": "source-video", "Support %": 1.0, "CamAlign": 1.0, "Visible": 1.0}
    middle = PaperTable("middle", "M", pd.DataFrame([row | {"Reobserved": 1.0}]), ["interface", "subtype"])
    tables = [wide_table(), middle, PaperTable("prose", "P", words, ["what"])]
    head = rf"\documentclass{{article}}{margins}\usepackage{{booktabs,graphicx}}\begin{{document}}"
    (tmp_path / "t.tex").write_text("\n".join([head, *(table.to_latex() for table in tables), r"\end{document}"]))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False, timeout=HUNG_S)
    assert done.returncode == 0, done.stdout[-800:]
    assert "Overfull \\hbox" not in done.stdout


def test_counts_are_whole_again_and_scores_are_not():
    frame = pd.DataFrame({"text_n_models": [5.0, np.nan], "reversals": [3.0, np.nan], "accuracy": [1.0, np.nan], "rho": [0.5, 1.0]})
    assert {name: str(kind) for name, kind in whole_counts(frame).dtypes.items()} == {
        "text_n_models": "Int64",
        "reversals": "Int64",
        "accuracy": "float64",
        "rho": "float64",
    }


def answer(judge: str, task: str, question: str, said: str) -> dict:
    return {**ROW, "judge": judge, "task": task, "question_id": question, "answer": said, "verbatim": "because", "question": "?"}


def test_the_answers_shown_are_those_of_the_judge_that_made_the_score():
    said = pd.DataFrame(
        [
            answer("geometric", "judgeability", "D5_returned", "yes"),
            answer("simulated", "judgeability", "D5_returned", "no"),
            answer("simulated", "judgeability", "D6_returned", "yes"),
            answer("simulated", "probe", "D5_position", "yes"),
            answer("simulated", "timeline", "camera_departed", "yes"),
        ]
    )
    shown = answers_behind("wrbench.reobserved_spatial", "simulated", said)
    assert shown[["question_id", "answer"]].to_numpy().tolist() == [["D5_returned", "no"], ["D5_position", "yes"]]


def unit(clip: str, name: str, frame: int, value: float, metric: str = "mind.lcm", phase: str = "mse") -> dict:
    key = {**ROW, "clip_id": clip, "metric": metric, "variant": "paper", "phase": phase}
    return {**key, "unit_id": name, "frame": frame, "value": value}


def test_worst_units_of_a_distance_are_the_largest():
    values = list(enumerate((0.1, 0.9, 0.5, 0.2)))
    units = pd.DataFrame([unit("c", f"f{k}", k, value, phase=phase) for phase in ("mse", "ssim") for k, value in values])
    found, key = worst_units(units), ("wrbench", "demo", "m", "c")
    assert found[key, "mind.lcm", "mse"] == "f1: 0.9, f2: 0.5, f3: 0.2"
    assert found[key, "mind.lcm", "ssim"] == "f0: 0.1, f3: 0.2, f2: 0.5"


def test_the_inspector_opens_at_the_worst_unit():
    """f0 is low in every clip and says nothing; f7 is far above what it is in the others (a distance: less is better)."""
    units = pd.DataFrame(
        [
            unit(clip, name, frame, value)
            for clip in "abc"
            for name, frame, value in (("f0", 0, 0.8), ("f7", 7, 0.1), ("f9", 9, 0.2))
        ]
    )
    units.loc[(units["clip_id"] == "b") & (units["unit_id"] == "f7"), "value"] = 0.9
    assert worst_frames(units)["wrbench", "demo", "m", "b"] == 7


def test_ranks_follow_the_direction_of_the_part():
    rows = [("mind.lcm", part, model, a, b) for part in ("mse", "psnr") for model, a, b in (("x", 1.0, 3.0), ("y", 2.0, 2.0))]
    table = rank_changes(pd.DataFrame(rows, columns=["metric", "phase", "model", "first", "second"]))
    ranks = table.set_index(["phase", "model"])["rank_first"].to_dict()
    assert ranks == {("mse", "x"): 1, ("mse", "y"): 2, ("psnr", "x"): 2, ("psnr", "y"): 1}


def judged(model: str, metric: str, value: float, level: str, clip: str) -> dict:
    facts = {"event_level": level, "event_action": "sit", "camera": "yaw_LR", "variant": "paper", "backend": "simulated"}
    return {
        **ROW,
        "model_id": model,
        "clip_id": clip,
        "metric": metric,
        "value": value,
        "reason": "" if value == value else "no_return",
        **facts,
    }


def wrbench_items() -> pd.DataFrame:
    rows = []
    for clip, level in enumerate(("spatial", "state", "full")):
        for model in ("a", "b"):
            rows.append(judged(model, "wrbench.support", 1.0, level, str(clip)))
            back = np.nan if model == "b" and level == "state" else 0.5 + 0.1 * clip
            rows += [judged(model, f"wrbench.reobserved_{kind}", back, level, str(clip)) for kind in ("spatial", "state")]
    return pd.DataFrame(rows)


def test_wrbench_tables_name_backend_variant_reasons_and_few_returns():
    tables = {table.id: table for table in further_tables(wrbench_items(), {})}
    for table in tables.values():
        assert "Variants: paper." in table.notes and "Backends: simulated." in table.notes, table.id
    relocation = tables["wrbench-4"]
    assert "Missing: no_return 1." in relocation.notes
    assert relocation.suffixes is not None and relocation.suffixes["Relocation"].tolist() == ["†", "†"]
    assert relocation.suffixes["In place"].tolist() == ["†", ""], "no dagger on a dash"
    assert "Gap" not in relocation.better
    assert any("sparse" in note for note in tables["wrbench-7"].notes)


def test_the_profile_has_no_dagger_where_nothing_was_measured(tmp_path: Path):
    items = wrbench_items().assign(phase="", scene=lambda frame: frame["clip_id"])
    lost = (items["model_id"] == "b") & (items["metric"] == "wrbench.reobserved_state")
    items.loc[lost, ["value", "reason"]] = [np.nan, "needs_judge"]
    data = PaperData(made_run(tmp_path / "r", {("a", "s"): 0.5}), items, {})
    suffixes = profile_table(data, {}).suffixes
    assert suffixes["Reobs. state"].str.startswith("†").tolist() == [True, False]
    assert suffixes["Reobs. spatial"].str.startswith("†").tolist() == [True, True]


NOT_ABSTAINED = pd.DataFrame(columns=[*KEYS, "label", "domain", "reason", "words"])


def test_every_label_has_its_row_of_failures():
    clips = pd.DataFrame([{**ROW, "benchmark": "memobench", "setting": name} for name in ("real", "synthetic")])
    found = pd.DataFrame([{**ROW, "benchmark": "memobench", "setting": "real", "label": "teleport", "rule": "demo: it moved"}])
    (table,) = failure_counts(found, clips, NOT_ABSTAINED)
    frame = table.frame
    assert "found by the written rules" in table.notes[0]
    assert len(frame) == 14 and list(frame.columns) == ["failure", "real", "synthetic", "total"]
    assert frame.set_index("failure")["total"].to_dict()["duplicate"] == 0 and frame["failure"].iloc[0] == "teleport"


def test_a_failure_that_was_judged_in_no_clip_is_a_dash_and_no_zero():
    clips = pd.DataFrame([{**ROW, "benchmark": "memobench", "setting": name, "clip_id": name} for name in ("real", "synthetic")])
    found = clips[:1].assign(label="camera_drift", rule="real: fitted on labelled real clips: more off request")
    silent = pd.concat([clips.assign(label="teleport"), clips[:1].assign(label="duplicate")]).assign(
        domain="real", reason="unproven"
    )
    (table,) = failure_counts(found, clips, silent)
    cells = {name: dict(zip(table.frame["failure"], table.texts(name), strict=True)) for name in table.numbers}
    shown = {label: [cells[name][label] for name in ("real", "synthetic", "total")] for label in cells["total"]}
    assert shown["teleport"] == ["–"] * 3 and shown["duplicate"] == ["–", "0", "0"]
    assert shown["camera_drift"] == ["1", "0", "1"] and shown["state_reset"] == ["0"] * 3
    assert "not judged" in table.to_html() and table.to_csv().splitlines()[1] == "camera_drift,1,0,1"
    assert "written rules" not in table.notes[0] and "fitted on labelled real clips" in table.notes[0]


def test_coverage_ranges_are_by_model_over_its_clips():
    unit = {**ROW, "metric": "memobench.ors", "variant": "paper", "reason": "", "frame": 3}
    rows = [{**unit, "model_id": m, "clip_id": c, "kind": kind, "value": v, "raw": raw}
            for m, c, kind, v, raw in (("a", "1", "frame", 1.0, 0.1), ("a", "2", "frame", 0.5, 0.1), ("b", "1", "frame", 0.2, 0.1),
                                       ("a", "2", "mask", 0.9, 0.0002), ("b", "1", "mask", 0.8, 0.35))]  # fmt: skip
    rows.append({**rows[2], "variant": "official", "value": 0.0})
    items = pd.DataFrame([{"metric": "memobench.ors", "variant": "paper", "backend": "masks=classical"}])
    table = coverage_sweep(pd.DataFrame(rows), items)[0]
    assert "Backends: masks=classical." in table.notes
    frame = table.frame.set_index("model")
    assert frame["n"].to_dict() == {"a": 2, "b": 1}
    assert frame.loc["a", "0.05-50 % sd"] > 0 and np.isnan(frame.loc["b", "0.05-50 % sd"])
    # a tiny mask counts in the first range alone, a large one from the second on
    assert frame.filter(like="mean").loc["a"].tolist() == pytest.approx([0.95, *[0.75] * 7])
    assert frame.filter(like="mean").loc["b"].tolist() == pytest.approx([0.2, *[0.8] * 7])


def test_parts_with_other_units_are_not_averaged_together():
    parts = [("mind.lcm", "mse", 0.1), ("mind.lcm", "psnr", 30.0), ("memobench.psnr", "V", 20.0), ("memobench.psnr", "R", 10.0)]
    facts = {"variant": "paper", "reason": "", "backend": ""}
    rows = [{"benchmark": m.split(".")[0], "metric": m, "phase": p, "value": v, **facts} for m, p, v in parts]
    means = coverage_table(pd.DataFrame(rows)).set_index("metric")["mean"].to_dict()
    assert means == {"mind.lcm mse": 0.1, "mind.lcm psnr": 30.0, "memobench.psnr": 15.0}


def test_a_metric_s_mean_is_of_whole_clips_where_they_are_scored():
    facts = {"benchmark": "memobench", "metric": "memobench.psnr", "variant": "paper", "backend": ""}
    rows = [{**facts, "phase": phase, "value": value, "reason": ""} for phase, value in (("", 15.0), ("V", 19.0), ("D", 14.0))]
    rows.append({**facts, "phase": "", "value": None, "reason": "missing_input"})
    (row,) = coverage_table(pd.DataFrame(rows)).to_dict("records")
    assert (row["scored"], row["items"], row["mean"], row["missing because"]) == (1, 2, 15.0, "missing_input 1")


def test_the_caption_names_a_faithful_model_only_where_there_is_one():
    row = {"benchmark": "memobench", "metric": "memobench.psnr", "variant": "paper", "phase": "", "value": 1.0, "clip_id": "c"}
    for model, green in (("wan", False), ("unfaithful-7b", False), (model_name(*RIGHT), True)):
        figure, caption = distribution_figure(pd.DataFrame([{**row, "model_id": model}]), "memobench")
        plt.close(figure)
        assert ("green" in caption) == green and "(1 model)" in caption


def panels(benchmark: str, *scores: tuple[str, str, float]) -> list[plt.Axes]:
    facts = {"benchmark": benchmark, "variant": "paper", "model_id": "m", "clip_id": "c"}
    rows = [{**facts, "metric": metric, "phase": phase, "value": value} for metric, phase, value in scores]
    figure, _ = distribution_figure(pd.DataFrame(rows), benchmark)
    figure.draw_without_rendering()
    plt.close(figure)
    return [axes for axes in figure.axes if axes.get_visible()]


def test_every_part_with_a_unit_of_its_own_has_a_panel():
    shown = panels("mind", ("mind.lcm", "mse", 0.1), ("mind.lcm", "psnr", 30.0), ("mind.visual", "", 0.5))
    assert [axes.get_title() for axes in shown] == ["lcm mse (n = 1)", "lcm psnr (n = 1)", "visual (n = 1)"]
    shown = panels("memobench", ("memobench.psnr", "", 20.0), ("memobench.psnr", "V", 30.0))
    assert [axes.get_title() for axes in shown] == ["psnr (n = 1)"], "a whole clip's score, not that of its phase"


def test_a_metric_of_one_or_two_scores_has_no_panel_beside_others():
    shown = panels("mind", *[("mind.lcm", "mse", 0.1)] * 3, ("mind.action", "act:right", 0.2))
    assert [axes.get_title() for axes in shown] == ["lcm mse (n = 3)"]


def test_metrics_that_share_a_short_name_keep_their_long_one():
    shown = panels("mbench", ("mbencha.object.x", "", 0.1), ("mbencht.object.x", "", 0.2), ("mbencht.object.y", "", 0.3))
    assert [axes.get_title().split()[0] for axes in shown] == ["mbencha.object.x", "mbencht.object.x", "object.y"]


def test_scores_that_hardly_differ_have_few_plain_ticks_and_stand_together():
    (axes,) = panels("wrbench", ("wrbench.support", "", 0.99940), ("wrbench.support", "", 0.99941))
    low, high = axes.get_xlim()
    assert high - low >= 0.019 and axes.xaxis.get_offset_text().get_text() == "" and len(axes.get_xticks()) <= 6


@pytest.mark.parametrize("asked", [False, True])
def test_what_a_notebook_left_of_a_stage_that_the_run_does_not_ask_for_is_not_reported(tmp_path: Path, asked: bool):
    params = made_run(tmp_path / "run", {("m", "s"): 0.5})
    params = params.changed(audit={"enabled": asked}, agreement={"ratings": ["votes.csv"] * asked})
    write_table(params.paths.tables, "failures", empty_table("failures"))
    failures = pd.DataFrame({"failure": ["a_b"], "verdict": ["caught by its metric"], "meant_and_best": ["x"]})
    readings = pd.DataFrame({"table": ["models"], "title": ["Models"], "reading": ["Alike."], "footnote": [""]})
    left = {"audit/failures": failures, "agreement/readings": readings, "agreement/models": pd.DataFrame({"model": ["m"]})}
    for name, frame in left.items():
        path = params.paths.tables / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        frame.to_csv(path, index=False)
    report = ReportBuilder(params)
    trust, agreement = "".join(report.trust().fragments), "".join(report.agreement().fragments)
    assert ("audit-failures" in trust) == ("agreement-models" in agreement) == asked


@pytest.fixture
def audited(tmp_path: Path) -> Path:
    folder = tmp_path / "audit"
    folder.mkdir()
    verdicts = {"a_b": "caught by its metric", "c": "missed by its metrics", "d": "not measured: not triggered"}
    failures = pd.DataFrame({"failure": list(verdicts), "verdict": list(verdicts.values())})
    failures.to_csv(folder / "failures.csv", index=False)
    (folder / "finding.txt").write_text(finding(failures))
    table = pd.DataFrame({"measure": ["x", "y"], "failure": ["a_b", "d"], "rank_correlation": [0.9, np.nan]})
    table.to_csv(folder / "sensitivity.csv", index=False)
    drops = pd.DataFrame([{**ROW, "measure": "x", "drop": 0.1}, {**ROW, "clip_id": "d", "measure": "y", "drop": np.nan}])
    drops.to_csv(folder / "drops.csv", index=False)
    pd.DataFrame([{**ROW, "measure": "x"}]).to_csv(folder / "reactions.csv", index=False)
    return tmp_path


def test_no_verdict_of_the_audit_rests_on_a_simulated_judge(audited: Path):
    folder = audited / "audit"
    told = pd.read_csv(folder / "failures.csv").assign(meant_and_best=["wrbench.support", "mind.lcm ssim", None])
    told.to_csv(folder / "failures.csv", index=False)
    items = pd.DataFrame({"metric": ["wrbench.support", "mind.lcm"], "backend": ["geometric,simulated", "none"]})
    judged = judged_by(items, {"simulated"})
    assert judged == {"wrbench.support"} and judged_by(items, set()) == set()
    failures = audited_failures(folder, judged)
    assert failures["verdict"].tolist() == [NO_VERDICT, "missed by its metrics", "not measured: not triggered"]
    words = audit_sentence(failures)
    assert words.startswith("0 of 1 injected failures") and "only a simulated judge saw them: a b." in words
    assert "Missed: c." in words and "Not measured: d." in words
    assert audit_sentence(audited_failures(folder, set())).startswith("1 of 2 injected failures")


def test_the_audit_says_how_far_it_reached(audited: Path):
    text = audit_reach(audited / "audit")
    assert "1 measures against 1 of 3 injected failures, on 1 failing clips" in text and "1 measures on 1 sound clips" in text


def scored(benchmark: str, setting: str, subset: str, metric: str, phase: str, value: float | None, **more) -> dict:
    row = {"benchmark": benchmark, "setting": setting, "subset": subset, "metric": metric, "phase": phase, "variant": "corrected"}
    row |= {"model_id": "m", "clip_id": f"{setting}/{subset}", "scene": subset, "value": value, "reason": "", "detail": ""}
    return row | {"backend": "b", **more}


def paper_data(items: pd.DataFrame, judged: tuple[str, ...] = ()) -> PaperData:
    params = validate({"run": "x", "scoring": {"resamples": 100}, "report": {"confidence_intervals": False}}, "test")
    return PaperData(params, items, {"judgements": pd.DataFrame({"task": list(judged)})})


def test_minds_tests_stand_apart_and_parts_that_nobody_could_score_say_why():
    rows = [scored("mind", "1st_data", "mem_test", "mind.lcm", "psnr", 20.0)]
    rows.append(scored("mind", "1st_data", "action_space_test", "mind.lcm", "psnr", 10.0))
    rows.append(scored("mind", "1st_data", "mirror_test", "mind.gsc", "psnr", 5.0))
    rows.append(scored("mind", "1st_data", "mem_test", "mind.visual", "", None, reason="backend_unavailable"))
    rows.append(scored("mind", "1st_data", "action_space_test", "mind.visual", "imaging", 0.7))
    tables = {table.id: table for table in mind_tables(paper_data(pd.DataFrame(rows)))}
    assert set(tables) == {"mind-mem_test", "mind-action_space_test", "mind-mirror_test"}
    memory, actions = tables["mind-mem_test"], tables["mind-action_space_test"]
    assert (memory.frame.loc[0, "lcm psnr"], actions.frame.loc[0, "lcm psnr"]) == (20.0, 10.0)
    assert actions.frame.loc[0, "imaging"] == 0.7
    assert memory.missing is not None and memory.missing.loc[0, "imaging"] == "backend_unavailable (1)"
    assert tables["mind-mirror_test"].frame.loc[0, "gsc psnr"] == 5.0


def test_a_model_without_any_score_of_a_metric_has_its_reason_in_every_group_of_actions():
    parts = ("__overall__:rot", "__overall__:trans", "act:forward:rot", "act:forward:trans")
    rows = [scored("mind", "1st_data", "mem_test", "mind.action", part, 1.0) for part in parts]
    failed = [
        scored("mind", "1st_data", "mem_test", "mind.action", part, None, reason="no_poses", model_id="b") for part in parts[:2]
    ]
    tables = {table.id: table for table in mind_tables(paper_data(pd.DataFrame([*rows, *failed])))}
    missing = tables["mind-action"].missing
    assert missing is not None and set(missing.loc[0]) == {"no_poses (1)"} and set(missing.loc[1]) == {""}


def test_failed_clips_stand_in_table_2_both_ways_and_every_cell_says_how_many_were_measured():
    name = "mbencha.entity.human_identity_consistency"
    rows = [scored("mbench", "A", "human", name, "", 0.9, clip_id="0", variant="paper")]
    rows += [scored("mbench", "A", "human", name, "", None, clip_id=str(n), variant="paper", reason="no_face") for n in (1, 2)]
    (table,) = mbench_tables(paper_data(pd.DataFrame(rows)))
    assert table.frame.loc[0, "Human identity"] == pytest.approx(90)
    assert table.frame.loc[0, "Human identity, failed clips as 0"] == pytest.approx(30)
    assert table.suffixes is not None and table.suffixes.loc[0, "Human identity"] == " (1 of 3)"
    assert "Missing: no_face 2." in table.notes, "each clip once, though the metric has two columns"
    (official,) = mbench_tables(paper_data(pd.DataFrame(rows).assign(variant="official")))
    assert official.frame.loc[0, ["Human identity", "Human identity, failed clips left out"]].tolist() == pytest.approx([30, 90])
    assert any("may lead" in note for note in official.notes)


def test_without_a_trigger_there_is_no_m_score():
    """Four clips at 0.5: the reliability is 50; an M-Score of them would read 66.67."""
    name = "mbencht.environment.rendering_style"
    rows = pd.DataFrame([scored("mbench", "T", "environment", name, "", 0.5, clip_id=str(n), variant="paper") for n in range(4)])
    plain, gated = (mbench_tables(paper_data(rows, tasks))[0] for tasks in ((), ("trigger",)))
    assert plain.frame.loc[0, "Style"] == 50.0 and "reliability" in plain.title
    assert any("No trigger decides here" in note for note in plain.notes)
    assert gated.frame.loc[0, "Style"] == pytest.approx(200 / 3) and "M-Score" in gated.title


def summary(*told: tuple[str, float, int, int]) -> pd.DataFrame:
    own = {"benchmark": "mind", "metric": "mind.dino", "phase": "", "variant": "paper", "reasons": "{}"}
    rows = [{**own, "model_id": name, "mean": mean, "n": n, "n_items": n, "n_clusters": scenes} for name, mean, n, scenes in told]
    return pd.DataFrame(rows).assign(ci_low=np.nan, ci_high=np.nan)


def test_nothing_is_marked_beside_a_number_from_one_clip_or_one_scene():
    columns = [Column("D", "mind.dino")]
    for rival in (("c", 3.0, 1, 1), ("c", 3.0, 3, 1)):
        table = model_table("t", "T", summary(("a", 1.0, 3, 3), ("b", 2.0, 3, 3), rival), columns)
        assert set(table.marks["D"]) == {""} and any("one clip or one scene" in note for note in table.notes)
    whole = summary(("a", 1.0, 3, 3), ("b", 2.0, 3, 3), ("c", 3.0, 3, 3))
    many = model_table("t", "T", whole, columns)
    assert many.marks["D"].tolist() == ["best", "second", ""] and not any("one clip" in note for note in many.notes)
    apart = model_table("t", "T", summary(("a", 1.0, 3, 3), ("b", 2.0, 3, 3), ("c", 3.0, 1, 1)), columns, group={"c": "other"})
    assert apart.marks["D"].tolist() == ["best", "", ""], "models of another type are no rivals"


def test_a_metric_that_was_not_run_is_told_from_clips_that_a_model_lacks():
    both = pd.concat([summary(("a", 1.0, 3, 3), ("b", 2.0, 3, 3)), summary(("a", 1.0, 3, 3)).assign(metric="mind.lcm")])
    columns = [Column("D", "mind.dino"), Column("L", "mind.lcm"), Column("V", "mind.visual")]
    table = model_table("t", "T", both, columns)
    assert table.missing["L"].tolist() == ["", NO_CLIPS] and table.missing["V"].tolist() == [NOT_RUN] * 2
    assert "1 cells are empty because the model has no such clips." in table.notes
    assert [note for note in table.notes if note.startswith("Not scored in this run") and note.endswith(": V.")]


def test_no_best_model_is_marked_where_a_simulated_judge_answered():
    frame = pd.DataFrame({"model": ["a", "b"], "Support %": [1.0, 0.0], "CamPrec": [1.0, 0.0], "Avg": [1.0, 0.0]})
    marks = pd.DataFrame({name: ["best", ""] for name in ("Support %", "CamPrec", "Avg")})
    names = {"Support %": "wrbench.support", "CamPrec": "wrbench.cam_prec"}
    table = PaperTable("t", "T", frame, ["model"], marks=marks, metrics=names)
    items = pd.DataFrame({"metric": list(names.values()), "backend": ["simulated", "pose=files"], "detail": ""})
    shown = without_judged_marks(table, items, {"simulated"})
    assert {name: shown.marks[name].tolist() for name in marks} == {"Support %": ["", ""], "CamPrec": ["best", ""], "Avg": ["", ""]}
    assert "a simulated judge answered" in shown.notes[-1]
    assert without_judged_marks(table, items, set()) is table
    gate = items.assign(backend="pose=files", detail=["", "trigger judge simulated: no"])
    assert without_judged_marks(table, gate, {"simulated"}).marks["CamPrec"].tolist() == ["", ""]

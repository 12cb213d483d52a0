"""The printed tables in their papers' shape, best and second best marked as each paper marks them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from lookback.published import half_digits, load
from lookback.published.register import dimensions
from lookback.report.table import PaperTable, mark_best


@dataclass(frozen=True)
class Printed:
    """How one printed table is shown."""

    id: str
    name: str  # the data file
    title: str
    labels: tuple[str, ...] = ("model",)
    columns: tuple[str, ...] = ()  # empty: all
    where: dict[str, str] = field(default_factory=dict)
    group: str = ""  # best and second best are marked within it
    marked: bool = False
    lower: tuple[str, ...] = ()  # less is better, beyond what the register says
    headers: dict[str, str] = field(default_factory=dict)
    reading: str = ""
    notes: tuple[str, ...] = ()


MAIN_MEMOBENCH = (
    "visual_quality motion_smoothness object_consistency geo3d_consistency ors psnr ssim lpips camera_controllability image_reward"
)
VQA = "vqa_instruction_following vqa_object_background vqa_continuity_of_memory vqa_physics_adherence"
TABLES: dict[str, tuple[Printed, ...]] = {
    "MBench": (
        Printed(
            "mbench-2-text",
            "mbench_table2_mscore",
            "MBench table 2, text-conditioned models: M-Score x 100",
            where={"setting": "text"},
            marked=True,
            reading="No model leads everywhere: Helios keeps objects, Self Forcing identity, light and style, LongCat-Video "
            "lets events go "
            "on. Style is low for all.",
            notes=("Best and second best within the setting. The action column does not apply.",),
        ),
        Printed(
            "mbench-2-action",
            "mbench_table2_mscore",
            "MBench table 2, action-conditioned models: M-Score x 100",
            where={"setting": "action"},
            marked=True,
            reading="HY-WorldPlay leads every entity and environment column but one; Yume-1.5 and Lingbot-World lead where the "
            "world must "
            "change. A model can hold the scene still by not letting anything happen.",
            notes=("Best and second best within the setting. The text column does not apply.",),
        ),
    ),
    "MemoBench": (
        Printed(
            "memobench-2",
            "memobench_table2_3",
            "MemoBench table 2: automated metrics",
            labels=("category", "model"),
            columns=tuple(MAIN_MEMOBENCH.split()),
            marked=True,
            reading="LTX-Video leads three quality columns because it hardly moves the camera. HunyuanWorldPlay both moves and "
            "brings the "
            "object back most often.",
            notes=("Best and second best over all ten models, as the paper marks them. LPIPS: less is better.",),
        ),
        Printed(
            "memobench-3",
            "memobench_table2_3",
            "MemoBench table 3: VQA pass rate by dimension",
            labels=("category", "model"),
            columns=tuple(VQA.split()),
            marked=True,
            reading="Consistency answers favour models that stand still; instruction following reverses the order.",
            notes=("Best and second best over all ten models.",),
        ),
        Printed(
            "memobench-s1",
            "memobench_tableS1_configurations",
            "MemoBench table S1: model configurations",
            labels=("model", "type", "ability", "resolution", "camera"),
        ),
        Printed(
            "memobench-s2",
            "memobench_tableS2_trajectories",
            "MemoBench table S2: camera trajectories",
            labels=("subset", "trajectory"),
        ),
        Printed(
            "memobench-s3",
            "memobench_tableS3_coverage",
            "MemoBench table S3: ORS by mask-coverage range, mean and sd over 30 clips",
            labels=(),
            reading="The sd over clips is as large as the mean; with 30 clips the standard error is several times the range "
            "between settings.",
        ),
        Printed(
            "memobench-s4",
            "memobench_tableS4_prompts",
            "MemoBench table S4: ORS by prompt style, mean and sd over 30 clips",
            labels=("prompt_style",),
        ),
        Printed(
            "memobench-s5",
            "memobench_tableS5_motion_gated",
            "MemoBench table S5: clips with at least 90 degrees of rotation",
            marked=True,
            notes=("Best and second best are marked by us.",),
        ),
        Printed(
            "memobench-s6",
            "memobench_tableS6_phase_fidelity",
            "MemoBench table S6: fidelity while visible (V), after the return (R), and the drop",
            marked=True,
            lower=("psnr_delta", "ssim_delta", "lpips_v", "lpips_r", "lpips_delta"),
            headers={
                f"{name}_{part}": f"{name.upper()} {'drop' if part == 'delta' else part.upper()}"
                for name in ("psnr", "ssim", "lpips")
                for part in ("v", "r", "delta")
            },
            reading="Every model loses fidelity between V and R, and every printed drop recomputes from its two columns within "
            "rounding.",
            notes=("Best and second best are marked by us.",),
        ),
        Printed(
            "memobench-s7",
            "memobench_tableS7_sensitivity",
            "MemoBench table S7: Kendall's tau of hyper-parameter variants",
            labels=("metric", "variant", "default"),
        ),
        Printed(
            "memobench-s8",
            "memobench_tableS8_camera",
            "MemoBench table S8: camera pose validation",
            marked=True,
            lower=("ate_rotation_deg_mean", "ate_rotation_deg_sd"),
            headers={
                "ate_rotation_deg_mean": "ATE rotation (deg), mean",
                "ate_rotation_deg_sd": "ATE rotation (deg), sd",
                "gt_rotation_deg": "true rotation (deg)",
            },
            reading="Over these rows rotation error and camera controllability go together far more closely than the text says; "
            "see the claims.",
            notes=("Best and second best are marked by us.",),
        ),
        Printed(
            "memobench-s9",
            "memobench_tableS9_conditioning",
            "MemoBench table S9: Wan2.2 with and without the first frame",
            labels=("variant", "backbone", "v_frame"),
            notes=("The paper prints PSNR with one or two digits; the missing digit is shown as 0.",),
        ),
        Printed(
            "memobench-s10",
            "memobench_tableS10_failures",
            "MemoBench table S10: failures of LingBot-World, non-exclusive",
            labels=("split",),
        ),
    ),
    "WRBench": (
        Printed(
            "wrbench-2",
            "wrbench_table2",
            "WRBench table 2: diagnostic profile",
            labels=("condition_type", "model"),
            group="condition_type",
            marked=True,
            reading="Access and correctness come apart: Gen3C brings the object back most often, LingBot hardly ever, and what "
            "comes back "
            "scores about the same.",
            notes=(
                "Best and second best within the viewpoint condition type, sparse rows included.",
                "† sparse support: fewer than 10 judgeable returns, or under 10 % of the outputs.",
                "The number of outputs is not printed in the table; it gives the totals of the paper's section 4.",
            ),
        ),
        Printed(
            "wrbench-4-quoted",
            "wrbench_table4_quoted",
            "WRBench table 4, the cells its text quotes: re-observed state by event",
        ),
        Printed(
            "wrbench-5-quoted",
            "wrbench_table5_quoted",
            "WRBench table 5, the cells its text quotes: bridge N and reversals",
            labels=("dimension",),
        ),
        Printed(
            "wrbench-11",
            "wrbench_table11_wan_rows",
            "WRBench table 11: Wan-derived rows and their base",
            labels=("base", "model"),
        ),
    ),
}


def paper_table(printed: Printed) -> PaperTable:
    """One printed table ready to be shown."""
    source, halves = load(printed.name), half_digits(printed.name)
    for column, value in printed.where.items():
        source = source[source[column] == value]
    flags = [column for column in source.columns if pd.api.types.is_bool_dtype(source[column])]
    numbers = [column for column in printed.columns or source.select_dtypes("number").columns if column not in flags]
    numbers = [column for column in numbers if source[column].notna().any()]
    frame = source[[*printed.labels, *numbers]].reset_index(drop=True)
    for column in (column for column in printed.labels if column in flags):
        frame[column] = frame[column].map({True: "yes", False: "no"})
    digits = {column: _digits(halves.loc[source.index, column]) for column in numbers}
    register = dimensions().set_index("column")
    headers = {
        column: str(register["header"].get(column, column.replace("_pct", " %").replace("_", " "))) for column in frame.columns
    }
    table = PaperTable(printed.id, printed.title, frame, list(printed.labels), digits, headers={**headers, **printed.headers})
    if printed.marked:
        ranked = [column for column in numbers if column not in {"n", "n_outputs", "gt_rotation_deg"}]
        table.better = {
            column: bool(register["higher_is_better"].get(column, True)) and column not in printed.lower for column in ranked
        }
        table.marks = mark_best(frame, table.better, digits, frame[printed.group] if printed.group else None)
    if "sparse" in flags:
        daggers = source["sparse"].map({True: "†", False: ""}).reset_index(drop=True)
        table.suffixes = pd.DataFrame({"reobs_spatial": daggers, "reobs_state": daggers})
    table.reading = printed.reading
    table.notes = [*printed.notes, f"Source: {printed.name}.csv, as printed."]
    return table


def _digits(halves: pd.Series) -> int:
    """How many digits a column was printed with."""
    smallest = halves[halves > 0].min()
    return 0 if np.isnan(smallest) else max(0, round(-np.log10(2 * smallest)))

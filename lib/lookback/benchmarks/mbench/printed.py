"""MBench's printed tables."""

from __future__ import annotations

from lookback.published.printed import Printed, PrintedPaper, RankGroup

OWN = {
    "object_geometry": "Object geometry",
    "object_texture": "Object texture",
    "human_identity": "Human identity",
    "human_appearance": "Human appearance",
    "epipolar": "Epipolar",
    "reprojection": "Reprojection",
    "lighting": "Lighting",
    "style": "Style",
    "state_evolution": "State",
    "evolution_correctness": "Correctness",
    "text_interaction": "Text",
    "action_interaction": "Action",
}
TABLES = (
    Printed(
        "mbench-2-text",
        "mbench_table2_mscore",
        "MBench table 2, text-conditioned models: M-Score x 100",
        where={"setting": "text"},
        own="mbench-2-t",
        own_columns=OWN,
        marked=True,
        conclusion="No model leads everywhere: Helios keeps objects, Self Forcing identity, light and style, LongCat-Video "
        "lets events go "
        "on. Style is low for all.",
        notes=("Best and second best within the setting. The action column does not apply.",),
    ),
    Printed(
        "mbench-2-action",
        "mbench_table2_mscore",
        "MBench table 2, action-conditioned models: M-Score x 100",
        where={"setting": "action"},
        own="mbench-2-a",
        own_columns=OWN,
        marked=True,
        conclusion="HY-WorldPlay leads every entity and environment column but one; Yume-1.5 and Lingbot-World lead where the "
        "world must "
        "change. A model can hold the scene still by not letting anything happen.",
        notes=("Best and second best within the setting. The text column does not apply.",),
    ),
)
PAPER = PrintedPaper(
    "MBench",
    "14 models, 12 dimensions. The bodies of its tables 3, 4 and 6 are not in the text at hand and are left out.",
    TABLES,
    (
        RankGroup("mbench-text", "MBench, text-conditioned", {"setting": "text"}),
        RankGroup("mbench-action", "MBench, action-conditioned", {"setting": "action"}),
    ),
    compared={"setting": "action"},  # only these models stand in other papers, and the two settings are scored differently
)

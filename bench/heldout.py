"""The forensics' rules on clips that no threshold was chosen on: renders the held-out plan, runs the stages, writes the score.

The plan lies in tests/forensics/forensics_heldout.py (another seed, other pairings of scene, camera and failure). The tables go to
outputs/heldout, as those of any run; `make readme` reads them from there. `--tasks N` takes the first N tasks only.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lookback import stages
from lookback.clips import KEYS
from lookback.demo.datasets import dataset_sources, write_datasets
from lookback.forensics.score import clean_share, macro_f1, with_truth
from lookback.params import RunParams, load_run
from lookback.params.load import validate
from lookback.provenance import write_provenance
from lookback.tables import empty_table, read_table, write_table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "forensics"))
from forensics_heldout import SEED, planned


def parameters(datasets: Path, run: str) -> RunParams:
    """The demo's settings over the held-out datasets; nobody judges."""
    demo = load_run("demo").model_dump(mode="json")
    sources = [source.model_dump(mode="json") for source in dataset_sources(datasets)]
    kept = {name: demo[name] for name in ("workers", "extraction", "scoring", "forensics")}
    return validate({"run": run, "seed": SEED, "curation": {"sources": sources}, **kept}, "held-out clips")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=0)
    parser.add_argument("--run", default="heldout", help="the folder in outputs/")
    given = parser.parse_args()
    tasks = list(dict.fromkeys(clip.task for clip in planned()))[: given.tasks or None]
    root = Path(__file__).parents[1] / "outputs" / given.run
    truth = write_datasets([clip for clip in planned() if clip.task in tasks], root / "datasets")
    params = parameters(root / "datasets", given.run)
    clips = stages.curation(params)["clips"]
    write_table(params.paths.tables, "truth", truth.merge(clips[KEYS], on=KEYS, how="inner", validate="one_to_one"))
    write_table(params.paths.tables, "ratings", empty_table("ratings"))
    for stage in (stages.extraction, stages.scoring, stages.judging):
        stage(params)
    found = stages.forensics(params)
    write_provenance(params, {})
    labelled = with_truth(found["failures"], read_table(params.paths.tables, "truth"))
    print(f"macro-F1 {macro_f1(found['scores']):.3f}; nothing found on {clean_share(labelled):.0%} of the faithful clips")
    return 0


if __name__ == "__main__":
    sys.exit(main())

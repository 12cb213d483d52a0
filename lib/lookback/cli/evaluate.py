"""`lookback eval`, `validate` and `prepare`: score, check or prepare a dataset. The flags are those that MBench's users know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from lookback.errors import ContractError, Reason, UsageError, brief
from lookback.names import counted, one_line
from lookback.paths import expanded, shown

if TYPE_CHECKING:
    from lookback.params import RunParams

Csv = Annotated[list[str] | None, typer.Option(metavar="<names>", help="Comma-separated names. May be repeated.")]
Source = Annotated[str, typer.Argument(help="The folder of the dataset.")]
Output = Annotated[str, typer.Option(help="The folder of the run.")]
Layout = Annotated[str, typer.Option(help="One of {layouts}; detected when left out.")]
GtRoot = Annotated[str, typer.Option(help="The folder of the ground truth, if it is not below SOURCE.")]
Phases = Annotated[str, typer.Option(help="MemoBench's phase sheet (CSV or XLSX).")]
Pattern = Annotated[str, typer.Option(help="folder layout: e.g. '{model}/{clip}.mp4'.")]
Poses = Annotated[str, typer.Option(help="Pattern of pose files made elsewhere, e.g. 'poses/{model}/{clip}.npz'.")]
PosesFormat = Annotated[str, typer.Option(help="Their format: one of {pose_formats}.")]
Masks = Annotated[str, typer.Option(help="Pattern of mask files made elsewhere, e.g. 'masks/{model}/{clip}.npz'.")]
Depth = Annotated[str, typer.Option(help="Pattern of depth files made elsewhere.")]
Files = Annotated[list[str] | None, typer.Option(help="role=pattern: files of another role: one of {file_roles}. May be repeated.")]
Limit = Annotated[int, typer.Option(min=0, help="At most this many clips; 0 means all.")]
Workers = Annotated[int, typer.Option(min=0, help="Processes; 0: one per core, or two per GPU.")]
Profile = Annotated[
    str, typer.Option(help="Whose models measure: embedded, paper (the paper's own) or auto (the best that is installed).")
]
AllowDownload = Annotated[bool, typer.Option("--allow-download", help="Allow the download of pinned weights.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="Override one parameter: key=value. May be repeated.")]
Backend = Annotated[list[str] | None, typer.Option(help="role=name, e.g. pose=classical. May be repeated.")]


def register(app: typer.Typer) -> None:
    app.command("eval")(evaluate)
    app.command()(validate)
    app.command()(prepare)


def evaluate(
    source: Source,
    output: Output,
    metrics: Csv = None,
    layout: Layout = "auto",
    gt_root: GtRoot = "",
    phases: Phases = "",
    pattern: Pattern = "",
    poses: Poses = "",
    poses_format: PosesFormat = "",
    masks: Masks = "",
    depth: Depth = "",
    files: Files = None,
    models: Csv = None,
    subsets: Csv = None,
    conditions: Csv = None,
    sample_ids: Csv = None,
    limit: Limit = 0,
    workers: Workers = 0,
    backend: Backend = None,
    profile: Profile = "embedded",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    allow_download: AllowDownload = False,
    set_: Set = None,
    variant: Annotated[str, typer.Option(help="paper, official or corrected; the default of each metric when left out.")] = "",
    constant: Annotated[list[str] | None, typer.Option(help="name=number: a named constant of a metric. May be repeated.")] = None,
    vlm_judge: Annotated[
        str, typer.Option(help="One of {judges} (openai-compatible means openai); nobody judges when left out.")
    ] = "",
    vlm_base_url: Annotated[
        str, typer.Option(help="The server's address. Default: $LOOKBACK_JUDGE_URL, then $MBENCH_VLM_BASE_URL.")
    ] = "",
    vlm_api_key: Annotated[
        str,
        typer.Option(
            envvar="MBENCH_VLM_API_KEY",
            show_default=False,
            help="The judge's key, for this run only; never stored or shown. In the environment, other users cannot see it.",
        ),
    ] = "",
    vlm_model: Annotated[str, typer.Option(envvar="MBENCH_VLM_MODEL")] = "",
    vlm_n_frames: int = 8,
    vlm_max_retries: int = 3,
    ignore_trigger: Annotated[bool, typer.Option("--ignore-trigger", help="Score clips that did not trigger too.")] = False,
    prompts: Annotated[
        list[str] | None, typer.Option(help="pack=file: words of your own for a judge (docs/judges.md). May be repeated.")
    ] = None,
    progress_bar: Annotated[bool, typer.Option("--progress-bar/--no-progress-bar", help="Show how far the work is.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    log_file: Annotated[bool, typer.Option("--log-file/--no-log-file", help="Write eval.log, one line per item.")] = True,
) -> None:
    """Score a dataset and write its tables and results. The folder has MBench's run layout. Bad items are skipped with a reason."""
    from lookback import api
    from lookback.hiding import using_judge_key
    from lookback.scoring.figures import coverage_table

    judging: dict[str, object] = {
        "judge": api.judge_name(vlm_judge),
        "model": vlm_model,
        "base_url": vlm_base_url,
        "ignore_trigger": ignore_trigger,
        "n_frames": vlm_n_frames,
        "max_retries": vlm_max_retries,
        "prompts": {name: str(expanded(path).absolute()) for name, path in name_value_pairs(prompts, "prompts")},
    }
    scoring = {"metrics": _names(metrics), "constants": dict(name_value_pairs(constant, "constant")), "variant": variant or None}
    extraction: dict[str, object] = {"backends": dict(name_value_pairs(backend, "backend")), "allow_download": allow_download}
    if metrics and not vlm_judge:
        extraction["always"] = []  # only what the named metrics read: nobody judges, and there are no forensics here
    curation = {
        "sources": [_source(source, layout, gt_root, phases, pattern) | _given(poses, poses_format, masks, depth, files)],
        "filters": _filters(models, subsets, conditions, sample_ids, limit),
    }
    sections = {"curation": curation, "extraction": extraction, "scoring": scoring, "judging": judging}
    params = _params(output, workers, {"profile": profile, **sections}, [f"device={device}", *(set_ or [])])
    with using_judge_key(vlm_api_key):
        tables = api.evaluate(params, progress_bar=progress_bar, quiet=quiet, log_file=log_file)
    if not quiet:
        summary = coverage_table(tables["gated"])[["metric", "variant", "scored", "items", "mean", "backend", "missing because"]]
        print(summary.to_string(index=False, float_format=lambda value: f"{value:.4f}"))
        unavailable = tables["gated"].loc[tables["gated"]["reason"] == Reason.BACKEND_UNAVAILABLE]
        for detail in sorted({*unavailable["detail"]} - {""}):
            print(f"{Reason.BACKEND_UNAVAILABLE}: {one_line(detail)}")
        print(f"written to {shown(params.paths.root)}")


def validate(
    source: Source,
    layout: Layout = "auto",
    metrics: Csv = None,
    gt_root: GtRoot = "",
    phases: Phases = "",
    pattern: Pattern = "",
    poses: Poses = "",
    poses_format: PosesFormat = "",
    masks: Masks = "",
    depth: Depth = "",
    files: Files = None,
    models: Csv = None,
    subsets: Csv = None,
    conditions: Csv = None,
    sample_ids: Csv = None,
    limit: Limit = 0,
    workers: Workers = 0,
) -> None:
    """Check a dataset and print every violation. Each has path, field, problem and remedy; exit 1 if there is one."""
    from lookback.curation.contract import violations_and_warnings

    filters = _filters(models, subsets, conditions, sample_ids, limit)
    sources = [_source(source, layout, gt_root, phases, pattern) | _given(poses, poses_format, masks, depth, files)]
    params = _params("validate", workers, {"curation": {"sources": sources, "filters": filters}})
    dataset, chosen = params.curation.sources[0], params.curation.filters
    violations, warnings = violations_and_warnings(dataset, _names(metrics), chosen, params.workers)
    for violation in violations:
        print(violation.line)
    for warning in warnings:
        print(f"warning: {warning.line}")
    if violations:
        raise ContractError(f"{len(violations)} violation(s) in {source}")
    print(f"{source}: no violation{', ' + counted(len(warnings), 'warning') if warnings else ''}")


def prepare(
    source: Source,
    producer: Annotated[str, typer.Option(help="The role to extract: one of {roles}, gt_pose.")],
    output: Output,
    layout: Layout = "auto",
    workers: Workers = 0,
    backend: Backend = None,
    allow_download: AllowDownload = False,
) -> None:
    """Extract the artifacts of one role ahead of `eval`. They go into the run's store, where `eval` and notebooks find them."""
    from lookback import api, stages
    from lookback.extraction.figures import coverage_table
    from lookback.extraction.run import with_requirements
    from lookback.pipeline.lock import run_lock
    from lookback.registry import BACKENDS

    roles = {spec.role for spec in BACKENDS} | {"gt_pose"}
    wanted = _names([producer])
    unknown = [role for role in wanted if role not in roles]
    if unknown:
        raise UsageError(f"There is no role '{unknown[0]}'; roles: {', '.join(sorted(roles))}")
    extraction = {
        "roles": sorted(with_requirements(set(wanted))),
        "backends": dict(name_value_pairs(backend, "backend")),
        "allow_download": allow_download,
    }
    params = _params(output, workers, {"curation": {"sources": [_source(source, layout, "", "", "")]}, "extraction": extraction})
    api.claim_output(params)
    with run_lock(params.paths.root):
        stages.curation(params)
        print(coverage_table(stages.extraction(params)["artifacts"]).to_string(index=False))


def _params(output: str, workers: int, sections: dict[str, object], overrides: Sequence[str] = ()) -> RunParams:
    from lookback.api import run_params

    return run_params(output, workers, sections, overrides)


def run_params(
    output: str,
    workers: int,
    source: str,
    layout: str,
    gt_root: str,
    phases: str,
    pattern: str,
    metrics: list[str] | None,
    backend: list[str] | None,
    overrides: Sequence[str] = (),
) -> RunParams:
    """The parameters of a run over one dataset without a judge."""
    extraction: dict[str, object] = {"backends": dict(name_value_pairs(backend, "backend"))}
    if metrics:
        extraction["always"] = []
    return _params(
        output,
        workers,
        {
            "curation": {"sources": [_source(source, layout, gt_root, phases, pattern)]},
            "extraction": extraction,
            "scoring": {"metrics": _names(metrics)},
        },
        overrides,
    )


def _filters(
    models: list[str] | None,
    subsets: list[str] | None,
    conditions: list[str] | None,
    sample_ids: list[str] | None,
    limit: int,
) -> dict[str, object]:
    wanted = {"models": models, "subsets": subsets, "conditions": conditions, "sample_ids": sample_ids}
    return {**{name: _names(texts) for name, texts in wanted.items()}, "limit": limit or None}


def _given(poses: str, poses_format: str, masks: str, depth: str, files: list[str] | None) -> dict[str, object]:
    """The patterns of files made elsewhere."""
    named = {"masks": masks, "depth": depth, **dict(name_value_pairs(files, "files"))}
    patterns = {role: pattern for role, pattern in named.items() if pattern}
    return {"poses": poses or None, "poses_format": poses_format or None, "files": patterns}


def _source(root: str, layout: str, gt_root: str, phases: str, pattern: str) -> dict[str, object]:
    folders = {name: str(expanded(path).absolute()) if path else None for name, path in (("gt_root", gt_root), ("phases", phases))}
    return {"root": str(expanded(root).absolute()), "layout": layout, **folders, "pattern": pattern or None}


def _names(given: list[str] | None) -> list[str]:
    return [name.strip() for text in given or [] for name in text.split(",") if name.strip()]


def name_value_pairs(given: list[str] | None, what: str) -> list[tuple[str, str]]:
    pairs = []
    for text in given or []:
        name, separator, value = text.partition("=")
        if not separator or not value:
            raise UsageError(f"--{what} {brief(text)} is not name=value")
        pairs.append((name.strip(), value.strip()))
    return pairs

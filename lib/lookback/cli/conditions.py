"""`lookback prompts`, `conditions` and `generate`: from a benchmark's records to a model's input, and to its videos."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from lookback.cli.choices import Commands, WholeHelpGroup
from lookback.errors import ContractError, UsageError
from lookback.names import one_line
from lookback.paths import expanded, shown

Records = Annotated[str, typer.Argument(help="The folder of the benchmark's records, for example Natural-25.")]
Benchmark = Annotated[str, typer.Option(help="The benchmark of the records; found by its files when left out.")]
InterfaceFile = Annotated[str, typer.Option("--interface", help="A YAML file, or a name from `lookback conditions interfaces`.")]
Cameras = Annotated[str, typer.Option(help="Comma-separated presets or actions; the records' own when left out.")]
Folder = Annotated[str, typer.Argument(help="A folder that `lookback conditions make` wrote.")]
Model = Annotated[str, typer.Option(help="Only this model's conditions.")]
Limit = Annotated[int, typer.Option(min=0, help="At most this many; 0 means all.")]
SHOWN = 20  # problems that are printed; the count is always printed


def register(app: typer.Typer) -> None:
    conditions = Commands(
        help="From records to a model's input, and what came back.",
        no_args_is_help=True,
        rich_markup_mode=None,
        cls=WholeHelpGroup,
    )
    for command in (make, check, interfaces, plan, phases):
        conditions.command()(command)
    app.add_typer(conditions, name="conditions")
    app.command()(prompts)
    app.command()(generate)


def prompts(
    source: Records,
    interface: InterfaceFile = "text-image",
    benchmark: Benchmark = "",
    cameras: Cameras = "",
    limit: Limit = 0,
) -> None:
    """Print the prompt of every record as the model would get it: one JSON line each."""
    from lookback.conditions.build import prompt_for, record_files
    from lookback.conditions.interface import read_interface

    chosen = read_interface(interface)
    files = record_files(_benchmark(benchmark, source))
    refused, printed = [], 0
    for record in files.read(expanded(source), chosen, _split(cameras)):
        if isinstance(record, Exception):
            refused.append(one_line(str(record)))
        elif not limit or printed < limit:
            printed += 1
            print(json.dumps({"clip_id": record.clip_id, "prompt": prompt_for(record, chosen)}, ensure_ascii=False))
    _report(refused, "record(s) cannot be used")


def make(
    source: Records,
    output: Annotated[str, typer.Option(help="The folder to write; it becomes the dataset of the generated videos.")],
    interface: InterfaceFile,
    benchmark: Benchmark = "",
    cameras: Cameras = "",
    limit: Limit = 0,
    seed: Annotated[int, typer.Option(help="The first seed; every record gets the next one.")] = 0,
) -> None:
    """Write what a model takes, for every record: prompt, first frame, camera path or actions, and the requested condition."""
    from lookback.conditions import build_conditions, read_interface

    chosen = read_interface(interface)
    name = _benchmark(benchmark, source)
    built = build_conditions(name, expanded(source), chosen, expanded(output), _split(cameras), limit, seed)
    print(f"{built.written} conditions of {name} for {chosen.model} ({chosen.takes}) in {shown(built.folder)}")
    if built.missing_images:
        first = shown(built.missing_images[0])
        print(f"{len(built.missing_images)} first frames are not there yet, for example {first}; put them there before `generate`")
    if built.written:
        asked = "{prompt} {image} {path} {output}"
        print(f"next: lookback generate {shown(built.folder)} --command 'python make.py {asked}'")
    _report(built.refused, "record(s) cannot be used")


def check(folder: Folder, model: Model = "") -> None:
    """Compare the videos of a folder with what was asked: present, readable, frames, rate, size. Exit 1 if one differs.

    Also writes the dataset's documents (such as WRBench's manifest) over the videos that are there, whoever made them.
    """
    from lookback.conditions.check import check_delivery

    found = check_delivery(expanded(folder), model)
    print(f"{found.there} of {found.asked} videos are there")
    _report(found.problems, "problem(s)")


def plan(
    plan: Annotated[
        str, typer.Argument(help="A plan (YAML) of your own scenes: where the camera goes, when the subject is hidden.")
    ],
    output: Annotated[str, typer.Option(help="The folder to write.")],
) -> None:
    """Write a plan of your own scenes as the benchmark's files: MIND's actions and mirrored paths, MemoBench's paths and phases."""
    from lookback.conditions.plans import read_plan, write_plan

    written, refused = write_plan(read_plan(expanded(plan)), expanded(plan).parent, expanded(output))
    for line in written:
        print(line)
    print(f"{len(written)} scenes written to {shown(expanded(output))}")
    _report(refused, "scene(s) cannot be written")


def phases(
    video: Annotated[str, typer.Argument(help="The ground-truth video.")],
    box: Annotated[str, typer.Option(help="The subject in frame 0: centre x, centre y, width, height, in pixels.")],
    output: Annotated[str, typer.Option(help="The phase sheet (CSV) to write or to add a row to.")],
    clip: Annotated[str, typer.Option(help="The clip's name in the sheet; the video's own when left out.")] = "",
    backend: Annotated[str, typer.Option(help="The backend of the role masks.")] = "",
) -> None:
    """Find when the subject leaves and returns in a video, and write frames around both moments to confirm by eye."""
    from lookback.conditions.phase_sheet import find_phases

    found = find_phases(expanded(video), box, expanded(output), clip or expanded(video).stem, backend)
    print(f"{found.clip}: leaves at frame {found.d_start}, returns at frame {found.r_start} of {found.n_frames}")
    print(f"look at {shown(found.picture)} before you use {shown(expanded(output))}")


def interfaces() -> None:
    """List the interfaces that come with the package; copy one and change it for your model."""
    from lookback.conditions.interface import examples, read_interface

    for name in examples():
        known = read_interface(name)
        print(f"{name:20} {known.takes:20} {known.frames} frames, {known.fps:g} fps, {known.size[0]}x{known.size[1]}, {known.axes}")


def generate(
    folder: Folder,
    command: Annotated[
        str,
        typer.Option(
            help="Your model's command. Placeholders: {prompt} {image} {path} {actions} {camera} {frames} {fps} {width} {height} "
            "{seed} {clip_id} {record} {output}; {output} is required."
        ),
    ],
    model: Model = "",
    workers: Annotated[int, typer.Option(min=1, help="Commands at a time.")] = 1,
    timeout_s: Annotated[float, typer.Option(min=0.1, help="Seconds after which a command is ended.")] = 3600.0,
    limit: Limit = 0,
) -> None:
    """Run your model's command for every condition. Videos that are there are not made again. Exit 1 if one failed."""
    from lookback.conditions.generate import LOG
    from lookback.conditions.generate import generate as run

    attempts = run(expanded(folder), command, model, workers, timeout_s, limit)
    failed = [one_line(f"{each.model}/{each.clip_id}: {each.problem}") for each in attempts if not each.ok]
    seconds = sum(each.seconds for each in attempts)
    print(f"{len(attempts) - len(failed)} videos made, {len(failed)} failed, {seconds:.1f} s; see {shown(expanded(folder) / LOG)}")
    _report(failed, "video(s) failed; run the same command again to try only those")


def _report(problems: list[str], what: str) -> None:
    for line in problems[:SHOWN]:
        print(line)
    if len(problems) > SHOWN:
        print(f"... and {len(problems) - SHOWN} more")
    if problems:
        raise ContractError(f"{len(problems)} {what}")


def _split(text: str) -> list[str]:
    """Names divided by commas; a camera script holds commas of its own and is given alone."""
    return [text] if "@" in text else [name.strip() for name in text.split(",") if name.strip()]


def _benchmark(name: str, source: str) -> str:
    """The benchmark that is named, or the one whose records lie in the folder."""
    from lookback.registry import BENCHMARKS

    if name:
        return BENCHMARKS.get(name).name
    if not expanded(source).exists():
        raise UsageError(f"{source}: there is no such folder of records")
    found = [each.name for each in BENCHMARKS if (files := each.records()) is not None and files.holds(expanded(source))]
    if len(found) != 1:
        which = f"fits {', '.join(found)}" if found else "holds no benchmark's records"
        raise UsageError(f"{source} {which}; name one with --benchmark")
    return found[0]

"""Load `params/<run>.yaml` and apply `key=value` overrides. An error names the file, the key, the bad value and the nearest key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationError, ValidationInfo, model_validator

from lookback.devices import Devices, suited_workers
from lookback.errors import ParameterError, brief, hint
from lookback.hiding import KEY_VARIABLES, find_key, hide, hide_all, is_secret
from lookback.params.stages import Agreement, Audit, Curation, Extraction, Forensics, Judging, Ray, Report, Scoring, Section
from lookback.paths import RunPaths, expanded, needed_project, resolve, shown
from lookback.profiles import ProfileName
from lookback.yaml_files import parse_yaml

PLAIN = ("str", "int", "float", "bool")
RESULTS = "results.json"  # the file of a finished run that holds its parameters and scores (docs/results.md)


def _suited(workers: int, info: ValidationInfo) -> int:
    """0 means as many as suit the machine and the devices of the run."""
    return workers or suited_workers(info.data.get("device", "cpu"))


class RunParams(Section):
    """Everything a run depends on."""

    run: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    description: str = ""
    output: str | None = None  # a folder other than outputs/<run>
    seed: int = Field(default=7, ge=0)
    executor: Literal["local", "ray"] = "local"  # processes on this machine, or Ray actors; both give the same tables
    ray: Ray = Ray()
    profile: ProfileName = "embedded"  # whose models measure: the package's small ones, the paper's, or the best that is installed
    device: Devices = "auto"
    workers: Annotated[int, AfterValidator(_suited)] = Field(default=0, ge=0, le=256, validate_default=True)
    curation: Curation = Curation()
    extraction: Extraction = Extraction()
    scoring: Scoring = Scoring()
    judging: Judging = Judging()
    agreement: Agreement = Agreement()
    forensics: Forensics = Forensics()
    audit: Audit = Audit()
    report: Report = Report()

    @model_validator(mode="before")
    @classmethod
    def _older_word(cls, values: Any) -> Any:
        """Files and finished runs from before profiles say `extraction.prefer`: `paper` meant what `auto` means now."""
        asked = values.get("extraction") if isinstance(values, dict) else None
        if not isinstance(asked, dict) or "prefer" not in asked:
            return values
        profile = {"profile": "auto"} if asked["prefer"] == "paper" else {}
        return {**profile, **values, "extraction": {name: value for name, value in asked.items() if name != "prefer"}}

    @property
    def paths(self) -> RunPaths:
        return RunPaths(resolve(self.output)) if self.output else RunPaths.of(self.run)

    def changed(self, **sections: dict[str, Any]) -> RunParams:
        """A copy with other values for some keys: `params.changed(scoring={"metrics": ["mind.lcm"]})`."""
        return self.model_copy(update={name: getattr(self, name).model_copy(update=keys) for name, keys in sections.items()})


def load_run(run: str = "demo", overrides: list[str] | tuple[str, ...] = ()) -> RunParams:
    """The parameters of a run, given by name (`demo`: params/demo.yaml), by a YAML file, or by the folder of a finished run."""
    if not isinstance(run, str):
        raise ParameterError(f'`run` is the name of a run, such as "demo", not {brief(run)}')
    if not isinstance(overrides, list | tuple) or not all(isinstance(override, str) for override in overrides):
        raise ParameterError(f'`overrides` is a list of texts, such as ["seed=8"], not {brief(overrides)}')
    given = expanded(run)
    if (given / RESULTS).is_file():
        return _finished(given, overrides)
    if "/" in run and not is_file_name(run):
        raise ParameterError(f"{shown(given)} is no folder of a finished run: it has no {RESULTS}")
    path = given if is_file_name(run) else needed_project() / "params" / f"{run}.yaml"
    if not path.is_file():
        known = sorted(file.stem for file in resolve("params").glob("*.yaml") if _is_run(file))
        raise ParameterError(f"There is no parameter file {path}; {hint(run, known, 'runs here')}")
    try:
        values = parse_yaml(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise ParameterError(f"{path} cannot be read ({error.strerror}); check its permissions") from None
    except ValueError as error:  # also bad UTF-8
        raise ParameterError(f"{path.name} is not valid YAML: {_one_line(error)}") from None
    if not isinstance(values, dict):
        raise ParameterError(f"{path.name}: expected a mapping of parameters, found {type(values).__name__}")
    values = {"run": path.stem, **values}
    return validate(apply_overrides(values, overrides), path.name)


def _finished(folder: Path, overrides: list[str] | tuple[str, ...]) -> RunParams:
    """The parameters that made a finished run. Its folder may have been moved since."""
    where = str(folder / RESULTS)
    try:
        values = json.loads((folder / RESULTS).read_text(encoding="utf-8"))["provenance"]["parameters"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ParameterError(f"{where} does not hold the parameters of a run ({_one_line(error)}); evaluate it again") from None
    values = hide_all(values)  # runs of older versions hold more
    return validate(apply_overrides({**values, "output": str(folder.absolute())}, overrides), where)


def is_file_name(run: str) -> bool:
    """Whether a run is given as a file rather than by its name."""
    return run.endswith((".yaml", ".yml"))


def validate(values: dict[str, Any], where: str) -> RunParams:
    """Parameters from plain values; a ParameterError lists every problem on its own line."""
    if misplaced := find_key(values):
        raise ParameterError(f"{where}: {_no_keys_here(misplaced)}")
    try:
        return RunParams.model_validate(values)
    except ValidationError as error:
        raise ParameterError("\n".join(dict.fromkeys(_sentence(where, problem) for problem in error.errors()))) from None


def apply_overrides(values: dict[str, Any], overrides: list[str] | tuple[str, ...]) -> dict[str, Any]:
    """The nested values with `section.key=value` overrides applied; the value is read as YAML."""
    for override in overrides:
        key, separator, text = override.partition("=")
        if not separator:
            raise ParameterError(f"Override {brief(override)} is not key=value (for example seed=8 or report.title=Trial)")
        *sections, name = key.strip().split(".")
        target = values = {**values}
        for section in sections:
            inner = target.get(section)
            target[section] = {**inner} if isinstance(inner, dict) else {}
            target = target[section]
        try:
            target[name] = parse_yaml(text)
        except ValueError as error:
            raise ParameterError(f"Override of '{hide(key)}': the value is not valid YAML: {_one_line(error)}") from None
    return values


def _is_run(path: Path) -> bool:
    try:
        return re.search(r"^(curation|judging|scoring|extraction|report):", path.read_text("utf-8"), re.MULTILINE) is not None
    except (OSError, ValueError):  # not a file of this project
        return False


def _sentence(where: str, problem: Mapping[str, Any]) -> str:
    value = problem.get("input")
    place = ".".join(str(part) for part in problem["loc"])
    if is_secret(place, value):
        return f"{where}: {_no_keys_here(place)}"
    if problem["loc"][-1] in PLAIN:  # pydantic reports one problem for each allowed type
        key = ".".join(str(part) for part in problem["loc"][:-1])
        return f"{where}: '{key}' has the bad value {brief(value)}: a text, a number, true or false is expected"
    key = place
    if problem["type"] == "extra_forbidden":
        return f"{where}: unknown key '{key}' (value {brief(value)}); {key_hint(RunParams, problem['loc'])}"
    if problem["type"] == "missing":
        return f"{where}: key '{key}' is missing"
    if problem["type"] == "model_type":
        first = next(iter(_section(RunParams, problem["loc"]).model_fields))
        return f"{where}: '{key}' has the bad value {brief(value)}: it is a section of keys, such as {key}.{first}"
    said = problem["msg"].removeprefix("Value error, ")
    return f"{where}: '{key}' has the bad value {brief(value)}: {said[0].lower()}{said[1:]}"


def _no_keys_here(place: str) -> str:
    return (
        f"'{hide(place)}' looks like a key or password (its value is not shown). Keys come from the environment alone "
        f"(${KEY_VARIABLES[0]}), and addresses with a password, too ($LOOKBACK_JUDGE_URL): take it out of the parameters"
    )


def key_hint(model: type[BaseModel], place: tuple[int | str, ...]) -> str:
    """What may stand at this place of the model instead of an unknown key: the most similar key, or all of its section."""
    valid = sorted(_section(model, place[:-1]).model_fields)
    near = get_close_matches(str(place[-1]), valid, n=1)
    return f"did you mean '{near[0]}'?" if near else f"valid keys: {', '.join(valid)}"


def _section(model: type[BaseModel], place: tuple[int | str, ...]) -> type[BaseModel]:
    for part in place:
        field = model.model_fields.get(str(part))  # none for a number in a list, and for a name in a mapping
        model = next(_models_in(field.annotation), model) if field else model
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The sections that a field of this type holds, by itself or in a list or mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from _models_in(part)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())

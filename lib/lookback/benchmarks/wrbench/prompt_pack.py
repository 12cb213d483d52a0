"""The released program's own words for WRBench's questions, read from a user's checkout (src/wrbench/eval/scoring).

The Python files are parsed as data: only texts that stand in them as literals are taken, nothing is executed. The text of a
scoring probe is a whole prompt with two blanks, `{{task}}` (the task's description) and `{{sampling}}` (how the frames were
chosen). What the program calls P25 asks about the visible dimensions, P22 about the re-observed ones.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lookback.errors import ContractError

CATALOGUE, VISIBLE, RETURNED = "prompts_v2_probe.py", "run_qwen35_p25_d3d4_slot_parse_overlay.py", "run_qwen35_p22_overlay.py"
EVIDENCE = "run_local_qwen3vl_video_evidence.py"
MAX_BYTES = 1_000_000
# released id -> ours
PROBES = {
    "D3_POSITION_RELATION": "D3_position",
    "D3_STATIC_ANCHORS": "D3_layout",
    "D3_NEG_WRONG_SPATIAL": "D3_contradiction",
    "D4_ACTION_STATE": "D4_action",
    "D4_TEMPORAL_PROGRESS": "D4_progress",
    "D4_NEG_ABSENT_FREEZE": "D4_contradiction",
    "D5_GATE_HIDDEN": "D5_hidden",
    "D5_GATE_RETURN": "D5_returned",
    "D5_GATE_UNIDENTIFIABLE": "D5_unidentifiable",
    "D5_RETURN_POSITION": "D5_position",
    "D5_NEG_VANISH_RESET": "D5_contradiction",
    "D6_GATE_HIDDEN": "D6_hidden",
    "D6_GATE_RETURN": "D6_returned",
    "D6_GATE_UNIDENTIFIABLE": "D6_unidentifiable",
    "D6_HIDDEN_PROGRESS": "D6_endpoint",
    "D6_NEG_FREEZE_RESET": "D6_contradiction",
}
Fill = Callable[[str], str | None]  # the source of an expression in an f-string -> the text that stands for it


def read_released_pack(pack: str, path: Path) -> dict[str, Any] | None:
    """The words of one pack (`judging.prompts`) in the form of a YAML pack; None for a file that is not the released program's."""
    if pack == "wrbench_probes" and path.name == CATALOGUE:
        return {"source": f"WRBench's released {CATALOGUE}", "questions": read_released_probes(path)}
    if pack == "wrbench_judgeability" and path.name == EVIDENCE:
        return {"source": f"WRBench's released {EVIDENCE}", "prompts": read_released_gate(path)}
    return None


def read_released_probes(path: Path) -> dict[str, str]:
    """Our probe id -> the released text: whole prompts for the ten scoring probes, bare questions for the six of the gate.

    `path` is prompts_v2_probe.py; the two overlay files that the released scoring script uses must lie beside it.
    """
    catalogue, visible, returned = (_parse(path.with_name(name)) for name in (CATALOGUE, VISIBLE, RETURNED))
    probes = _probes(catalogue, path)
    spatial = _literal(catalogue, "P6_QUESTION_OVERRIDES", path)  # the re-observed questions of the mode that P22 builds on
    asked = _literal(visible, "P25_D3D4_QUESTIONS", path)
    texts = {}
    for name, probe in probes.items():
        question = spatial.get(name, probe["question"]) if probe["dimension"] == "spatial_reasoning" else probe["question"]
        if probe["role"] != "score":
            texts[PROBES[name]] = question
        elif name in asked:
            texts[PROBES[name]] = _whole(visible, "_native_d3d4_prompt", _visible_fill(visible, probe, asked[name]), path)
        else:
            texts[PROBES[name]] = _whole(returned, "build_runtime_v2_probe_prompt", _returned_fill(returned, probe, question), path)
    if set(texts) != set(PROBES.values()):
        missing = ", ".join(sorted(set(PROBES.values()) - set(texts)))
        raise ContractError(f"{path}: no text for {missing}; take the folder from WRBench's release again")
    return texts


def read_released_gate(path: Path) -> dict[str, dict[str, str]]:
    """The released prompts of the re-observation gate and of the second question to clips without a return."""
    module = _parse(path)
    templates = {"wrbench_judgeability": "PROMPT_TEMPLATE", "wrbench_rescue": "GUARDED_PROMPT_TEMPLATE"}
    blanks = {"world_state_prompt": "{{prompt}}", "video_id": "{{clip}}"}
    return {name: {"system": "", "user": _literal(module, constant, path).format(**blanks)} for name, constant in templates.items()}


def _parse(path: Path) -> ast.Module:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ContractError(f"{path} is larger than {MAX_BYTES} bytes; name WRBench's released file")
        return ast.parse(path.read_text(encoding="utf-8"), filename=path.name)
    except (OSError, UnicodeDecodeError):
        raise ContractError(f"{path} cannot be read; name {path.name} in the folder of WRBench's release") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ContractError(f"{path} is no Python file of WRBench's release") from None


def _value(node: ast.expr) -> Any:
    """The value of a literal."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _literal(module: ast.Module, name: str, path: Path) -> Any:
    """A constant of the module that is written as a literal."""
    for node in (node for node in module.body if isinstance(node, ast.Assign | ast.AnnAssign)):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        value = _value(node.value) if node.value and isinstance(target, ast.Name) and target.id == name else None
        if value is not None:
            return value
    raise ContractError(f"{path.parent}: WRBench's release has a literal {name} here; take its folder from the release again")


def _probes(module: ast.Module, path: Path) -> dict[str, dict[str, str]]:
    """The catalogue: released id -> its fields, from the literal arguments of `RuntimeV2Probe(...)`."""
    found: dict[str, dict[str, str]] = {}
    for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id == "RuntimeV2Probe":
            fields = {word.arg: _value(word.value) for word in call.keywords if word.arg}
            if fields.get("probe_id") in PROBES and all(isinstance(fields.get(key), str) for key in ("dimension", "question")):
                found[fields["probe_id"]] = fields
    if not found:
        raise ContractError(f"{path} holds no probes of WRBench's release; name its {CATALOGUE}")
    return found


def _function(module: ast.Module, name: str) -> ast.FunctionDef | None:
    return next((node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _whole(module: ast.Module, function: str, fill: Fill, path: Path) -> str:
    """The text that a function returns as one f-string, its expressions filled in."""
    definition = _function(module, function)
    returns = [node.value for node in ast.walk(definition) if isinstance(node, ast.Return)] if definition else []
    for value in returns:
        if isinstance(value, ast.JoinedStr) and (text := _joined(value, fill)) is not None:
            return text.strip()
    raise ContractError(f"{path.parent}: {function} of WRBench's release does not return a text that can be read as data")


def _joined(node: ast.JoinedStr, fill: Fill) -> str | None:
    """The text of an f-string; None if it holds an expression that is not known."""
    parts: list[str] = []
    for part in node.values:
        text = part.value if isinstance(part, ast.Constant) else fill(ast.unparse(getattr(part, "value", part)))
        if not isinstance(text, str):
            return None
        parts.append(text)
    return "".join(parts)


def _branches(module: ast.Module, function: str) -> list[str]:
    """The texts that a function returns as literals, in the order of the file."""
    definition = _function(module, function)
    returns = [node for node in ast.walk(definition) if isinstance(node, ast.Return) and node.value] if definition else []
    texts = [_value(node.value) for node in sorted(returns, key=lambda node: node.lineno) if node.value]
    return [text for text in texts if isinstance(text, str)]


def _pick(texts: list[str], first: bool) -> str | None:
    """Both rule functions have two branches; the first one is for spatial dimensions, or for negative probes."""
    return None if len(texts) != 2 else texts[0 if first else 1]


def _visible_fill(module: ast.Module, probe: Mapping[str, str], question: str) -> Fill:
    known = {
        "world_state_prompt": "{{task}}",
        "question": question,
        "_dimension_guidance(probe)": _pick(_branches(module, "_dimension_guidance"), probe["dimension"] == "spatial_fidelity"),
        "_answer_rule(probe)": _pick(_branches(module, "_answer_rule"), probe["polarity"] == "negative"),
    }
    return lambda source: "{{sampling}}" if source.startswith("_sampling_text(") else known.get(source)


def _returned_fill(module: ast.Module, probe: Mapping[str, str], question: str) -> Fill:
    known = {
        "world_state_prompt": "{{task}}",
        "extra_context_block": "",  # the released scoring script gives no further context
        "_native_score_rule(probe)": _pick(_branches(module, "_native_score_rule"), probe["dimension"] == "spatial_reasoning"),
    }

    def fill(source: str) -> str | None:
        if source.startswith("question_for_probe("):
            return question
        return "{{sampling}}" if source.startswith("_sampling_text(") else known.get(source)

    return fill

"""Read YAML: plain values only. Documents that would take too long to read are refused quickly. All YAML is read here."""

from __future__ import annotations

from typing import Any

import yaml

MAX_CHARACTERS = 1 << 20
MAX_DEPTH = 100  # PyYAML's time grows with the square of the depth
MAX_VALUES = 50_000  # aliases (`*name`, `<<: *name`) count as what they stand for; PyYAML reads about 10,000 a second
LONGEST_NUMBER = 100  # characters; 1:59:59:... is a number too, and its reading time grows with the square of its length
SHOWN = 200  # characters of PyYAML's message that are shown
TEXT_TAG = "tag:yaml.org,2002:str"


def parse_yaml(text: str) -> Any:
    """The plain values of the document. A ValueError has a message of one line, without any text of the document."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"it is longer than {MAX_CHARACTERS} characters")
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(place + " ".join(str(error.problem or error.context).split())[:SHOWN]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: an impossible date, too many digits
        raise ValueError(" ".join(str(error).split())[:SHOWN]) from None


class _Loader(yaml.SafeLoader):
    """Counts the values before it builds any, because a few nested aliases can stand for billions."""

    def __init__(self, text: str):
        super().__init__(text)
        self._depth = self._values = 0
        self._sizes: dict[yaml.Node | None, int] = {}  # of finished nodes

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event, before = self.peek_event(), self._values
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _refusal(event, f"it nests more than {MAX_DEPTH} levels deep")
        node = super().compose_node(parent, index)
        self._depth -= 1
        if not isinstance(event, yaml.AliasEvent):
            self._values += 1
            self._sizes[node] = self._values - before
        elif node in self._sizes:
            self._values += self._sizes[node]
        else:
            raise _refusal(event, "a value contains itself")
        if self._values > MAX_VALUES:
            raise _refusal(event, f"it holds more than {MAX_VALUES} values, aliases counted in full")
        return node

    def compose_scalar_node(self, anchor: dict[str, Any]) -> yaml.ScalarNode:
        event, node = self.peek_event(), super().compose_scalar_node(anchor)
        if node.tag != TEXT_TAG and len(node.value) > LONGEST_NUMBER:
            raise _refusal(event, "a number or date of too many digits")
        return node


def _refusal(event: yaml.Event, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)  # type: ignore[arg-type]

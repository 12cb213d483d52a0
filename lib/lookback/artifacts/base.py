"""The base of all artifacts: typed arrays and facts, how they are stored, and the checks when they are read.

A class declares its arrays and facts once, as annotated fields. Storing, reading, checking and the page `docs/artifacts.md` use
this declaration.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, ClassVar, Self, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue, TypeAdapter, ValidationError

from lookback.errors import ContractError, hint
from lookback.store import Entry


@dataclass(frozen=True)
class Array:
    """Marks a field that is stored as an array. The same letter in `shape` means the same length in all arrays of an artifact."""

    shape: str  # "N 4 4"
    meaning: str
    name: str = ""  # the name in the file, if it is not the name of the field


@dataclass(frozen=True)
class Fact:
    """Marks a field that is stored in the record."""

    meaning: str


@dataclass(frozen=True)
class ArrayField:
    """A declared array: its field, its name in the file, its number type and its shape."""

    field: str
    name: str
    dtype: type[np.generic]  # np.floating: any float
    shape: str
    meaning: str
    optional: bool

    @property
    def exact(self) -> bool:
        return self.dtype is not np.floating

    @property
    def dtype_name(self) -> str:
        return np.dtype(self.dtype).name if self.exact else "float"

    def accepts(self, dtype: np.dtype[np.generic]) -> bool:
        """Whether the number type fits. Another width of the same kind is accepted; floats in place of integers are not."""
        return np.can_cast(dtype, self.dtype, "same_kind") if self.exact else np.issubdtype(dtype, self.dtype)

    def fits(self, shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
        """Whether the shape fits the declared one and the lengths of the letters so far, which `sizes` collects."""
        axes = self.shape.split()
        if len(axes) != len(shape):
            return False
        expected = [int(axis) if axis.isdigit() else sizes.setdefault(axis, size) for axis, size in zip(axes, shape, strict=True)]
        return tuple(expected) == shape


@dataclass(frozen=True)
class FactField:
    """A declared fact of the record."""

    field: str
    type: type
    adapter: TypeAdapter[object]
    meaning: str
    required: bool


@dataclass(frozen=True)
class Contract:
    """The arrays and facts that a class declares, in their order."""

    arrays: tuple[ArrayField, ...]
    facts: tuple[FactField, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Artifact:
    """The result of one role for one clip. `facts` holds what a backend adds to the declared facts.

    Wrong contents raise a ValueError when a backend makes an artifact, and a ContractError when it is read from the store.
    """

    role: ClassVar[str]
    facts: Mapping[str, JsonValue] = field(default_factory=dict)

    def __init_subclass__(cls) -> None:
        if "role" in cls.__dict__:
            _KINDS[cls.role] = cls

    def __post_init__(self) -> None:
        sizes: dict[str, int] = {}
        for declared in self.contract().arrays:
            value = getattr(self, declared.field)
            if value is not None:
                object.__setattr__(self, declared.field, self._checked(declared, np.asarray(value), sizes))
        if problem := self.problem():
            raise ValueError(problem)

    @staticmethod
    def _checked(declared: ArrayField, array: NDArray[np.generic], sizes: dict[str, int]) -> NDArray[np.generic]:
        if not declared.accepts(array.dtype):
            raise ValueError(f"the array '{declared.name}' holds {array.dtype}, not {declared.dtype_name}")
        if not declared.fits(array.shape, sizes):
            known = ", ".join(f"{letter} = {size}" for letter, size in sizes.items())
            raise ValueError(f"the array '{declared.name}' has the shape {array.shape}, not '{declared.shape}' with {known}")
        return array.astype(declared.dtype, copy=False) if declared.exact else array

    def problem(self) -> str:
        """What is wrong apart from shapes and number types, in a few words; empty when nothing is wrong."""
        return ""

    @classmethod
    def broken(cls, why: str) -> ContractError:
        return ContractError(f"The artifact of the role '{cls.role}' cannot be used: {why}; run the extraction stage again")

    @property
    def n_frames(self) -> int:
        """The number of frames with a row of their own; 0 for roles whose rows are faces or crops."""
        return 0

    def pack(self) -> Entry:
        """The arrays and the record to store."""
        return Entry(self.stored_arrays(), self.record)

    def stored_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The arrays by their name in the file."""
        arrays = {declared.name: getattr(self, declared.field) for declared in self.contract().arrays}
        return {name: array for name, array in arrays.items() if array is not None}

    @property
    def record(self) -> dict[str, JsonValue]:
        """The declared facts and those that the backend added, as plain values."""
        declared = {each.field: each.adapter.dump_python(getattr(self, each.field), mode="json") for each in self.contract().facts}
        return {**declared, **self.facts}

    @classmethod
    def unpack(cls, entry: Entry) -> Self:
        """The artifact of an entry of the store; a ContractError when the entry is damaged or belongs to another role."""
        stored, declared = dict(entry.arrays), cls.contract().arrays
        values: dict[str, object] = {each.field: stored.pop(each.name) for each in declared if each.name in stored}
        if missing := [each.name for each in declared if each.field not in values and not each.optional]:
            raise cls.broken(f"it has no array '{missing[0]}'")
        if stored:
            raise cls.broken(f"it has an array '{min(stored)}' that this role does not know")
        facts = dict(entry.record)
        for fact in cls.contract().facts:
            if fact.field in facts:
                values[fact.field] = cls._read_fact(fact, facts.pop(fact.field))
            elif fact.required:
                raise cls.broken(f"its record has no '{fact.field}'")
        build: Callable[..., Self] = cls
        try:
            return build(facts=facts, **values)
        except ValueError as error:
            raise cls.broken(str(error)) from None

    @classmethod
    def _read_fact(cls, fact: FactField, value: JsonValue) -> object:
        try:
            return fact.adapter.validate_python(value)
        except ValidationError as error:
            raise cls.broken(f"'{fact.field}' in its record is wrong ({error.errors()[0]['msg']})") from None

    @classmethod
    def contract(cls) -> Contract:
        """The arrays and facts that this class declares."""
        if cls not in _CONTRACTS:
            _CONTRACTS[cls] = _declared(cls)
        return _CONTRACTS[cls]

    @classmethod
    def among(cls, artifacts: Mapping[str, Artifact]) -> Self | None:
        """The artifact of this role among those of a clip; None when there is none."""
        found = artifacts.get(cls.role)
        return found if isinstance(found, cls) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class FrameRows(Artifact):
    """An artifact with rows that belong to frames."""

    frame_index: Annotated[NDArray[np.int64], Array("N", "the video frame (counted from 0) that each row belongs to")]

    @property
    def n_frames(self) -> int:
        return len(self.frame_index)

    def rows_at(self, frame: int) -> NDArray[np.intp]:
        """The rows of one frame."""
        return np.flatnonzero(self.frame_index == frame)

    def rows_in(self, frames: NDArray[np.int64]) -> NDArray[np.intp]:
        """The rows that belong to any of these frames."""
        return np.flatnonzero(np.isin(self.frame_index, frames))

    def row_near(self, frame: int) -> int:
        """The row with the nearest frame."""
        return int(np.abs(self.frame_index - frame).argmin())


def kind_of(role: str) -> type[Artifact]:
    """The class of the artifacts of a role. Another package adds a role by declaring a class for it."""
    if role not in _KINDS:
        raise ContractError(f"No artifact class is declared for the role '{role}'; {hint(role, sorted(_KINDS))}")
    return _KINDS[role]


def kinds() -> list[type[Artifact]]:
    """All declared classes, in the order of their roles."""
    return [_KINDS[role] for role in sorted(_KINDS)]


def _declared(kind: type[Artifact]) -> Contract:
    needed = {each.name: each.default is MISSING and each.default_factory is MISSING for each in fields(kind)}
    arrays, facts = [], []
    for name, annotated in get_type_hints(kind, include_extras=True).items():
        if get_origin(annotated) is not Annotated:
            continue
        plain, mark = get_args(annotated)
        if isinstance(mark, Array):
            arrays.append(ArrayField(name, mark.name or name, _number_type(plain), mark.shape, mark.meaning, not needed[name]))
        else:
            facts.append(FactField(name, plain, TypeAdapter(plain), mark.meaning, needed[name]))
    return Contract(tuple(arrays), tuple(facts))


def _number_type(array_type: object) -> type[np.generic]:
    """np.float64 of NDArray[np.float64] and of NDArray[np.float64] | None."""
    if get_origin(array_type) in (Union, types.UnionType):
        array_type = get_args(array_type)[0]
    inside = get_args(array_type)  # ndarray[shape, dtype[number]]; from numpy 2.5 on NDArray[number]
    number: type[np.generic] = get_args(inside[1])[0] if len(inside) == 2 else inside[0]
    return number


_KINDS: dict[str, type[Artifact]] = {}
_CONTRACTS: dict[type[Artifact], Contract] = {}

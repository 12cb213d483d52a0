"""What sentences say about the camera: the words that are about it, and the moves in these words, in their order.

A side belongs to the verb before it: "turns right to reveal the left wall" is a turn to the right. Words that name a move but not
which one ("pans to the left of the house", "pans back and forth") are not guessed: the moves are then not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lookback.camera.intent import DEFAULT_DEGREES, ROTATIONS, SIGNS, WORDS_UNITS, Motion, motion

Step = tuple[Motion, ...]  # what happens at once; nothing: the camera holds still
TURN_AROUND_DEG = 180.0

_ACROSS, _UPRIGHT, _ALONG = ("left", "right"), ("up", "down"), ("forward", "back")
# stems of verbs, and the kind of motion by direction; WRBench's own yaw prompts say "the camera moves left"
_VERBS: dict[str, tuple[str, dict[str, str]]] = {
    "turns": (
        r"pan|turn|rotat|yaw|swing|look(?!\w* right at\b)|return",
        dict.fromkeys(_ACROSS, "yaw") | dict.fromkeys(_UPRIGHT, "pitch"),
    ),
    "moves": ("mov", dict.fromkeys(_ACROSS, "yaw") | dict.fromkeys(_ALONG, "dolly")),
    "tilts": ("tilt|pitch", dict.fromkeys(_UPRIGHT, "pitch")),
    "rolls": ("roll", dict.fromkeys(_ACROSS, "roll")),
    "slides": ("slid|truck|straf|track|translat", dict.fromkeys(_ACROSS, "pan") | dict.fromkeys(_ALONG, "dolly")),
    "dollies": ("doll", dict.fromkeys(_ACROSS, "pan") | dict.fromkeys((*_ALONG, "in", "out"), "dolly")),
    "pushes": ("push|pull|zoom|advanc|retreat", dict.fromkeys((*_ALONG, "in", "out"), "dolly")),
    "cranes": ("cran|ris|lower", dict.fromkeys(_UPRIGHT, "crane")),
    "jumps": ("jump", {"up": "crane"}),
    "walks": ("walk|run|rid|driv|travel", dict.fromkeys(("forward", "backward"), "dolly")),  # who walks back turns around
}
_SPELLED = {"up": "up(?:ward)?|top", "down": "down(?:ward)?|bottom", "forward": "forward|ahead|closer", "back": "back(?:ward)?"}
_MEANT = {"top": "up", "bottom": "down", "ahead": "forward", "closer": "forward", "upward": "up", "downward": "down"}
_MEANT |= {"backward": "back", "leftward": "left", "rightward": "right"}
_FORM = r"(?:e|y|e?s|ies|[nl]?ed|d|[nl]?ing|ying)?\b"
_AMOUNT = r"\d+(?:\.\d+)?(?:\s*|-)(?:degrees?|deg|°|units?|m\b|met(?:er|re)s?)"
_FILLER = rf"(?: (?:\w+ly|back|over|again|around|straight|in place|(?:the|its) (?:head|view|gaze)|(?:by |about )?{_AMOUNT}))*"
_FROM_TO = r"(?: from)?(?: the)?(?: far)? (?:left|right|top|bottom|up|down)(?: side)?[ -]to[ -](?:the )?"
_TO = r"(?: towards?| to)?(?: the)?(?: far)? (?:(?:upper|bottom|lower|rear)-)?"
_NO_PLACE = r"(?! of\b|-(?!hand)| or (?:left|right|up|down)\b)"  # "to the left of the house" does not say which way
_START = r"(?:its|the|where it) (?:start|original|initial|first|opening|previous|same|began)"


def _verb(stems: str, ways: Iterable[str], group: str) -> str:
    spelled = "|".join(_SPELLED.get(way, f"{way}(?:ward)?") for way in ways)
    return rf"(?:{_AMOUNT} )?\b(?:{stems}){_FORM}{_FILLER}(?:{_FROM_TO}|{_TO})(?P<{group}_way>{spelled})s?\b{_NO_PLACE}"


_PHRASES: dict[str, str] = {
    "u_turn": r"u-turn(?: to the (?P<u_turn_way>left|right))?",
    "around": r"\bturn\w*(?: \w+ly)? around(?: towards?| to)?(?: the)?(?: (?P<around_way>left|right))?",
    "curve": rf"curved path{_FILLER}{_TO}(?P<curve_way>left|right)\b",
    "head_down": r"(?:lower|bow)\w* the head",
    "head_up": r"rais\w* the head",
    "goes_back": rf"\b(?:mov|go|com|slid|truck|doll|walk){_FORM} back (?:to|into) {_START}",
    **{name: _verb(stems, kinds, name) for name, (stems, kinds) in _VERBS.items()},
    "rises": r"\b(?:rises|ascends)\b",
    "sinks": r"\b(?:lowers|descends|lands)\b",
    "rests": r"(?:\b(?:not|never|without|no)|n't)(?: \w+ly)? mov(?:e|es|ing|ement)\b(?=$|[.,;!]| (?:at all|or|and|but|while|as)\b)",
    "still": r"\b(?:remain|stay|keep|hold|is)(?:s|ing)?(?: \w+ly| in place)* (?:static|fixed|stationary|still|motionless)\b"
    r"(?! \w+ing)|^\W*(?:static|fixed|stationary)\b|\b(?:holds?|waits?|pauses?)\b(?! (?:an?|the|his|her|onto|up)\b)",
    # the verb is not said again: "pans left and then right", "zooms in and out"
    "more": rf"(?:,|\band|\bthen|\bbut)(?: then)?(?: back)?(?: (?:by )?{_AMOUNT})?(?: towards?| to)?(?: the)? "
    r"(?P<more_way>left|right|up|down|forward|backward|in|out)s?\b"
    r"(?=$|[.,;]|\s+(?:and|then|but|by|again|at|for|before|across|until|while|in|with|over|to|\w+ly|\d)\b)",
    "returns": rf"\breturn{_FORM}|\b(?:pan|turn|swing|tilt|rotat|yaw){_FORM}(?: \w+ly)* back\b(?! and forth)"
    r"|(?:,|\band|\bthen)(?: then)? back\b(?! and forth)",
    "unclear": r"\b(?:pan|tilt|rotat|yaw|swing|zoom|doll|truck|roll|orbit|arc|circl|mov)(?:e?s|ies)\b"
    r"|(?<=\bis )moving\b|\bfollows\b(?! a curved)|\bback and forth\b",
}
_PHRASE = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _PHRASES.items()))
_DENIED = re.compile(r"(?:\b(?:not|never|without|no)|n't)(?: (?!but|and|then|only|just)\w+){0,2} $")
_AFTER = re.compile(r"\b(?:then|before|afterwards?|finally|next|followed)\b|;|[.!?]\s")
_STILL, _BACK = ("still", "rests"), ("returns", "goes_back")
_ONE_BY_ONE = {"u_turn", "around", "walks", "jumps"}  # what a person does is one thing after the other
_WITHOUT_A_SIDE = {
    "head_down": ("pitch", "down"),
    "head_up": ("pitch", "up"),
    "rises": ("crane", "up"),
    "sinks": ("crane", "down"),
}

# here the words about the camera end, and those about the scene begin
_GOES_ON = r"(?:(?:then|next|finally),? )?(?:it )?(?:then |\w+ly )*(?:pan|tilt|zoom|doll|truck)"  # "It then pans right."
_SCENE = re.compile(
    r"\b(?:sees|re-sees|causing|revealing|showing|capturing|following the|which|who|subject|another)\b"
    rf"|[.!?](?:\s+(?!{_GOES_ON})|$)"
)
_OTHERS = re.compile(
    r"\b(?:while|as|until|when|so that|because)\b(?! (?:it|(?:\w+ly |also |still )?\w+ing)\b)"
    r"|(?:,|;|\band|\bbut)(?: then)? "
    r"(?:the|an?|his|her|its|their|this|that|these|those|there|he|she|they|people|someone|nobody|everything)\b"
)
_TOWARDS_IT = re.compile(r"\b(?:towards?|at|to|from|past|behind|near|facing|of|by|with|into) (?:the |a )?$")


def camera_words(text: str, actor: re.Pattern[str]) -> list[str]:
    """The parts of a text in which the camera (`actor`) acts: up to the end of the sentence, or to what somebody else does."""
    actors = [found for found in actor.finditer(text) if not _TOWARDS_IT.search(text[: found.start()])]
    ends = [following.start() for following in actors[1:]] + [len(text)]
    parts = []
    for found, end in zip(actors, ends, strict=False):
        rest = text[found.end() : end]
        scene = _SCENE.search(rest)
        if scene is not None and scene[0] == "subject" and "(exits" in rest[scene.end() : scene.end() + 10]:
            scene = _SCENE.search(rest, scene.end())  # "Observer passes the subject (exits FOV) and follows a curved path"
        rest = rest[: scene.start()] if scene else rest
        others = _OTHERS.search(rest)
        parts.append(rest[: others.start()] if others else rest)
    return parts


def read_steps(texts: Iterable[str], before: Sequence[Step] = ()) -> list[Step] | None:
    """The moves in the words about the camera, in their order; what is said at once is one step. Nothing said: no step.

    None when a move is named but not which one. `before` are the steps that a "returns" here takes back.
    """
    reader = _Reader(list(before))
    return reader.steps if all(reader.read(words) for words in texts) else None


class _Reader:
    def __init__(self, before: list[Step]):
        self.before = before
        self.steps: list[Step] = []
        self.side = "right"  # of a turn around that names none
        self.verb = ""

    def read(self, words: str) -> bool:
        """Add the steps of one part of the text; False when one of them cannot be known."""
        found = list(_PHRASE.finditer(words))
        denied, end, last = False, 0, ""
        for phrase, stop in zip(found, [*(each.start() for each in found[1:]), len(words)], strict=False):
            name, lead = str(phrase.lastgroup), words[end : phrase.start()]  # the outermost group closes last
            either, end = re.search(r"\bn?or\b", lead), phrase.end()
            if name == "more":
                denied &= not phrase[0].startswith("but")
            else:
                denied = name == "rests" or bool(_DENIED.search(words[: phrase.start()])) or (denied and bool(either))
            self.verb = name if name in _VERBS else self.verb
            if denied and name != "rests":
                continue
            step = None if either else self._step(name, phrase, words[phrase.start() : stop])
            if step is None:
                return False
            apart = name in _BACK or _ONE_BY_ONE & {last, name} or _AFTER.search(lead + phrase[0])
            self._add(step, name in _STILL, together=bool(last and not apart))
            last = name
        return True

    def _step(self, name: str, phrase: re.Match[str], words: str) -> Step | None:
        """The motions that a phrase names, none for a camera at rest or a mere side; None when they cannot be known."""
        kinds = _VERBS[self.verb][1] if name in _VERBS or (name == "more" and self.verb) else {}
        said = str(phrase.groupdict().get(f"{name}_way") or "")
        way = said if said in kinds else _MEANT.get(said, said)
        self.side = way if way in _ACROSS else self.side
        if name == "unclear":
            return None
        if name in _BACK:
            return _way_back([*self.before, *self.steps])
        if name in ("u_turn", "around"):
            return (motion("yaw", self.side, TURN_AROUND_DEG),)
        if name in _WITHOUT_A_SIDE:
            return (self._motion(*_WITHOUT_A_SIDE[name], words),)
        return (self._motion(kinds[way], way, words),) if way in kinds else ()

    def _motion(self, kind: str, way: str, words: str) -> Motion:
        unit = r"(?:degrees?|deg\b|°)" if kind in ROTATIONS else r"(?:units?|m\b|met(?:er|re)s?)"
        said = re.search(rf"(?<!\d)(\d{{1,4}}(?:\.\d+)?)(?:\s*|-){unit}", words)
        return motion(kind, way, float(said[1]) if said else DEFAULT_DEGREES if kind in ROTATIONS else WORDS_UNITS)

    def _add(self, step: Step, still: bool, together: bool) -> None:
        """A camera cannot turn left and right at once: a second motion of a kind comes after the first."""
        last = self.steps[-1] if self.steps else None
        if together and last and step and not {item.kind for item in step} & {item.kind for item in last}:
            self.steps[-1] = last + step
        elif step or (still and last != ()):
            self.steps.append(step)


def _way_back(steps: Sequence[Step]) -> Step | None:
    """The motions that lead back to the start, all at once; None where the camera has not moved."""
    back = []
    for kind, signs in SIGNS.items():
        net = sum(item.signed_amount for step in steps for item in step if item.kind == kind)
        back += [Motion(kind, way, abs(net)) for way, sign in signs.items() if sign * net < 0]
    return tuple(back) or None

"""Colours of the page: each one that a drawing asks for by its name is defined for light and for dark pages."""

import re

import pytest
from lookback.inspector import server

SCRIPTS = {path.name: path.read_text() for path in server.PAGE.glob("*.js")}
STYLE = (server.PAGE / "inspector.css").read_text()
LIGHT, DARK = (dict(re.findall(r"--([\w-]+): (#\w+);", block)) for block in re.findall(r":root \{(.*?)\}", STYLE))


@pytest.mark.parametrize("defined", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_that_a_drawing_uses_is_defined_and_no_models(defined):
    asked = {name for script in SCRIPTS.values() for name in re.findall(r'\bcolour\("([\w-]+)"\)', script)}
    assert {"text", "truth"} <= asked <= set(defined)
    models = set(re.findall(r"#\w{6}", SCRIPTS["chart.js"].partition("const PHASES")[0]))
    assert len(models) == 18 and defined["truth"] not in models

"""Tables in notebooks stay narrow and low: long texts are cut, long names may break."""

import pandas as pd
import pytest
from lookback import notebook


def shown(frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> str:
    found = []
    monkeypatch.setattr(notebook, "display", lambda table: found.append(table._repr_html_()))
    notebook.show_table(frame)
    return found[0]


def test_a_long_text_is_cut_and_stands_whole_under_the_pointer(monkeypatch):
    text = f'"{"x" * 5000}"'
    html = shown(pd.DataFrame({"said": [text, "short"]}), monkeypatch)
    assert f'<span title="&quot;{"x" * 5000}&quot;">&quot;{"x" * (notebook.CELL_LENGTH - 1)} …</span>' in html
    assert ">short</td>" in html


def test_names_may_break_and_words_stand_to_the_left_of_their_column(monkeypatch):
    html = shown(pd.DataFrame({"clip_id": ["a<b:left_then_right/2"], "value": [0.5]}), monkeypatch)
    assert ">clip_<wbr>id</th>" in html and ">a&lt;b:<wbr>left_<wbr>then_<wbr>right/<wbr>2</td>" in html
    assert html.count("text-align: left") == 1  # numbers stay on the right


def test_a_table_of_many_columns_has_smaller_letters(monkeypatch):
    html = shown(pd.DataFrame([range(notebook.MANY_COLUMNS + 1)]), monkeypatch)
    assert "font-size: 11px" in html and "font-size" not in shown(pd.DataFrame([range(notebook.MANY_COLUMNS)]), monkeypatch)

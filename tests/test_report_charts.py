"""The report's drawings: what is drawn stands where it is, and is told in words."""

import re
from xml.etree import ElementTree

import polars as pl
import pytest

from tasks.report.charts import cosine_charts, judgement_charts, system_chart, training_charts
from tasks.report.svg import SVG


def test_thresholds_are_drawn_where_they_are() -> None:
    rows = {"round": [1, 1], "start": [-4.0, 3.5], "calibrated": [True] * 2, "positives": [0, 2]}
    spread = pl.DataFrame({**rows, "approved": [0, 1], "kept": [5, 0]})
    ((_, drawing, _),) = judgement_charts(spread, {"low": -4.0, "approve": 0.0, "high": 4.0})
    paths = [path for path in ElementTree.fromstring(drawing).iter(f"{{{SVG}}}path") if "dash" in path.get("style", "")]
    lines = [re.findall(r"[\d.]+", path.get("d") or "") for path in paths]
    assert len(lines) == 3 and all(x1 == x2 for x1, _, x2, _ in lines)
    left, middle, right = (float(line[0]) for line in lines)
    assert left < middle == pytest.approx((left + right) / 2, abs=0.1)


def test_the_names_of_thresholds_close_to_each_other_can_both_be_read() -> None:
    rows = {"round": [1], "start": [-4.0], "calibrated": [True], "positives": [2], "approved": [0], "kept": [5]}
    ((_, drawing, _),) = judgement_charts(pl.DataFrame(rows), {"drop_below 0.3": -0.85, "approve 0.5": 0.0})
    said = [text for text in ElementTree.fromstring(drawing).iter(f"{{{SVG}}}text") if "0." in (text.text or "")]
    names = {text.text: float(re.findall(r"[\d.]+", text.get("transform") or "")[-1]) for text in said[-2:]}
    assert names.keys() == {"drop_below 0.3", "approve 0.5"}
    assert names["approve 0.5"] >= names["drop_below 0.3"] + 8.5, "lower by a line, and lower is further from the top"


def test_unrelated_passages_are_drawn_beside_the_limit_of_an_anisotropic_space() -> None:
    figures = {"": 0.6, ", 5th percentile": -0.1, ", 95th percentile": 0.9}
    rows = [
        (system, f"random-pair cosine{part}", value, "")
        for system in ("base", "round-1")
        for part, value in figures.items()
    ]
    noted = pl.DataFrame(
        [*rows, ("round-2", "alignment", 0.5, "")], schema=["system", "name", "value", "note"], orient="row"
    )
    ((_, drawing, _),) = cosine_charts(noted)
    assert "base 0.600 (-0.100 to 0.900); round-1 0.600" in drawing and "round-2" not in drawing
    assert "anisotropic from here on" in drawing
    assert cosine_charts(noted.filter(pl.col("name") == "alignment")) == []


def test_training_is_drawn_beside_chance_and_base() -> None:
    """A loss that falls beside a measure that stays at chance is worth nothing."""
    rows = [(0, "warmup", 1, 4, 0, None, 0.5), (0, "warmup", 1, 4, 2, 0.4, 0.6), (1, "train", 2, 4, 2, 0.3, 0.7)]
    names = ["round", "part", "artifact_id", "planned", "step", "loss", "measure"]
    charts = training_charts(pl.DataFrame(rows, schema=names, orient="row"), {"chance": 0.1, "base": 0.5}, "AP")
    assert [caption for caption, _, _ in charts] == [
        "warm: AP on dev",
        "warm: loss",
        "round-1: AP on dev",
        "round-1: loss",
    ]
    assert "base 0.500" in charts[0][1] and "chance 0.100" in charts[0][1]


def test_a_name_cannot_break_a_drawing() -> None:
    _, drawing, _ = system_chart([("<b>&", 0.5, 0.4, 0.6)], "nDCG@10")
    assert "<b>" not in drawing
    assert [text.text for text in ElementTree.fromstring(drawing).iter(f"{{{SVG}}}text")][-1] == "<b>& 0.500"

"""A run as a picture: its steps in order, round by round, with their seconds, in Mermaid's words."""

from collections.abc import Sequence
from itertools import pairwise

from tasks.report.summary import Placed

LAST = ("export", "report")  # they belong to no round, and follow them all


def flow_picture(placed: Sequence[Placed]) -> str:
    """Draw a run as a fenced Mermaid flow chart, which Prefect's pages and GitHub show as a picture.

    Args:
        placed: The run's artifacts by round, in the order of their making. A step that made several in a round stands
            there once with the seconds of all; 0 s is what an earlier run had made.
    """
    parts: dict[str, dict[str, float]] = {}
    for each in placed:
        ends = each.artifact.step in LAST
        name = "end" if ends else f"round {each.number}" if each.number else "beginning"
        seconds = parts.setdefault(name, {})
        seconds[each.artifact.step] = seconds.get(each.artifact.step, 0.0) + each.seconds
    parts |= {"end": parts.pop("end")} if "end" in parts else {}
    nodes, names = list[str](), list[str]()
    for number, (part, steps) in enumerate(parts.items()):
        nodes.append(f"  subgraph part{number}[{part}]")
        for place, (step, spent) in enumerate(steps.items()):
            names.append(f"step{number}_{place}")
            nodes.append(f'    {names[-1]}["{step}<br>{spent:.1f} s"]')
        nodes.append("  end")
    # After all parts: an arrow inside of one would draw what it comes from into it.
    arrows = [f"  {one} --> {other}" for one, other in pairwise(names)]
    return "\n".join(["```mermaid", "flowchart LR", *nodes, *arrows, "```"]) + "\n"

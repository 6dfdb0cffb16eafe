"""The picture of a run: what was done in which order, and how long it took."""

from pathlib import Path

from tasks.artifacts import Artifact, make_artifact
from tasks.report.picture import flow_picture
from tasks.report.summary import Placed


def placed(root: Path, step: str, name: str, number: int, made: bool = True) -> Placed:
    return Placed(number=number, artifact=artifact(root, step, name), made=made)


def artifact(root: Path, step: str, name: str) -> Artifact:
    return make_artifact(root, step, 1, {"name": name}, {}, lambda folder: {})


def test_steps_stand_in_order_and_the_ends_follow_the_rounds(tmp_path: Path) -> None:
    found = [("ingest", 0), ("encode", 0), ("encode", 0), ("export", 0), ("mine", 1), ("train", 1), ("mine", 2)]
    picture = flow_picture([placed(tmp_path, step, str(n), number) for n, (step, number) in enumerate(found)])
    lines = picture.splitlines()
    assert lines[:2] == ["```mermaid", "flowchart LR"] and lines[-1] == "```"
    parts = [line.partition("[")[2].rstrip("]") for line in lines if "subgraph" in line]
    assert parts == ["beginning", "round 1", "round 2", "end"]
    nodes = {line.split("[")[0].strip(): line.split('"')[1].split("<")[0] for line in lines if "<br>" in line}
    arrows = [line.split(" --> ") for line in lines if "-->" in line]
    names = [nodes[arrows[0][0].strip()], *(nodes[after.strip()] for _, after in arrows)]
    assert names == ["ingest", "encode", "mine", "train", "mine", "export"]
    inside = "\n".join(lines[: lines.index(next(line for line in lines if "-->" in line))])
    assert inside.count("subgraph") == inside.count("  end") == 4, "no arrow inside of a part"


def test_what_was_found_took_no_time(tmp_path: Path) -> None:
    assert "mine<br>0.0 s" in flow_picture([placed(tmp_path, "mine", "a", 1, made=False)])

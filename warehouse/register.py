"""Write down runs, artifacts, rounds and models: the dimensions that facts point at."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from warehouse.connect import Warehouse
from warehouse.errors import WarehouseError
from warehouse.rows import first, only

STATUSES = ("completed", "failed", "cancelled", "crashed")
KILLED = "killed: it ended without a word"
MODEL_FACTS = ("activation", "a", "b", "max_length", "prompts", "path", "similarity")


def start_run(wh: Warehouse, flow: str, recipe: str, settings_json: str, facts: Mapping[str, Any]) -> int:
    """Open a run and return its id.

    Args:
        wh: The warehouse; made here if it is not there yet.
        flow: Name of the flow.
        recipe: Name of the recipe.
        settings_json: The recipe as JSON.
        facts: Where it runs and with which versions.
    """
    with wh.write("start a run") as con:
        run_id = _next(con, "runs", "run_id")
        con.execute(
            "INSERT INTO runs (run_id, flow, recipe, settings, facts, status, started_at) "
            "VALUES (?, ?, ?, ?, ?, 'running', now())",
            [run_id, flow, recipe, settings_json, _json(facts)],
        )
    return run_id


def finish_run(wh: Warehouse, run_id: int, status: str, error: str | None) -> None:
    """Close a run.

    Args:
        wh: The warehouse.
        run_id: The run, as `start_run` named it.
        status: completed, failed, cancelled or crashed.
        error: What went wrong, in a sentence; None when nothing did.
    """
    if status not in STATUSES:
        raise ValueError(f"a run ends as one of {', '.join(STATUSES)}, not as {status!r}")
    with wh.write("finish a run") as con:
        _known(con, "runs", "run_id", run_id)
        con.execute(
            "UPDATE runs SET status = ?, error = ?, finished_at = now() WHERE run_id = ?", [status, error, run_id]
        )


def finish_flow_run(wh: Warehouse, flow_run_id: str, status: str, error: str) -> bool:
    """Close the run of a Prefect flow run, and say whether it was open; one that has its end already keeps it.

    Args:
        wh: The warehouse.
        flow_run_id: Prefect's id.
        status: failed, cancelled or crashed.
        error: What went wrong, in a sentence.
    """
    open_run = (
        "SELECT run_id FROM runs WHERE status = 'running' AND json_extract_string(facts, '$.flow_run_id') = ? "
        "ORDER BY run_id DESC LIMIT 1"
    )
    with wh.read() as con:
        row = first(con, open_run, [flow_run_id])
    if row is not None:
        finish_run(wh, int(row[0]), status, error)
    return row is not None


def ended_flow_runs(wh: Warehouse, flow_run_ids: Sequence[str]) -> dict[str, tuple[str, str | None]]:
    """Status and error of runs that have ended, by their Prefect flow runs; those that are not here are left out.

    Args:
        wh: The warehouse.
        flow_run_ids: Prefect's ids.
    """
    named = (
        "SELECT json_extract_string(facts, '$.flow_run_id') AS flow_run, status, error FROM runs "
        "WHERE status <> 'running' AND list_contains(?, flow_run) ORDER BY run_id"
    )
    with wh.read() as con:
        return {str(row[0]): (str(row[1]), row[2]) for row in con.execute(named, [list(flow_run_ids)]).fetchall()}


def close_killed(wh: Warehouse) -> list[tuple[int, str]]:
    """Close runs that still say that they are running, as crashed, and return them; call it while no run can be.

    Each is returned with the id of its Prefect flow run, which is empty where it had none. They ended when they were
    last heard of: at their start, their last load or their last artifact.
    """
    with wh.write("close killed runs") as con:
        closed = con.execute(
            "UPDATE runs AS r SET status = 'crashed', error = ?, "
            "finished_at = greatest(started_at, "
            "(SELECT max(s.loaded_at) FROM shard_loads AS s WHERE s.run_id = r.run_id), "
            "(SELECT max(a.made_at) FROM artifacts AS a WHERE a.run_id = r.run_id AND a.made_at <= now())) "
            "WHERE status = 'running' RETURNING run_id, json_extract_string(facts, '$.flow_run_id')",
            [KILLED],
        ).fetchall()
    return sorted((int(row[0]), str(row[1] or "")) for row in closed)


def register_artifact(wh: Warehouse, run_id: int, about: Mapping[str, Any], path: str) -> int:
    """Write an artifact down and return its id; the same fingerprint is the same artifact.

    Args:
        wh: The warehouse.
        run_id: The run that uses it.
        about: What `artifact.json` says: step, fingerprint, code, settings, inputs, versions, seconds, made_at, facts.
        path: Its folder, which may have moved since.
    """
    with wh.write("register an artifact") as con:
        return _registered(con, run_id, about, path)


def record_artifact(wh: Warehouse, run_id: int, about: Mapping[str, Any], path: str, part: tuple[int, str]) -> int:
    """Write an artifact down together with the part it plays, both or neither; see `register_artifact`.

    Args:
        wh: The warehouse.
        run_id: The run that uses it.
        about: What `artifact.json` says.
        path: Its folder.
        part: Round and step, as `link_round` has them.
    """
    with wh.write("record an artifact") as con:
        artifact_id = _registered(con, run_id, about, path)
        _link(con, run_id, part, artifact_id)
    return artifact_id


def _registered(con: duckdb.DuckDBPyConnection, run_id: int, about: Mapping[str, Any], path: str) -> int:
    _known(con, "runs", "run_id", run_id)
    row = first(con, "SELECT artifact_id, path FROM artifacts WHERE fingerprint = ?", [about["fingerprint"]])
    if row:
        if row[1] != path:
            con.execute("UPDATE artifacts SET path = ? WHERE artifact_id = ?", [path, row[0]])
        return int(row[0])
    artifact_id = _next(con, "artifacts", "artifact_id")
    con.execute(
        "INSERT INTO artifacts (artifact_id, run_id, path, step, fingerprint, code, seconds, made_at, settings, "
        "inputs, versions, facts) VALUES (?, ?, ?, ?, ?, ?, ?, CAST(? AS TIMESTAMPTZ), ?, ?, ?, ?)",
        [
            *(artifact_id, run_id, path),
            *(about[name] for name in ("step", "fingerprint", "code", "seconds", "made_at")),
            *(_json(about[name]) for name in ("settings", "inputs", "versions", "facts")),
        ],
    )
    return artifact_id


def link_round(wh: Warehouse, run_id: int, round: int, step: str, artifact_id: int) -> None:
    """Say which part an artifact plays in a round; saying it twice changes nothing.

    Args:
        wh: The warehouse.
        run_id: The run.
        round: The round, from 1; 0 is what comes before the rounds.
        step: The part, by the step's verb.
        artifact_id: The artifact, as `register_artifact` named it.
    """
    with wh.write("link a round") as con:
        _known(con, "runs", "run_id", run_id)
        _known(con, "artifacts", "artifact_id", artifact_id)
        _link(con, run_id, (round, step), artifact_id)


def _link(con: duckdb.DuckDBPyConnection, run_id: int, part: tuple[int, str], artifact_id: int) -> None:
    con.execute(
        "INSERT INTO rounds (run_id, round, step, artifact_id) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [run_id, *part, artifact_id],
    )


def register_model(wh: Warehouse, role: str, name: str, fingerprint: str, facts: Mapping[str, Any]) -> int:
    """Write a model down and return its id; the same role and fingerprint are the same model.

    Args:
        wh: The warehouse.
        role: student or teacher.
        name: Name for people.
        fingerprint: What makes it the same model.
        facts: Any of activation, a, b, max_length, prompts, path, similarity. Of a known model, a, b and path are
            brought up to date where they are given; the rest is part of its fingerprint and stays.
    """
    if unknown := set(facts) - set(MODEL_FACTS):
        raise ValueError(f"a model has {', '.join(MODEL_FACTS)}; got {', '.join(sorted(unknown))} for {name}")
    values = {key: value for key, value in facts.items() if value is not None}
    if "prompts" in values and not isinstance(values["prompts"], str):
        values["prompts"] = _json(values["prompts"])
    if isinstance(values.get("path"), Path):
        values["path"] = str(values["path"])
    with wh.write("register a model") as con:
        row = first(con, "SELECT model_id FROM models WHERE role = ? AND fingerprint = ?", [role, fingerprint])
        if row:
            for column in ("a", "b", "path"):
                if column in values:
                    con.execute(f"UPDATE models SET {column} = ? WHERE model_id = ?", [values[column], row[0]])
            return int(row[0])
        model_id = _next(con, "models", "model_id")
        columns = {"model_id": model_id, "role": role, "name": name, "fingerprint": fingerprint, **values}
        marks = ", ".join("?" for _ in columns)
        con.execute(
            f"INSERT INTO models ({', '.join(columns)}, registered_at) VALUES ({marks}, now())", list(columns.values())
        )
    return model_id


def _next(con: duckdb.DuckDBPyConnection, table: str, key: str) -> int:
    """The next free key; writers take turns, so nobody else takes it meanwhile."""
    return int(only(con, f"SELECT coalesce(max({key}), 0) + 1 FROM {table}")[0])


def _known(con: duckdb.DuckDBPyConnection, table: str, key: str, value: int) -> None:
    if first(con, f"SELECT 1 FROM {table} WHERE {key} = ?", [value]) is None:
        raise WarehouseError(f"{table} has no {key} {value}; what was to be written would point at nothing")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)

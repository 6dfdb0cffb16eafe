"""Which Prefect server a run talks to: the configured one, or one of our own on loopback."""

import os
import subprocess
import sys
from pathlib import Path

from flows.connection import Connection, ServerError, be_patient
from flows.local_server import LocalServer

__all__ = ["Connection", "LocalServer", "ServerError", "configured_url", "connect"]


def connect(home: Path, port: int | None = None) -> Connection:
    """Use the Prefect server that is configured, or else this folder's own; returns before that one answers.

    Args:
        home: The folder whose `.prefect/` holds the database of our own server.
        port: Port of our own server, where none runs yet; any free one by default.

    Raises:
        ServerError: The configured server does not answer.
    """
    be_patient()
    url = configured_url()
    if url is None:
        return LocalServer(home, port)
    connection = Connection(url)
    connection.wait_ready(lambda sentence: None)
    return connection


def configured_url() -> str | None:
    """The API address that the user configured, by environment, profile or file; `None` where there is none."""
    if url := os.environ.get("PREFECT_API_URL"):
        return url
    home = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect")
    profiles = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml")
    sources = {profiles: "", Path(".env"): "PREFECT", Path("prefect.toml"): "", Path("pyproject.toml"): "[tool.prefect"}
    if not any(path.is_file() and word in path.read_text("utf-8") for path, word in sources.items()):
        return None
    # Prefect knows the order of its sources best; asked in a process of its own, since it settles them at import.
    ask = "from prefect.settings import get_current_settings; print(get_current_settings().api.url or '')"
    told = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    if told.returncode:
        raise ServerError(f"Prefect's settings cannot be read: {told.stderr.strip().splitlines()[-1]}")
    return told.stdout.strip() or None

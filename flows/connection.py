"""The Prefect server as a client sees it: an address that answers or does not."""

import os
import urllib.error
import urllib.request
from collections.abc import Callable

Say = Callable[[str], None]

# Prefect's client waits 2, 4, … 128 s between its attempts, each a fifth more or less: a server may be away for three
# minutes at least. Its own five retries bear one.
PATIENT = {"PREFECT_CLIENT_MAX_RETRIES": "7"}


class ServerError(RuntimeError):
    """The Prefect server cannot be reached or does not start."""


def be_patient() -> None:
    """Let a run outlast a server that is away for minutes; what the environment says already stays.

    Prefect has to be imported after it.
    """
    for name, value in PATIENT.items():
        os.environ.setdefault(name, value)


class Connection:
    """The server that this process talks to; somebody else's unless a subclass says otherwise."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    @property
    def ui(self) -> str:
        """Where a browser finds the runs."""
        return self.url.removesuffix("/api")

    def wait_ready(self, say: Say) -> None:
        """Make sure that the server answers.

        Args:
            say: Takes a sentence for the person who waits.

        Raises:
            ServerError: It does not answer.
        """
        problem = problem_of(self.url, seconds=10)
        if problem:
            raise ServerError(
                f"the Prefect server at {self.url} (PREFECT_API_URL) does not answer: {problem}; "
                "start it, or unset PREFECT_API_URL and one is started here"
            )

    def leave(self) -> None:
        """Say that this process no longer needs the server."""


def problem_of(url: str, seconds: float) -> str:
    """What keeps an API from answering; empty where it answers.

    Args:
        url: The API's address; `/health` is asked.
        seconds: How long to wait for the answer.
    """
    try:
        fetch(f"{url}/health", seconds=seconds)
    except urllib.error.HTTPError as error:
        # Somebody is there: whether this client may speak to them is for Prefect to say.
        return "" if error.code in (401, 403, 404) else str(error)
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error))
    return ""


def fetch(url: str, body: bytes | None = None, seconds: float = 5) -> bytes:
    """Ask an HTTP address; a proxy of the environment is not asked for addresses on loopback.

    Args:
        url: What to ask.
        body: JSON to post; `None` gets.
        seconds: How long to wait for the answer.
    """
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    local = request.host.partition(":")[0] in ("127.0.0.1", "localhost")
    opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if local else []))
    with opener.open(request, timeout=seconds) as answer:
        content: bytes = answer.read()
    return content

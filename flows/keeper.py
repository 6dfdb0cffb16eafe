"""Stops a folder's Prefect server when its users were killed: `kill -9` leaves nobody to do it.

Started beside every server, as a small process of its own; ends with the server.
"""

import sys
import time
from pathlib import Path

from flows.processes import Process
from flows.server_note import ServerNote, stop

LOOK_EVERY = 5.0


def keep(folder: Path, server: Process, every: float = LOOK_EVERY) -> None:
    """Watch until the server has ended, or nobody who uses it is left.

    Args:
        folder: The folder of `server.json`.
        server: The server to watch.
        every: Seconds between two looks.
    """
    note = ServerNote(folder)
    while server.alive:
        time.sleep(every)
        with note.lock:
            found = note.read()
            if found is None or found[0] != server:
                return
            if not found[2]:
                stop(server)
                note.remove()


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Process(int(sys.argv[2]), sys.argv[3]))

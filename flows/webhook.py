"""One sentence to a web address when a run has ended: for a chat channel, or whatever wakes a person."""

import json
import logging
import os

from flows.connection import fetch

VARIABLE = "REMINE_WEBHOOK"
SECONDS = 10.0

log = logging.getLogger("remine.run")


def tell(flow: str, recipe: str, status: str, sentence: str) -> None:
    """Post how a run ended as JSON, where the environment names an address; a failure to do so is a warning.

    The address is no setting of a recipe: it is often a secret, and recipes are kept in the warehouse. `text` is what
    Slack, Mattermost and their like show.

    Args:
        flow: distill, refresh or score.
        recipe: Its name.
        status: completed, failed or cancelled.
        sentence: What came out, or what went wrong.
    """
    url = os.environ.get(VARIABLE)
    if not url:
        return
    told = {"flow": flow, "recipe": recipe, "status": status, "sentence": sentence}
    try:
        fetch(url, json.dumps({"text": f"{recipe} ({flow}, {status}): {sentence}", **told}).encode(), SECONDS)
    except (OSError, ValueError) as error:
        log.warning("%s could not be told how the run ended: %s", VARIABLE, error)

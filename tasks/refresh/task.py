"""The steps `find incumbent` and `compare data`."""

import logging
from typing import Any

from tasks.refresh.before import Before
from tasks.refresh.change import Change
from tasks.refs import Artifact, Run
from tasks.step import step

log = logging.getLogger("remine.refresh")


@step("find incumbent")
def find_incumbent(run: Run, sections: dict[str, Any]) -> Before:
    """Find the student in use, who mined and judged for it, and what it learned from."""
    from tasks.refresh.before import find_before

    before = find_before(run, sections)
    log.info("In use is the student of run %d, in %s", before.run, before.student.path)
    return before


@step("compare data")
def compare_data(before: Before, corpus: Artifact, reviewed: Artifact | None) -> Change:
    """Say what has changed since the last run of the recipe."""
    from tasks.refresh.change import changed

    change = changed(before, corpus, reviewed)
    log.info("%s", change.sentence)
    return change

"""What one round's student learns from."""

from tasks.artifacts import Artifact
from tasks.refs import StudentRef
from tasks.settings import Settings


class Lesson(Settings):
    """The weights that a round starts from, the judged lists, and what earlier rounds had judged."""

    corpus: Artifact
    start: StudentRef
    judged: Artifact
    earlier: tuple[Artifact, ...] = ()  # verdicts of earlier rounds, the newest first

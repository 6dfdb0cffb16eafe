"""What one round's student learns from."""

from tasks.artifacts import Artifact
from tasks.refs import StudentRef
from tasks.settings import Settings


class Lesson(Settings):
    """The weights that a round starts from, and the judged lists."""

    corpus: Artifact
    start: StudentRef
    judged: Artifact

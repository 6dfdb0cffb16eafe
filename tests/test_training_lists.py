"""Judged pairs become training lists: what counts as positive, negative, soft, or nothing at all."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tiny_corpus import make_corpus

from models.drawing import Draw
from models.lists import Role
from models.runtime import Runtime
from models.student import Student
from tasks.artifacts import Artifact
from tasks.train.arrays import Texts, labelled_lists, pair_keys, training_lists
from warehouse.texts import text_hash

PASSAGES = ["read file", "write file", "sort list", "join table", "mean number", "plot tree"]
QUERIES = {"how to read": "train", "how to sort": "train", "how to plot": "dev"}
LABELS = [
    ("how to read", "read file", 1),
    ("how to sort", "sort list", 2),
    ("how to sort", "plot tree", 0),
    ("how to plot", "plot tree", 1),
]


@pytest.fixture
def corpus(tmp_path: Path) -> Artifact:
    return make_corpus(tmp_path, PASSAGES, QUERIES, LABELS)


@pytest.fixture(scope="module")
def student(tiny_student: Path) -> Student:
    return Student.load(tiny_student, Runtime("cpu", "fp32", 1))


def verdicts(*rows: tuple[str, str, str, float, float]) -> pl.DataFrame:
    hashed = [(text_hash(q), text_hash(p), verdict, weight, logit) for q, p, verdict, weight, logit in rows]
    names = ["query_hash", "passage_hash", "verdict", "weight", "judgement"]
    return pl.DataFrame(hashed, schema=names, orient="row")


def judged() -> pl.DataFrame:
    return verdicts(
        ("how to read", "read file", "positive", 1.0, 4.0),
        ("how to read", "write file", "approved", 1.0, 3.0),
        ("how to read", "join table", "negative", 1.0, -2.0),
        ("how to read", "mean number", "ambiguous", 0.0, 0.5),
        ("how to sort", "sort list", "positive", 1.0, 5.0),
        ("how to sort", "mean number", "negative", 1.0, -4.0),
    )


def test_labels_alone_give_lists_of_positives_only(corpus: Artifact) -> None:
    frame = labelled_lists(corpus)
    assert set(frame["query_hash"]) == {text_hash("how to read"), text_hash("how to sort")}
    assert set(frame["passage_hash"]) == {text_hash("read file"), text_hash("sort list")}
    assert frame["verdict"].unique().to_list() == ["positive"]


def test_each_verdict_gets_its_role_and_its_judgement(corpus: Artifact, student: Student) -> None:
    lists = training_lists(corpus, judged(), student)
    texts = Texts.read(corpus)
    number = [texts.queries["text"][int(row)] for row in lists.queries].index("how to read")
    part = slice(int(lists.starts[number]), int(lists.starts[number + 1]))
    found = {
        texts.passages["text"][int(row)]: (Role(role), float(target))
        for row, role, target in zip(lists.passages[part], lists.roles[part], lists.targets[part], strict=True)
    }
    assert found == {
        "read file": (Role.POSITIVE, 4.0),
        "write file": (Role.SOFT, 3.0),
        "join table": (Role.NEGATIVE, -2.0),
    }


def test_a_pair_used_for_nothing_is_not_an_in_batch_negative_either(corpus: Artifact, student: Student) -> None:
    """Pitfall 24: another row's passage, which the teacher approves for this query, pushed away in the batch."""
    lists = training_lists(corpus, judged(), student)
    texts = Texts.read(corpus)
    batch = lists.draw(Draw(batch=2, length=3, soft=True), step=0)
    row = [texts.queries["text"][int(lists.queries[number])] for number in batch.lists].index("how to read")
    mean = student.tokenize_passages(["mean number"])[0]
    column = [list(tokens) for tokens in batch.passages].index(mean)
    assert bool(batch.forbidden[row, column])
    assert not bool(batch.forbidden[1 - row, column])


def test_texts_are_tokenised_by_their_own_side(corpus: Artifact, student: Student) -> None:
    """Pitfalls 27 and 32: query and passage swapped, or prompts forgotten, train fine and worse."""
    lists = training_lists(corpus, judged(), student)
    texts = Texts.read(corpus)
    queries = [texts.queries["text"][int(row)] for row in lists.queries]
    assert list(map(list, lists.query_tokens)) == student.tokenize_queries(queries)
    assert list(map(list, lists.passage_tokens)) == student.tokenize_passages(texts.passages["text"].to_list())
    assert student.query_prompt != student.passage_prompt


def test_a_query_without_a_positive_has_no_list(corpus: Artifact, student: Student) -> None:
    frame = judged().filter(~((pl.col("query_hash") == text_hash("how to sort")) & (pl.col("verdict") == "positive")))
    lists = training_lists(corpus, frame, student)
    assert len(lists) == 1


def test_lists_of_dev_queries_are_refused(corpus: Artifact, student: Student) -> None:
    frame = pl.concat([judged(), verdicts(("how to plot", "plot tree", "positive", 1.0, 2.0))])
    with pytest.raises(ValueError, match="outside train"):
        training_lists(corpus, frame, student)


def test_pairs_of_another_corpus_are_refused(corpus: Artifact, student: Student) -> None:
    frame = pl.concat([judged(), verdicts(("how to sort", "never seen", "negative", 1.0, 2.0))])
    with pytest.raises(ValueError, match="another corpus"):
        training_lists(corpus, frame, student)


def test_missing_judgements_stay_missing(corpus: Artifact, student: Student) -> None:
    """Pitfall 8: a score that isn't there has no stand-in."""
    lists = training_lists(corpus, labelled_lists(corpus), student)
    assert np.isnan(lists.targets).all()


def approved(corpus: Artifact, student: Student, *earlier: pl.DataFrame) -> set[tuple[str, str]]:
    lists = training_lists(corpus, judged(), student, earlier)
    assert (np.diff(lists.approved) > 0).all()
    texts = Texts.read(corpus)
    rows = [divmod(int(key), texts.passages.height) for key in lists.approved]
    return {(texts.queries["text"][query], texts.passages["text"][passage]) for query, passage in rows}


def test_what_an_earlier_round_approved_is_no_negative_and_the_newest_verdict_counts(
    corpus: Artifact, student: Student
) -> None:
    """Pitfall 24, by stored teacher scores: a passage mined in round 1 only is still known in round 2."""
    now = {("how to read", "write file"), ("how to read", "mean number")}
    assert approved(corpus, student) == now
    older = verdicts(
        ("how to sort", "join table", "approved", 1.0, 3.0),  # not mined any more
        ("how to read", "join table", "approved", 1.0, 3.0),  # a negative by now
        ("how to sort", "read file", "negative", 1.0, -3.0),
        ("how to sort", "plot tree", "unscored", 0.0, 0.0),
    )
    oldest = verdicts(
        ("how to sort", "read file", "approved", 1.0, 3.0), ("how to sort", "plot tree", "ambiguous", 0.0, 0.0)
    )
    more = {("how to sort", "join table"), ("how to sort", "plot tree")}
    assert approved(corpus, student, older, oldest) == now | more
    lists = training_lists(corpus, judged(), student, [older, oldest])
    batch = lists.draw(Draw(batch=2, length=3, soft=True), 0)
    texts = Texts.read(corpus)
    asked = texts.query_rows(pl.Series([text_hash("how to sort")]))[0]
    shown = texts.passage_rows(pl.Series([text_hash("join table")]))[0]
    row = int(np.flatnonzero(lists.queries[batch.lists] == asked)[0])
    place = [list(tokens) for tokens in batch.passages].index(list(lists.passage_tokens[shown]))
    assert batch.forbidden[row, place]


def test_a_promoted_passage_is_the_positive_of_a_query_that_nobody_labelled(tmp_path: Path, student: Student) -> None:
    """Pitfall 24: and no in-batch negative of it, where another row has it too."""
    corpus = make_corpus(tmp_path, PASSAGES, {**QUERIES, "how to join": ""}, LABELS)
    frame = pl.concat(
        [
            judged(),
            verdicts(
                ("how to join", "join table", "promoted", 1.0, 4.0),
                ("how to join", "plot tree", "negative", 1.0, -4.0),
            ),
        ]
    )
    lists = training_lists(corpus, frame, student)
    texts = Texts.read(corpus)
    number = [texts.queries["text"][int(row)] for row in lists.queries].index("how to join")
    part = lists.roles[lists.starts[number] : lists.starts[number + 1]]
    assert sorted(map(Role, part)) == sorted([Role.POSITIVE, Role.NEGATIVE])
    keys = pl.DataFrame({"query_hash": [text_hash("how to join")], "passage_hash": [text_hash("join table")]})
    assert pair_keys(texts, keys)[0] in lists.known


def test_a_copy_of_a_positive_in_other_capitals_is_no_in_batch_negative(tmp_path: Path, student: Student) -> None:
    """Pitfall 24: another query's positive that says the same was pushed away, from the warm-up on."""
    passages = [*PASSAGES, "READ  file"]
    labels = [("how to read", "read file", 1), ("how to sort", "READ  file", 1), ("how to plot", "plot tree", 1)]
    corpus = make_corpus(tmp_path, passages, QUERIES, labels)
    batch = training_lists(corpus, labelled_lists(corpus), student).draw(Draw(batch=2, length=1), step=0)
    assert len(batch.passages) == 2 and batch.forbidden.all()

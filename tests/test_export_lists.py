"""Lists go out as the other trainers read them, and scores come back as they went."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import warehouse_samples as sample

from tasks.lists.exporting import Lists, Written, export_lists
from tasks.lists.importing import Imported, Incoming, import_scores
from tasks.where import Where
from warehouse.queries import quality
from warehouse.register import register_model

SCORED = ("sentence-transformers", "flagembedding", "colbert", "trec")


@pytest.fixture
def home(tmp_path: Path) -> Where:
    return sample.played(tmp_path)


def written(where: Where, format: str, negatives: int = 1, **more: Any) -> Path:
    path = where.home / f"{format}.jsonl"
    export_lists(where, Lists(1, format, None, negatives, **more), path)
    return path


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def stored(where: Where, teacher: str) -> dict[tuple[str, str], float]:
    sql = (
        "SELECT qi.external_id, pi.external_id, s.logit FROM teacher_scores AS s JOIN models AS m ON m.model_id = "
        f"s.teacher_id AND m.name = '{teacher}' JOIN query_ids AS qi ON qi.query_key = s.query_key AND qi.shown "
        "JOIN passage_ids AS pi ON pi.passage_key = s.passage_key AND pi.shown"
    )
    return {(query, passage): logit for query, passage, logit in sample.rows(sample.warehouse(where), sql)}


def test_sentence_transformers_rows_hold_each_positive_with_the_first_negatives(home: Where) -> None:
    """Pitfall 27: columns and scores in one order, or a query is trained towards another passage's score."""
    frame = pl.read_parquet(written(home, "sentence-transformers"))
    assert frame.columns == ["query", "positive", "negative_1", "label"]
    assert sorted(frame.rows()) == [
        ("apple", "Fruit red apple", "blue sky", [1.0, -2.0]),
        ("sky", "blue sky", "green apple", [4.0, -3.0]),
        ("sky", "tall tree", "green apple", [2.5, -3.0]),
    ]


def test_approved_passages_are_never_negatives_unless_asked_for(home: Where) -> None:
    """A passage that the teacher approves of would be pushed away for good."""
    approved = "green apple"
    frame = pl.read_parquet(written(home, "sentence-transformers", 2))
    assert frame.filter(query="apple").rows() == [
        ("apple", "Fruit red apple", "blue sky", "tall tree", [1.0, -2.0, -4.0])
    ]
    path = home.home / "with.parquet"
    export_lists(home, Lists(1, "sentence-transformers", None, 1, with_approved=True), path)
    assert pl.read_parquet(path).filter(query="apple")["negative_1"].to_list() == [approved]


def test_what_is_written_is_the_logit_or_the_judgement_that_training_reads(home: Where) -> None:
    """A blended teacher's own logits teach another trainer what the student here was never trained towards."""
    raw = pl.read_parquet(written(home, "sentence-transformers"))
    path = home.home / "judged.parquet"
    export_lists(home, Lists(1, "sentence-transformers", None, 1, scores="judgement"), path)
    judged = pl.read_parquet(path)
    assert judged.drop("label").equals(raw.drop("label"))
    assert judged["label"].to_list() == [[2 * score for score in label] for label in raw["label"]]


def test_a_list_that_is_too_short_is_left_out_and_counted(home: Where) -> None:
    """Pitfall 31: a short list filled up with whatever is at hand."""
    made = export_lists(home, Lists(1, "sentence-transformers", None, 2), home.home / "two.parquet")
    assert made == Written(1, 1, 1)
    with pytest.raises(LookupError, match="no query of round 1 has a positive and 3 negatives"):
        export_lists(home, Lists(1, "sentence-transformers", None, 3), home.home / "three.parquet")
    assert not (home.home / "three.parquet").exists()


def test_flagembedding_lines_hold_scores_beside_texts(home: Where) -> None:
    found = {row["query"]: row for row in lines(written(home, "flagembedding", 0))}
    assert found["apple"] == {
        "query": "apple", "pos": ["Fruit red apple"], "neg": ["blue sky", "tall tree"], "pos_scores": [1.0],
        "neg_scores": [-2.0, -4.0],
    }  # fmt: skip
    assert found["sky"]["pos_scores"] == [4.0, 2.5]


def test_tevatron_lines_hold_documents_with_ids(home: Where) -> None:
    found = {row["query_id"]: row for row in lines(written(home, "tevatron"))}
    assert found["q1"]["query"] == "apple"
    assert found["q1"]["positive_passages"] == [{"docid": "d1", "title": "", "text": "Fruit red apple"}]
    assert [each["docid"] for each in found["q1"]["negative_passages"]] == ["d3"]


def test_colbert_examples_point_at_lines_of_the_collection(home: Where) -> None:
    folder = written(home, "colbert")
    collection = [line.split("\t") for line in (folder / "collection.tsv").read_text("utf-8").splitlines()]
    assert [int(number) for number, _ in collection] == list(range(len(collection)))
    queries = dict(line.split("\t") for line in (folder / "queries.tsv").read_text("utf-8").splitlines())
    told = [
        (queries[str(query)], [(collection[number][1], score) for number, score in way])
        for query, *way in lines(folder / "examples.json")
    ]
    assert ("apple", [("Fruit red apple", 1.0), ("blue sky", -2.0)]) in told
    assert len(told) == 3


def test_a_trec_run_ranks_everything_that_was_scored(home: Where) -> None:
    """Pitfall 39a: ranks that disagree with scores are read differently by different tools."""
    rows = [line.split() for line in written(home, "trec").read_text("utf-8").splitlines()]
    assert [row[2:5] for row in rows if row[0] == "q1"] == [
        ["d2", "1", "3.0"], ["d1", "2", "1.0"], ["d3", "3", "-2.0"], ["d6", "4", "-4.0"],
    ]  # fmt: skip
    assert len(rows) == 8


def test_ir_measures_reads_the_run(home: Where) -> None:
    import ir_measures

    run = list(ir_measures.read_trec_run(str(written(home, "trec"))))
    assert {(each.query_id, each.doc_id, each.score) for each in run} == {
        (query, passage, logit) for (query, passage), logit in sample.LOGITS.items()
    }


@pytest.mark.parametrize("format", [*SCORED, "tevatron"])
def test_a_round_with_a_missing_score_is_refused_by_every_format(home: Where, format: str) -> None:
    """Pitfall 8: a missing score filled with a default, or a list that is shorter without a word."""
    with sample.warehouse(home).write() as con:
        con.execute("DELETE FROM teacher_scores WHERE logit = -4")
    with pytest.raises(ValueError, match=r"1 of 8 pairs of run 1, round 1 have no score .*'q1', passage 'd6'"):
        written(home, format)
    assert not (home.home / f"{format}.jsonl").exists()


@pytest.mark.parametrize("format", SCORED)
def test_scores_come_back_as_they_went(home: Where, format: str) -> None:
    register_model(sample.warehouse(home), "teacher", "other", "other-fingerprint", {"a": 1.0, "b": 0.0})
    path = written(home, format, 1)
    incoming = Incoming(path=path, format=format, teacher="other")  # type: ignore[arg-type]
    made = import_scores(home, incoming)
    expected = {"trec": 8, "sentence-transformers": 5, "flagembedding": 5, "colbert": 5}[format]
    assert made == Imported(expected, expected, 0, "other")
    found = stored(home, "other")
    assert len(found) == expected
    assert all(sample.LOGITS[pair] == logit for pair, logit in found.items())
    assert import_scores(home, incoming).new == 0, "the same file again brings nothing"
    assert quality(sample.warehouse(home)).is_empty()


def test_imported_scores_outlive_the_warehouse(home: Where) -> None:
    """A shard of the teacher is left, which the next run loads."""
    register_model(sample.warehouse(home), "teacher", "other", "other-fingerprint", {})
    import_scores(home, Incoming(path=written(home, "trec"), format="trec", teacher="other"))
    (shard,) = (home.artifacts_path / "shards" / "other-fingerprin").glob("*.parquet")
    assert pl.read_parquet(shard).height == 8
    assert sample.rows(
        sample.warehouse(home), "SELECT DISTINCT n_tokens, truncated FROM teacher_scores WHERE n_tokens IS NULL"
    ) == [(None, None)]


def jsonl(where: Where, *rows: dict[str, Any]) -> Path:
    path = where.home / "scores.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def row(neg: list[str], scores: list[Any], pos: float = 1.0) -> dict[str, Any]:
    return {"query": "apple", "pos": ["Fruit red apple"], "pos_scores": [pos], "neg": neg, "neg_scores": scores}


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([row(["blue sky"], [0.2])], r"between 0\.200 and 1\.000, as probabilities do.*--scale probability"),
        (
            [row(["blue sky"], [9.0])],
            r"2 pairs were scored by big before, and the scores differ by up to 11\.00 logits",
        ),
        ([row(["blue sky"], [-2.0]), row(["blue sky"], [-2.5])], r"one pair has the scores -2\.\d+ .* and -2\.\d+"),
        ([row(["purple sky"], [-2.0])], r"does not have 1 of 2 passages, first 'purple sky'.*nothing was imported"),
        ([row(["blue sky"], [None])], r"scores\.jsonl:1: the score is None; needed a finite number"),
        ([row(["blue sky"], [float("nan")])], r"the score is nan"),
        ([row(["blue sky"], [1e300])], r"the score is 1e\+300; needed a finite number of at most 3\.4e\+38"),
        ([row(["blue sky"], [-(10**400)])], r"the score is -1000+; needed a finite number"),
        ([row(["blue sky"], [])], r"as many numbers under neg_scores"),
        ([row([""], [-2.0])], "the passage is empty"),
        ([], "holds no scores"),
    ],
)
def test_scores_that_would_mislead_are_refused_and_nothing_changes(home: Where, rows: list[Any], error: str) -> None:
    """Pitfalls 7 and 8: probabilities taken for logits, missing scores, another teacher's scores."""
    before = stored(home, "big")
    path = jsonl(home, *rows)
    with pytest.raises((ValueError, LookupError), match=f"(?s){error}"):
        import_scores(home, Incoming(path=path, format="flagembedding", teacher="big"))
    assert stored(home, "big") == before
    assert sample.rows(sample.warehouse(home), "SELECT count(*) FROM runs") == [(1,)]
    assert not (home.artifacts_path / "shards").exists()


@pytest.mark.parametrize("format", SCORED)
def test_a_folder_for_a_file_and_a_file_for_a_folder_are_told_apart(home: Where, format: str) -> None:
    path = home.home if format != "colbert" else jsonl(home, row(["blue sky"], [-2.0]))
    wrong = f"is a {'file; colbert is a folder' if format == 'colbert' else f'folder; {format} is one file'}"
    with pytest.raises(OSError, match=wrong):
        import_scores(home, Incoming(path=path, format=format, teacher="big"))


def test_probabilities_become_logits_where_they_are_said_to_be(home: Where) -> None:
    register_model(sample.warehouse(home), "teacher", "other", "other-fingerprint", {})
    path = jsonl(home, row(["blue sky"], [0.5], pos=0.880797))
    import_scores(home, Incoming(path=path, format="flagembedding", teacher="other", scale="probability"))
    assert stored(home, "other") == {("q1", "d1"): pytest.approx(2.0, abs=1e-4), ("q1", "d3"): 0.0}


def test_new_texts_are_taken_in_where_that_is_asked(home: Where) -> None:
    path = jsonl(home, row(["purple sky"], [-2.0]))
    made = import_scores(home, Incoming(path=path, format="flagembedding", teacher="big", new_texts=True))
    assert (made.new, made.texts) == (1, 1)
    assert sample.rows(sample.warehouse(home), "SELECT count(*) FROM passages WHERE text = 'purple sky'") == [(1,)]
    assert quality(sample.warehouse(home)).is_empty()


def test_ids_that_the_corpus_lacks_are_named(home: Where) -> None:
    """Pitfall 33: ordinals against ids; the scores would be of other passages."""
    path = home.home / "run.trec"
    path.write_text("q1 Q0 d2 1 3.0 x\nq1 Q0 17 2 1.0 x\n", "utf-8")
    with pytest.raises(LookupError, match=r"run\.trec:2: corpus 'toy' has no passage '17' \(1 of 2 pairs"):
        import_scores(home, Incoming(path=path, format="trec", teacher="big"))


def test_a_teacher_is_registered_or_on_this_machine(home: Where, tiny_teacher: Path) -> None:
    path = jsonl(home, row(["blue sky"], [-7.0], pos=9.0))
    with pytest.raises(LookupError, match=r"no teacher is called 'nobody'; registered: big \(t1\)"):
        import_scores(home, Incoming(path=path, format="flagembedding", teacher="nobody"))
    made = import_scores(home, Incoming(path=path, format="flagembedding", teacher=str(tiny_teacher)))
    assert made.new == 2
    assert sample.rows(sample.warehouse(home), "SELECT count(*) FROM models WHERE role = 'teacher'") == [(2,)]
    register_model(sample.warehouse(home), "teacher", "big", "another-one", {})
    with pytest.raises(LookupError, match="2 teachers are called 'big'; say which by its fingerprint: t1, another-one"):
        import_scores(home, Incoming(path=path, format="flagembedding", teacher="big"))


@pytest.mark.parametrize("loss", ["MarginMSELoss", "DistillKLDivLoss"])
def test_sentence_transformers_trains_on_the_export(home: Where, tiny_student: Path, loss: str) -> None:
    import torch
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer import losses

    data = Dataset.from_parquet(str(written(home, "sentence-transformers")), cache_dir=str(home.home / "cache"))
    model = SentenceTransformer(str(tiny_student), device="cpu")
    before = torch.cat([value.flatten().clone() for value in model.parameters()])
    how = SentenceTransformerTrainingArguments(
        str(home.home / "trained"), max_steps=1, per_device_train_batch_size=3, use_cpu=True, report_to=[],
        save_strategy="no", disable_tqdm=True, learning_rate=1e-3, warmup_steps=0,
    )  # fmt: skip
    trainer = SentenceTransformerTrainer(model, how, train_dataset=data, loss=getattr(losses, loss)(model))
    trained = trainer.train()
    assert trained.training_loss == pytest.approx(trained.training_loss)
    assert not torch.equal(before, torch.cat([value.flatten() for value in model.parameters()]))


def test_a_name_that_its_library_passes_over_is_refused(home: Where) -> None:
    """FlagEmbedding trains on the files of its list that it knows by name, and says nothing of the others."""
    with pytest.raises(ValueError, match=r"lists\.txt: flagembedding reads only files whose names end in \.jsonl or"):
        export_lists(home, Lists(1, "flagembedding"), home.home / "lists.txt")
    assert not (home.home / "lists.txt").exists()

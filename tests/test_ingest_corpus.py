"""The corpus artifact: its files, its identity, and what the warehouse makes of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from sources import LABELS, PASSAGES, QUERIES, write_beir, write_jsonl

from tasks.ingest import assemble as assembling
from tasks.ingest.complaints import CorpusError
from tasks.ingest.corpus import ingest_corpus, make_corpus
from tasks.ingest.scripts import script_shares, word_counts
from tasks.ingest.settings import Columns, Source
from tasks.refs import Artifact, Run
from tasks.where import Where
from warehouse.texts import text_hash


def make(root: Path, folder: Path, **settings: object) -> Artifact:
    return make_corpus(root / "artifacts", Source.model_validate({"path": str(folder), **settings}))


def table(artifact: Artifact, name: str) -> pl.DataFrame:
    return pl.read_parquet(artifact.file(f"{name}.parquet"))


def test_the_artifact_holds_distinct_texts_sorted_by_hash(tmp_path: Path) -> None:
    passages = {**PASSAGES, "d4": ("", "Rivers A river is long."), "d5": ("A tree is tall.", "")}
    artifact = make(tmp_path, write_beir(tmp_path / "data", passages))
    rows = table(artifact, "passages")
    texts = {"Rivers A river is long.", "A tree is tall.", "A house is red."}
    assert rows.rows() == sorted((text_hash(text), text) for text in texts)
    assert rows.schema == {"hash": pl.Int64, "text": pl.String}
    river, tree, house = map(text_hash, ("Rivers A river is long.", "A tree is tall.", "A house is red."))
    assert table(artifact, "passage_ids").drop("document").rows() == [
        ("d1", "Rivers", river),
        ("d2", "", tree),
        ("d3", "", house),
        ("d4", "", river),
        ("d5", "A tree is tall.", tree),
    ]
    splits = {"what is long": "train", "what is tall": "dev", "what is red": "test"}
    assert table(artifact, "queries").rows() == sorted((text_hash(text), text, split) for text, split in splits.items())
    assert table(artifact, "query_ids").rows() == [
        (name, text_hash(text), splits[text]) for name, text in QUERIES.items()
    ]
    labels = [
        ("what is long", river, 1, "train"),
        ("what is tall", tree, 2, "dev"),
        ("what is red", house, 1, "test"),
        ("what is red", river, 0, "test"),
    ]
    assert table(artifact, "labels").rows() == sorted((text_hash(row[0]), *row[1:], "given") for row in labels)
    assert table(artifact, "labels").schema["grade"] == pl.Int32
    counts = artifact.facts["counts"]
    assert (counts["passages"], counts["passage_ids"], counts["duplicate_passages"]) == (3, 5, 2)
    assert counts["positives"] == {"train": 1, "dev": 1, "test": 1}
    assert artifact.facts["corpus"] == "data"
    assert artifact.facts["scripts"] == {"Latin": 1.0}
    assert "2 of 5 passage ids with the text of another id: one passage each" in artifact.facts["warnings"]


def test_labels_of_duplicate_passages_are_labels_of_the_one_text(tmp_path: Path) -> None:
    """Pitfall 16: an exact duplicate of the positive must not be free to become a negative."""
    passages = {**PASSAGES, "copy": PASSAGES["d2"]}
    labels = {**LABELS, "dev": [("q2", "d2", "1"), ("q2", "copy", "1")]}
    artifact = make(tmp_path, write_beir(tmp_path / "data", passages, QUERIES, labels))
    dev = table(artifact, "labels").filter(pl.col("split") == "dev")
    assert dev["passage_hash"].to_list() == [text_hash("A tree is tall.")]


def test_the_same_bytes_elsewhere_are_the_same_artifact(tmp_path: Path) -> None:
    """Paths are where it ran, not identity."""
    first = make(tmp_path, write_beir(tmp_path / "a" / "data"))
    assert make(tmp_path, write_beir(tmp_path / "b" / "data")).fingerprint == first.fingerprint
    assert make(tmp_path, tmp_path / "a" / "data", kind="beir").fingerprint == first.fingerprint


def test_whatever_changes_the_corpus_changes_its_name(tmp_path: Path) -> None:
    """Pitfall 2: a stage skipped because a file exists, though its settings changed."""
    folder = write_beir(tmp_path / "data", labels={**LABELS, "sparse": [("q1", "d1", "1"), ("q1", "d2", "1")]})
    found = [
        make(tmp_path, folder),
        make(tmp_path, folder, name="other"),
        make(tmp_path, folder, qrels={"train": "sparse.tsv"}),
        make(tmp_path, folder, qrels={"test": ""}),
        make(tmp_path, folder, qrels={"dev": "test.tsv", "test": "dev.tsv"}),
        make(tmp_path, folder, dev_share=0.3),
    ]
    (folder / "corpus.jsonl").write_bytes((folder / "corpus.jsonl").read_bytes() + b'{"_id": "d4", "text": "new"}\n')
    found.append(make(tmp_path, folder))
    assert len({artifact.fingerprint for artifact in found}) == len(found)


def test_a_pairs_column_is_part_of_the_name(tmp_path: Path) -> None:
    rows = [{"query": f"q{n}", "passage": f"p{n}", "long": f"longer p{n}"} for n in range(20)]
    path = write_jsonl(tmp_path / "pairs.jsonl", rows)
    short = make(tmp_path, path)
    long = make(tmp_path, path, columns=Columns(passage="long"))
    assert short.fingerprint != long.fingerprint
    assert short.facts["corpus"] == "pairs"
    assert table(long, "passages")["text"].str.starts_with("longer").all()


def test_refused_data_leaves_nothing_behind(tmp_path: Path) -> None:
    """Pitfall 4: an interrupted step leaves half a file that the next run takes for whole."""
    folder = write_beir(tmp_path / "data", labels={**LABELS, "test": [("q3", "d9", "1")]})
    with pytest.raises(CorpusError):
        make(tmp_path, folder)
    assert [path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()] == []
    assert list((tmp_path / "artifacts" / "ingest").iterdir()) == []


@pytest.mark.parametrize("role", ["passage", "query"])
def test_two_texts_of_one_hash_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str) -> None:
    """Pitfall 3: one of the two would be served the other's scores."""
    clash = {"passage": ("A tree is tall.", "A house is red."), "query": ("what is tall", "what is red")}[role]
    monkeypatch.setattr(assembling, "text_hash", lambda text: 7 if text in clash else text_hash(text))
    with pytest.raises(CorpusError, match=rf"2 hash collisions(.|\n)*{role} .* has the hash 7"):
        make(tmp_path, write_beir(tmp_path / "data"))


def test_hash_of_the_corpus_does_not_depend_on_the_process(tmp_path: Path) -> None:
    """Pitfall 5: a fingerprint that differs between processes."""
    here = make(tmp_path, write_beir(tmp_path / "data"))
    code = (
        "import sys; from pathlib import Path; from tasks.ingest.corpus import make_corpus; "
        "from tasks.ingest.settings import Source; "
        "print(make_corpus(Path(sys.argv[1]), Source(path=sys.argv[2])).fingerprint)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "there"), str(tmp_path / "data")]
    repository = Path(__file__).parents[1]
    env = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(repository)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == here.fingerprint
    for name in ("passages", "passage_ids", "queries", "query_ids", "labels"):
        there = tmp_path / "there" / "ingest" / here.path.name / f"{name}.parquet"
        assert there.read_bytes() == here.file(f"{name}.parquet").read_bytes()


def test_scripts_are_told_apart() -> None:
    shares = script_shares(pl.Series(["abc é 12 ,", "漢字", "ですネ", "слово", "ሀ"]))
    assert shares == {
        "Cyrillic": 0.3333,
        "Latin": 0.2667,
        "Han": 0.1333,
        "Hiragana": 0.1333,
        "Katakana": 0.0667,
        "other": 0.0667,
    }
    assert script_shares(pl.Series(["12 + 3"])) == {}


def test_words_of_scripts_without_spaces_are_characters() -> None:
    assert word_counts(pl.Series(["two words", "漢字 ok", "", "don't-split"])).to_list() == [2, 3, 0, 1]


def a_run(home: Path) -> Run:
    from tasks.record import warehouse_of
    from warehouse.load import start_run

    where = Where(home=home)
    return Run(id=start_run(warehouse_of(where), "distill", "tiny", "{}", {}), recipe="tiny", where=where)


def select(run: Run, sql: str) -> list[tuple[object, ...]]:
    from tasks.record import warehouse_of

    with warehouse_of(run.where).read() as connection:
        return connection.execute(sql).fetchall()


EVERYTHING = (
    "SELECT 'p', external_id, passage_key, since, until FROM passage_ids UNION ALL "
    "SELECT 'q', external_id, query_key, since, until FROM query_ids ORDER BY ALL"
)


def test_ingesting_the_same_folder_twice_changes_nothing(tmp_path: Path) -> None:
    source = Source(path=str(write_beir(tmp_path / "data")))
    run = a_run(tmp_path)
    first = ingest_corpus(run, source)
    before = select(run, EVERYTHING)
    again = a_run(tmp_path)
    assert ingest_corpus(again, source) == first
    assert len(before) == 6
    assert select(again, EVERYTHING) == before
    assert select(again, "SELECT count(*) FROM labels") == [(4,)]
    placed = select(
        again,
        "SELECT r.run_id, r.round, r.step, a.fingerprint FROM rounds AS r "
        "JOIN artifacts AS a ON a.artifact_id = r.artifact_id",
    )
    assert sorted(placed) == [(number, 0, "ingest", first.fingerprint) for number in (run.id, again.id)]


def test_an_edited_folder_keeps_what_is_unchanged_and_closes_what_is_gone(tmp_path: Path) -> None:
    """Pitfall 3: scores are kept by text, so an edited passage is another text."""
    source = Source(path=str(write_beir(tmp_path / "data")))
    run = a_run(tmp_path)
    ingest_corpus(run, source)
    before = dict(select(run, "SELECT external_id, passage_key FROM passage_ids WHERE until IS NULL"))
    shutil.rmtree(tmp_path / "data")
    edited = {"d1": PASSAGES["d1"], "d2": ("", "A tree is very tall."), "d4": ("", "New.")}
    write_beir(tmp_path / "data", edited, QUERIES, {**LABELS, "test": [("q3", "d4", "1")]})
    ingest_corpus(a_run(tmp_path), source)
    after = dict(select(run, "SELECT external_id, passage_key FROM passage_ids WHERE until IS NULL"))
    assert after.keys() == {"d1", "d2", "d4"}
    assert after["d1"] == before["d1"]
    assert after["d2"] != before["d2"]
    closed = select(run, "SELECT external_id FROM passage_ids WHERE until IS NOT NULL ORDER BY ALL")
    assert closed == [("d2",), ("d3",)]

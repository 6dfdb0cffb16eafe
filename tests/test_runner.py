"""Who computes shards: what both runners promise, and what stands in the way of a cluster."""

import socket
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command import Remine
from ray_shards import Notebook, Piece, who
from tiny import sentences
from tiny_corpus import make_corpus

import tasks.encode
from flows.cli.terminal import describe
from models.runtime import Runtime
from models.student import WINDOW, Student
from tasks.cluster import needed, room
from tasks.encode import encode_corpus
from tasks.encoding import BLOCK, encode_block
from tasks.refs import StudentRef
from tasks.runner import Question, ask, open_runner
from tasks.where import Ray, Where


def untold(count: int) -> None:
    pass


def on_ray(home: Path, **about: Any) -> Where:
    return Where(home=home, device="cpu", runner="ray", ray=Ray(**about))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_this_process_opens_once_for_a_question_and_all_shards(tmp_path: Path) -> None:
    book = Notebook(tmp_path / "opened")
    book.folder.mkdir()
    with open_runner(Where(home=tmp_path)) as runner:
        assert ask(runner, book, lambda folder, question, tick: (folder, question)) == (book.folder, Question())
        done = list(runner.map(book, who, [Piece(1), Piece(-2), Piece(3)], untold))
    assert len(book.opened) == 1
    assert [each.error is None for each in done] == [True, False, True], "one that fails costs none of the others"
    with pytest.raises(ValueError, match="piece -2 cannot be computed"):
        done[1].raise_failure()


def test_a_question_that_fails_is_raised(tmp_path: Path) -> None:
    book = Notebook(tmp_path / "opened")
    book.folder.mkdir()

    def refuse(folder: Path, question: Question, tick: Any) -> None:
        raise ValueError("this teacher cannot score in bf16")

    with open_runner(Where(home=tmp_path)) as runner, pytest.raises(ValueError, match="cannot score in bf16"):
        ask(runner, book, refuse)


def test_workers_have_threads_of_their_own(tmp_path: Path) -> None:
    where = on_ray(tmp_path, threads=3).model_copy(update={"threads": 8})
    assert (where.threads, where.worker.threads) == (8, 3)
    assert where.model_copy(update={"runner": "local"}).worker.threads == 8


def test_without_the_extra_a_sentence_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remine: Remine) -> None:
    monkeypatch.setattr("tasks.cluster.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError) as told, open_runner(on_ray(tmp_path)):
        pass
    assert "runner 'ray' needs ray and prefect_ray" in describe(told.value) and ".[ray]" in describe(told.value)
    assert "not foreseen" not in describe(told.value)
    code, out, _ = remine("doctor", "--home", str(tmp_path), "--runner", "ray", "--format", "json")
    assert code == 1
    line = pl.read_json(out.encode()).filter(pl.col("check") == "runner").row(0, named=True)
    assert line["state"] == "bad" and "prefect_ray" in line["found"] and ".[ray]" in line["do"]


def test_a_silent_cluster_is_named_by_its_address(tmp_path: Path, remine: Remine) -> None:
    """Ray itself waits for a minute and then speaks of GCS."""
    address = f"127.0.0.1:{free_port()}"
    pytest.importorskip("prefect_ray")
    told = pytest.raises(ConnectionError, match=f"no Ray cluster answers at {address}.*ray start --head")
    with told, open_runner(on_ray(tmp_path, address=address)):
        pass
    code, out, _ = remine("doctor", "--home", str(tmp_path), "--runner", "ray", "--ray", f"address={address}")
    assert code == 1 and f"no Ray cluster answers at {address}" in out


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--runner", "ray", "--ray", "address=ray://head:10001"], "is not HOST:PORT"),
        (["--runner", "ray", "--ray", "threads=0"], "threads"),
        (["--runner", "ray", "--ray", "wrokers=2"], "wrokers"),
        (["--runner", "ray", "--ray", "workers"], "--ray 'workers': needs key=value"),
        (["--ray", "workers=2"], "--ray workers=2: nobody reads it with --runner local"),
        (["--runner", "dask"], "dask"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    given: list[str], sentence: str, remine: Remine, tmp_path: Path
) -> None:
    code, _, err = remine("doctor", "--home", str(tmp_path), *given)
    assert code != 0 and sentence in err


def test_a_home_that_workers_would_not_find_is_refused() -> None:
    with pytest.raises(ValueError, match="name it from the root"):
        Where(home=Path("here"), runner="ray")


CPU, GPU = {"CPU": 8.0}, {"CPU": 16.0, "GPU": 4.0}


@pytest.mark.parametrize(
    ("device", "nodes", "gpus", "most"),
    [
        ("auto", [CPU, GPU], 1, 4),
        ("auto", [CPU, CPU], 0, 8),
        ("cpu", [GPU], 0, 8),
        ("cuda", [GPU | {"CPU": 5.0}], 1, 2),
    ],
)
def test_a_worker_gets_its_threads_and_a_gpu_where_there_are_some(
    device: Any, nodes: list[dict[str, float]], gpus: int, most: int
) -> None:
    needs = needed(Where(device=device, ray=Ray(threads=2)), nodes)
    assert needs == {"CPU": 2, "GPU": gpus}
    assert room(needs, nodes) == most


@pytest.mark.parametrize(
    ("device", "threads", "nodes"), [("cuda", 1, [CPU]), ("cpu", 9, [CPU, CPU]), ("auto", 9, [CPU, GPU | {"CPU": 4.0}])]
)
def test_a_worker_that_no_machine_has_room_for_is_refused(
    device: Any, threads: int, nodes: list[dict[str, float]]
) -> None:
    """Ray would wait for such a machine for ever, and nobody would know what for."""
    needs = needed(Where(device=device, ray=Ray(threads=threads)), nodes)
    with pytest.raises(ValueError, match=f"a worker needs {threads} CPU and . GPU on one machine.*8 CPU, 0 GPU"):
        room(needs, nodes)


def encoded(home: Path, student: Path) -> Any:
    where = Where(home=home, device="cpu", precision="fp32", threads=1, batch_tokens=128)
    corpus = make_corpus(where.artifacts_path, sentences(45, seed=1, longest=20), {"a cat": "train"}, [])
    return encode_corpus(where, corpus, StudentRef(system="base", fingerprint="one", path=student)), corpus


def test_blocks_are_the_windows_in_which_a_student_reads(tmp_path: Path, tiny_student: Path) -> None:
    """Batches across other borders would move vectors in their last bits, and what is near a threshold with them."""
    assert BLOCK == WINDOW
    made, corpus = encoded(tmp_path, tiny_student)
    texts = pl.read_parquet(corpus.file("passages.parquet"))["text"].to_list()
    np.save(
        tmp_path / "whole.npy",
        Student.load(tiny_student, Runtime("cpu", "fp32", 1)).encode_passages(texts, 128).vectors,
    )
    assert made.file("passages.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_blocks_that_are_encoded_are_not_encoded_again(
    tmp_path: Path, tiny_student: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks.encode, "BLOCK", 10)
    whole, _ = encoded(tmp_path / "whole", tiny_student)
    starts: list[int] = []

    def stumble(student: Any, block: Any, tick: Any) -> None:
        starts.append(block.start)
        if len(starts) == 3:
            raise KeyboardInterrupt
        encode_block(student, block, tick)

    monkeypatch.setattr(tasks.encode, "encode_block", stumble)
    with pytest.raises(KeyboardInterrupt):
        encoded(tmp_path / "stopped", tiny_student)
    made, _ = encoded(tmp_path / "stopped", tiny_student)
    assert starts == [0, 10, 20, 20, 30, 40, 0], "the last one is the query's"
    for name in ("passages.npy", "queries.npy"):
        assert made.file(name).read_bytes() == whole.file(name).read_bytes()
    assert {**made.facts, "seconds": 0} == {**whole.facts, "seconds": 0}
    assert not list((tmp_path / "stopped/data/artifacts/state").glob("*"))

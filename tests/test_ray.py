"""Shards on a Ray cluster of two workers: the same store as in one process, whoever is killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from ray_shards import DEADLY, Notebook, Piece, score_and_die_once, who
from scoring_bench import PASSAGES, QUERIES, Bench, open_bench
from tiny import sentences
from tiny_corpus import make_corpus

import tasks.encode
import tasks.score.scoring as scoring
from tasks.cluster import OWN
from tasks.encode import encode_corpus
from tasks.record import warehouse_of
from tasks.refs import StudentRef, TeacherRef
from tasks.runner import open_runner
from tasks.where import Ray, Where
from warehouse.queries import quality

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
STARTING = 60.0  # seconds


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster of two cores on loopback, as an operator starts one."""
    pytest.importorskip("prefect_ray")
    port, folder = 26379, tmp_path_factory.mktemp("ray")
    about = {**OWN, "RAY_AUTH_TOKEN": "a" * 64, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    patch = pytest.MonkeyPatch()
    for name, value in about.items():
        patch.setenv(name, value)
    options = ["--head", f"--port={port}", "--num-cpus=2", "--include-dashboard=false", "--block"]
    with (folder / "log.txt").open("wb") as log:
        started = subprocess.Popen(
            [Path(sys.executable).with_name("ray"), "start", *options, f"--object-store-memory={100 * 2**20}"],
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(folder / "log.txt", started)
        yield f"127.0.0.1:{port}"
    finally:
        started.terminate()
        started.wait(30)
        patch.undo()


def wait_for(log: Path, started: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + STARTING
    while "Ray runtime started" not in log.read_text("utf-8"):
        assert started.poll() is None and time.monotonic() < deadline, log.read_text("utf-8")
        time.sleep(0.2)


def on(address: str, home: Path) -> Where:
    home.mkdir(exist_ok=True)
    return Where(
        home=home, device="cpu", precision="fp32", threads=1, batch_tokens=128, runner="ray", ray=Ray(address=address)
    )


def untold(count: int) -> None:
    pass


def benches(tmp_path: Path, address: str, path: Path) -> tuple[Bench, Bench]:
    """The same work, once for this process and once for the cluster."""
    teacher = TeacherRef(fingerprint="teacher-one-fingerprint", path=path, name="tiny")
    here, there = (open_bench(tmp_path / name, teacher) for name in ("here", "there"))
    where = there.run.where.model_copy(update={"runner": "ray", "ray": Ray(address=address)})
    there.run = there.run.model_copy(update={"where": where})
    return here, there


def stores_are_equal(here: Bench, there: Bench) -> None:
    pairs = here.pairs(list(QUERIES), PASSAGES)
    assert here.score(pairs).fingerprint == there.score(there.pairs(list(QUERIES), PASSAGES)).fingerprint
    ours, theirs = (bench.stored(pairs).sort("query_hash", "passage_hash") for bench in (here, there))
    assert ours.height == len(QUERIES) * len(PASSAGES) == 180
    assert theirs.equals(ours), "another number of pairs, or other bits of their logits"
    assert [path.name for path in there.shard_files()] == [path.name for path in here.shard_files()]
    with warehouse_of(there.run.where).read() as connection:
        assert connection.sql("SELECT count(*) FROM teacher_scores").fetchall() == [(180,)]
    assert quality(warehouse_of(there.run.where)).height == 0


def test_a_worker_opens_once_and_all_take_part(tmp_path: Path, address: str) -> None:
    """A model that is loaded for every shard costs more than the shard."""
    book, ticked = Notebook(tmp_path / "opened"), list[int]()
    book.folder.mkdir()
    pieces = [Piece(number, seconds=0.5) for number in (1, 2, -3, 4, 5, 6, 7, 8)]
    answer = signal.getsignal(signal.SIGTERM)
    with open_runner(on(address, tmp_path / "home")) as runner:
        assert signal.getsignal(signal.SIGTERM) == answer, "a signal would end the run without a word"
        done = list(runner.map(book, who, pieces, ticked.append))
    pids = {each.value for each in done if each.error is None}
    assert len(pids) == 2 and os.getpid() not in pids
    assert book.opened == sorted(pids)
    failed = {each.shard.number: str(each.error) for each in done if each.error is not None}
    assert failed == {-3: "piece -3 cannot be computed"}
    assert sorted(each.shard.number for each in done) == [-3, 1, 2, 4, 5, 6, 7, 8] and sum(ticked) == 8


def test_scores_are_those_of_one_process_bit_for_bit(tmp_path: Path, address: str, tiny_teacher: Path) -> None:
    stores_are_equal(*benches(tmp_path, address, tiny_teacher))


def test_a_killed_worker_costs_a_retry_and_nothing_else(
    tmp_path: Path,
    address: str,
    tiny_teacher: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Pitfalls 4 and 45: a pair that is there twice, or a shard that is half there."""
    here, there = benches(tmp_path, address, tiny_teacher)
    there.pairs(list(QUERIES), PASSAGES)
    (here.home / "died").touch()  # this process is not to be killed
    monkeypatch.setattr(scoring, "score_shard", score_and_die_once)
    stores_are_equal(here, there)
    assert not psutil.pid_exists(int((there.home / "died").read_text("utf-8")))
    assert [line.count("number=1,") for line in caplog.messages if "retry" in line] == [1]


def test_a_shard_that_kills_every_worker_costs_none_of_the_others(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text that needs more memory than there is, tried for ever."""
    monkeypatch.setattr("tasks.cluster.RETRIES", 1)
    book = Notebook(tmp_path / "opened")
    book.folder.mkdir()
    with open_runner(on(address, tmp_path / "home")) as runner:
        pieces = [Piece(DEADLY), *(Piece(number, seconds=0.1) for number in range(1, 6))]
        done = {each.shard.number: each.error for each in runner.map(book, who, pieces, untold)}
    assert "2 workers were lost over it" in str(done.pop(DEADLY))
    assert done == dict.fromkeys(range(1, 6))


def test_vectors_are_those_of_one_process_byte_for_byte(
    tmp_path: Path, address: str, tiny_student: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks.encode, "BLOCK", 10)
    student = StudentRef(system="base", fingerprint="one", path=tiny_student)
    made = []
    for where in (Where(home=tmp_path / "here"), on(address, tmp_path / "there")):
        where = where.model_copy(update={"device": "cpu", "precision": "fp32", "threads": 1, "batch_tokens": 128})
        queries = {text: "train" for text in sentences(12, seed=2, longest=6)}
        corpus = make_corpus(where.artifacts_path, sentences(45, seed=1, longest=20), queries, [])
        made.append(encode_corpus(where, corpus, student))
    here, there = made
    for name in ("passages.npy", "queries.npy"):
        assert here.file(name).read_bytes() == there.file(name).read_bytes()
    assert {**here.facts, "seconds": 0} == {**there.facts, "seconds": 0}
    assert len(np.load(there.file("passages.npy"))) == 45


def test_an_interruption_stops_workers_in_the_midst_of_a_shard(tmp_path: Path, address: str) -> None:
    """A run that was cancelled, and whose workers go on computing on a cluster that others want to use."""
    book = Notebook(tmp_path / "opened")
    book.folder.mkdir()

    def interrupt() -> None:
        while not book.opened:
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    # whoever starts the tests in the background has SIGINT ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt), open_runner(on(address, tmp_path / "home")) as runner:
            list(runner.map(book, who, [Piece(1, seconds=100)], untold))
    finally:
        signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 10
    while any(psutil.pid_exists(pid) for pid in book.opened):
        assert time.monotonic() < deadline, "the worker goes on"
        time.sleep(0.1)


def test_a_cluster_of_our_own_listens_on_loopback_alone_and_ends(tmp_path: Path) -> None:
    """A port that is open to the network runs whatever code it is sent; and what Ray does to signals ends with it."""
    pytest.importorskip("prefect_ray")
    script = (
        "import sys; from pathlib import Path; from ray_shards import *; from tasks.runner import open_runner; "
        "from tasks.where import Ray, Where; import psutil\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('heard'))\n"
        "home = Path(sys.argv[1]); book = Notebook(home / 'opened'); book.folder.mkdir()\n"
        "with open_runner(Where(home=home, device='cpu', runner='ray', ray=Ray(workers=2))) as runner:\n"
        "    done = list(runner.map(book, who, [Piece(n, 0.2) for n in range(4)], lambda count: None))\n"
        "    signal.raise_signal(signal.SIGTERM)\n"
        "    family = [psutil.Process(), *psutil.Process().children(recursive=True)]\n"
        "    open_ = [c.laddr.ip for p in family for c in p.net_connections('inet') if c.status == 'LISTEN']\n"
        "print(len({each.value for each in done}), len(open_) > 3, sorted(set(open_)))\n"
        "print(len(psutil.Process().children(recursive=True)))\n"
        "signal.raise_signal(signal.SIGTERM)\n"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "PREFECT_"))}
    told = subprocess.run(
        [sys.executable, "-c", script, tmp_path],
        env={**kept, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert told.returncode == 0, told.stderr
    during, first, left, after = told.stdout.splitlines()
    assert during == after == "heard", "a signal would end the run without a word"
    addresses = first.removeprefix("2 True ")
    assert set(addresses.strip("[]").replace("'", "").split(", ")) <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}, told
    assert left == "0" and not (tmp_path / ".ray").exists()

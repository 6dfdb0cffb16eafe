"""What other programs rely on: the file format, migrations, the read-only prompt."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest
import warehouse_samples as sample
from typer.testing import CliRunner

import warehouse.migrate
from flows.cli.main import app
from warehouse import connect
from warehouse.connect import Warehouse
from warehouse.errors import WarehouseError
from warehouse.load import start_run
from warehouse.queries import select, select_arrow

COMMENTS = (
    "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal UNION ALL "
    "SELECT view_name, '', comment FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
)
WRITES = (
    "INSERT INTO labels FROM labels",
    "DELETE FROM runs",
    "UPDATE runs SET recipe = 'x'",
    "DROP TABLE runs",
    "CREATE TABLE x (y INTEGER)",
    "CREATE TEMP TABLE x AS SELECT 1",
    "ATTACH '{folder}/other.duckdb'",
    "ATTACH '{folder}/new.duckdb' AS made",
    "COPY runs TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/out.parquet'",
    "EXPORT DATABASE '{folder}/out'",
    "SELECT * FROM read_text('http://127.0.0.1:9/secret')",
    "SELECT getenv('HOME')",
    "EXPLAIN ANALYZE INSERT INTO labels FROM labels",
    "EXPLAIN ANALYZE COPY runs TO '{folder}/out.csv'",
    "CREATE SECRET made (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "IMPORT DATABASE '{folder}'",
    "USE temp",
    "VACUUM",
    "PREPARE asked AS SELECT 1",
    "CALL pragma_version()",
    "SELECT * FROM secret_frame",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "SET memory_limit = '1MB'",
    "PRAGMA enable_profiling",
    "CALL enable_logging(storage = 'file', storage_path = '{folder}/logs')",
    "INSTALL httpfs",
    "LOAD httpfs",
    "CHECKPOINT",
    "SELECT 1; DROP TABLE runs",
    "",
)
FILES = ("secret.csv", "warehouse.duckdb", "warehouse.duckdb.tmp/spilled.csv")
READS = (
    "FROM read_csv('{file}')",
    "FROM read_text('{file}')",
    "FROM read_blob('{file}*')",
    "FROM read_json('{file}')",
    "FROM read_parquet('{file}')",
    "FROM parquet_metadata('{file}')",
    "FROM sniff_csv('{file}')",
    "FROM glob('{file}')",
    "FROM query('FROM read_text(''{file}'')')",
    "SELECT (SELECT content FROM read_text('{file}'))",
    "SUMMARIZE FROM read_text('{file}')",
    "DESCRIBE FROM read_csv('{file}')",
    "EXPLAIN ANALYZE FROM read_text('{file}')",
    "PIVOT (FROM read_text('{file}')) ON content USING count(*)",
    "FROM '{file}'",
)


@pytest.fixture(scope="module")
def wh(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("surface")
    opened, run = sample.open_warehouse(folder)
    sample.play_round(opened, run, folder)
    return opened


@pytest.fixture
def mine(wh: Warehouse, tmp_path: Path) -> Warehouse:
    """A copy that a test may change; nobody has the file open when it is copied."""
    return Warehouse(Path(shutil.copy(wh.path, tmp_path)))


def test_a_question_is_answered_with_columns_and_rows(wh: Warehouse) -> None:
    columns, rows = select(wh, "SELECT query_id, label, count(*) FROM scored_candidates GROUP BY ALL ORDER BY ALL;")
    assert columns == ["query_id", "label", "count_star()"]
    assert rows == [("q1", None, 3), ("q2", None, 3)]
    assert select(wh, "SELECT 1 AS x, 2 AS x") == (["x", "x"], [(1, 2)])
    assert select(wh, "SELECT 1 AS x WHERE false") == (["x"], [])
    assert select_arrow(wh, "FROM top_k('big', 1)").num_rows == 2
    assert select(wh, "SELECT current_setting('lock_configuration')")[1] == [(True,)]
    # Times carry their zone, whatever packages are installed.
    ((started,),) = select(wh, "SELECT started_at FROM runs")[1]
    assert started.tzinfo is not None
    for asked in (
        "SHOW TABLES",
        "DESCRIBE scored_candidates",
        "SUMMARIZE runs",
        "EXPLAIN FROM runs",
        "WITH a AS (SELECT 1) FROM a",
        "PIVOT leaderboard ON system USING max(value)",
    ):
        assert select(wh, asked)[1], asked


@pytest.mark.parametrize("statement", WRITES)
def test_a_question_can_only_read_the_warehouse(mine: Warehouse, statement: str, tmp_path: Path) -> None:
    """Otherwise a query pasted from somewhere could spoil the warehouse or read the machine's files."""
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n", "utf-8")
    duckdb.connect(str(tmp_path / "other.duckdb")).close()
    secret_frame = sample.pl.DataFrame({"a": [1]})
    before = sorted(tmp_path.iterdir()), mine.path.read_bytes()
    with pytest.raises((WarehouseError, duckdb.Error)):
        select(mine, statement.format(folder=tmp_path))
    assert (sorted(tmp_path.iterdir()), mine.path.read_bytes()) == before
    assert secret_frame.height == 1


@pytest.mark.parametrize("statement", READS)
@pytest.mark.parametrize("name", FILES)
def test_a_question_reads_no_file_not_even_the_warehouses_own(mine: Warehouse, name: str, statement: str) -> None:
    """DuckDB leaves an open database's own file and its temporary folder readable, whatever else is forbidden."""
    Path(f"{mine.path}.tmp").mkdir()
    for table in (FILES[0], FILES[-1]):
        (mine.path.parent / table).write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(WarehouseError, match=r"files \(the warehouse's own too\) and the network are out of its reach"):
        select(mine, statement.format(file=mine.path.parent / name))


def test_a_question_that_is_too_large_is_told_so(mine: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may not use the disk, which would be a file within its reach."""
    little = {**connect.configuration(mine.path), "memory_limit": "64MiB"}
    monkeypatch.setattr(connect, "configuration", lambda path: little)
    large = "SELECT count(*) FROM (SELECT md5(i::VARCHAR) AS a FROM range(2_000_000) AS t(i) ORDER BY a OFFSET 9)"
    with pytest.raises(WarehouseError, match=r"needs more than the 64\.0 MiB of memory .* warehouse\.snapshot\.duckdb"):
        select(mine, large)
    assert sample.rows(mine, large) == [(2_000_000 - 9,)]


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (PIVOT leaderboard ON split USING max(value)) TO '{spill}/out.csv'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{spill}/out.csv'",
        "/* a */ EXPLAIN (ANALYZE, FORMAT json) COPY (PIVOT leaderboard ON split USING max(value)) TO '{spill}/o'",
        "CREATE TEMP TABLE made AS PIVOT leaderboard ON split USING max(value)",
    ],
)
def test_a_question_is_told_that_it_cannot_write(mine: Warehouse, statement: str) -> None:
    """DuckDB allows its own temporary folder whatever else is forbidden, and PIVOT hides what it stands in."""
    spill = Path(f"{mine.path}.tmp")
    spill.mkdir()
    with pytest.raises(WarehouseError, match="is not allowed here, ask with SELECT"):
        select(mine, statement.format(spill=spill))
    assert list(spill.iterdir()) == []


@pytest.mark.parametrize(
    "asked",
    [
        "(SELECT 1)",
        "select'a'",
        "/* a */ EXPLAIN (FORMAT json) -- b\n SELECT 1;",
        "explain analyze from runs",
        "TABLE runs",
    ],
)
def test_reading_is_allowed_however_it_is_written(mine: Warehouse, asked: str) -> None:
    assert select(mine, asked)[1]


def test_a_question_cannot_make_duckdb_log_to_a_file(mine: Warehouse, tmp_path: Path) -> None:
    """DuckDB 1.5 accepts the call, yet must not reach the file."""
    with suppress(duckdb.Error):
        select(mine, f"SELECT * FROM enable_logging(storage = 'file', storage_path = '{tmp_path}/logs')")
    assert not (tmp_path / "logs").exists()


def test_a_locked_down_question_does_not_lock_down_the_next_reader(wh: Warehouse) -> None:
    select(wh, "SELECT 1")
    file = wh.path.parent / "scores.parquet"
    assert sample.rows(wh, f"SELECT count(*) FROM read_parquet('{file}')") == [(8,)]


def test_clients_from_1_4_on_can_read_the_file(wh: Warehouse) -> None:
    """The newest command line client on PyPI is older than our DuckDB."""
    tags = sample.rows(wh, "SELECT tags FROM duckdb_databases() WHERE database_name = 'warehouse'")[0][0]
    assert tags["storage_version"].startswith("v1.4.0")


def test_opening_does_not_reach_for_the_network_or_all_memory(wh: Warehouse) -> None:
    names = ("autoinstall_known_extensions", "autoload_known_extensions", "threads", "temp_directory")
    with wh.read() as con:
        found = [con.execute(f"SELECT current_setting('{name}')").fetchall()[0][0] for name in names]
        limit = con.execute("SELECT current_setting('memory_limit')").fetchall()[0][0]
    assert found == [False, False, 2, f"{wh.path}.tmp"]
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    assert limit.endswith("GiB")
    assert float(limit.split()[0]) == pytest.approx(total / 4, rel=0.05)


def test_a_file_of_a_later_version_is_refused_and_left_alone(mine: Warehouse) -> None:
    with mine.write() as con:
        con.execute("INSERT INTO schema_version VALUES (29990101000000, 'later', 'x', now())")
    before = mine.path.read_bytes()
    with pytest.raises(WarehouseError, match=r"made by a later version .schema 29990101000000"):
        start_run(mine, "distill", "sample", "{}", {})
    with pytest.raises(WarehouseError, match="made by a later version"):
        sample.rows(mine, "FROM runs")
    assert mine.path.read_bytes() == before


def test_an_earlier_file_is_upgraded_with_its_rows_and_its_comments_are_said_again(
    mine: Warehouse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    described = sample.rows(mine, COMMENTS)
    with mine.write() as con:
        con.execute("COMMENT ON TABLE runs IS NULL")
        con.execute("COMMENT ON COLUMN cost.tokens IS 'nonsense'")
        con.execute("CREATE OR REPLACE VIEW leaderboard AS SELECT 1 AS one")
    later = tmp_path / "20300101000000_more.sql"
    later.write_text(
        "ALTER TABLE diagnostics ADD COLUMN unit VARCHAR; COMMENT ON COLUMN diagnostics.unit IS 'u';", "utf-8"
    )
    known = warehouse.migrate.migrations()
    monkeypatch.setattr(warehouse.migrate, "migrations", lambda: {**known, 20300101000000: later})
    start_run(mine, "distill", "sample", "{}", {})
    assert [row for row in sample.rows(mine, COMMENTS) if row[1] != "unit"] == described
    assert sample.rows(mine, "SELECT count(*) FROM leaderboard") == [(2,)]
    assert sample.rows(mine, "SELECT count(*), max(version) FROM schema_version") == [(len(known) + 1, 20300101000000)]
    assert sample.rows(mine, "SELECT count(*) FROM teacher_scores") == [(8,)]


def test_a_file_of_the_first_version_keeps_its_rows_and_gets_what_is_new(tmp_path: Path) -> None:
    """Real files of that version are about; the table `snapshot_info` of theirs is a view since."""
    path = tmp_path / "warehouse.duckdb"
    first, *later = warehouse.migrate.migrations().values()
    assert later
    with duckdb.connect(str(path)) as con:
        con.execute(first.read_text("utf-8"))
        con.execute(warehouse.migrate.LEDGER)
        con.execute("INSERT INTO schema_version VALUES (?, 'first', NULL, now())", [int(first.name.split("_")[0])])
        con.execute("INSERT INTO snapshot_info VALUES ('2026-11-29 12:00:00+00')")
        con.execute("INSERT INTO runs VALUES (1, 'distill', 'old', NULL, '{}', '{}', 'running', NULL, now(), NULL)")
        con.execute("INSERT INTO passage_ids VALUES ('toy', 'd1', '', 1, true, now(), NULL)")
    old = Warehouse(path)
    assert sample.rows(old, "SELECT recipe FROM runs") == [("old",)]
    start_run(old, "distill", "new", "{}", {})
    assert sample.rows(old, "SELECT run_id, recipe FROM runs ORDER BY run_id") == [(1, "old"), (2, "new")]
    assert sample.rows(old, "SELECT external_id, document FROM passage_ids") == [("d1", "d1")]
    told = "SELECT epoch(published_at)::BIGINT, run, recipe, status FROM snapshot_info"
    assert sample.rows(old, told) == [(1795953600, None, None, None)]
    assert sample.rows(old, COMMENTS) == sample.rows(sample.open_warehouse(tmp_path / "fresh")[0], COMMENTS)


def test_views_that_changed_without_a_migration_are_applied(mine: Warehouse) -> None:
    described = sample.rows(mine, COMMENTS)
    with mine.write() as con:
        con.execute("CREATE OR REPLACE VIEW leaderboard AS SELECT 1 AS one")
        con.execute("UPDATE schema_version SET surface = 'what an earlier version had'")
    start_run(mine, "distill", "sample", "{}", {})
    assert sample.rows(mine, COMMENTS) == described


def test_whoever_asks_before_the_next_run_finds_the_views_of_this_version(mine: Warehouse) -> None:
    """A question after an update would end in a view that is not there."""
    with mine.write() as con:
        con.execute("DROP VIEW mining_counts")
        con.execute("UPDATE schema_version SET surface = 'what an earlier version had'")
    asked = ["sql", "SELECT count(*) AS n FROM mining_counts", "--format", "csv", "--home", str(mine.path.parent)]
    told = CliRunner().invoke(app, asked)
    assert told.exit_code == 0, told.exception
    before = mine.path.read_bytes()
    mine.upgrade()
    assert mine.path.read_bytes() == before, "nothing is written where nothing is missing"


def test_a_migration_that_fails_changes_nothing(
    mine: Warehouse, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    later = tmp_path / "20300101000000_more.sql"
    later.write_text("DROP VIEW leaderboard; DELETE FROM teacher_scores; SELECT no_such_column FROM runs;", "utf-8")
    known = warehouse.migrate.migrations()
    with monkeypatch.context() as patch:
        patch.setattr(warehouse.migrate, "migrations", lambda: {**known, 20300101000000: later})
        with pytest.raises(duckdb.BinderException, match="no_such_column"):
            start_run(mine, "distill", "sample", "{}", {})
    assert sample.rows(mine, "SELECT count(*) FROM leaderboard") == [(2,)]
    assert sample.rows(mine, "SELECT count(*), (SELECT count(*) FROM teacher_scores) FROM schema_version") == [
        (len(known), 8)
    ]

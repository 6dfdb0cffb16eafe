"""What killed runs left half written, and how much room files take."""

import shutil
from pathlib import Path

from tasks.where import Where


def leftovers(where: Where) -> list[Path]:
    """Half-written folders and files below the home folder, in order; call it while no run is going on."""
    root = where.artifacts_path
    patterns = ("*/*.tmp-*", "shards/*/*.tmp*", "current/*.tmp*")
    found = {path for pattern in patterns for path in root.glob(pattern)}
    found |= set(where.home.glob("warehouse.snapshot.duckdb.tmp-*"))
    return sorted(found)


def remove(path: Path) -> None:
    """Remove a file or a folder with all it holds."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """Bytes of a file or of all files in a folder; 0 where there is none."""
    if path.is_file():
        return path.stat().st_size
    return sum(each.stat().st_size for each in path.rglob("*") if each.is_file() and not each.is_symlink())


def sized(count: int) -> str:
    """Bytes for people: 3.4 GiB."""
    size, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] == "B" else f"{size:.1f} {units[0]}"

"""Write docs/tree.md: every file of the project with the first sentence that it says about itself.

python docs/tree.py
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tree.md"
FOLDERS = ("flows", "tasks", "models", "warehouse", "benchmarks", "tests")
KINDS = (".py", ".sql", ".toml")
HEAD = """# The tree

Every file and what it is for, as its own first sentence says. Written by `python docs/tree.py`.
"""


def phrase(path: Path) -> str:
    """What a file says about itself in its first sentence; empty where it says nothing."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        said = ast.get_docstring(ast.parse(text)) or ""
    else:
        mark = "--" if path.suffix == ".sql" else "#"
        lines = [line.removeprefix(mark).strip() for line in text.splitlines()[:3] if line.startswith(mark)]
        said = " ".join(lines)
    return " ".join(said.split("\n\n")[0].split()).replace("|", "\\|")


def files() -> list[Path]:
    """Files of the project, folder by folder."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in KINDS]
    return sorted((path for path in found if path.stat().st_size), key=lambda path: (str(path.parent), path.name))


def page() -> str:
    """The page as Markdown."""
    parts, folder = [HEAD], None
    for path in files():
        said = phrase(path)
        if path.parent != folder:
            folder = path.parent
            parts.append(f"\n## {folder.relative_to(ROOT)}/\n")
            about = phrase(folder / "__init__.py") if (folder / "__init__.py").exists() else ""
            parts.append(f"\n{about}\n\n" if about else "\n")
        if path.name != "__init__.py":
            parts.append(f"- `{path.name}`: {said}\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")

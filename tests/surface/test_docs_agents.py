"""docs/agents.md: its blocks are run as the README's are, its settings are those that there are."""

from __future__ import annotations

import re

from kb_search.mcp.settings import McpSettings
from tests.surface import test_readme as readme

PAGE = readme.ROOT / "docs" / "agents.md"
folder = readme.folder


async def test_every_block_of_the_page_runs(folder, monkeypatch):
    monkeypatch.setattr(readme, "README", PAGE)
    blocks = readme.blocks_to_run()
    assert {block.language for block in blocks} == {"python", "sh"}
    names: dict[str, object] = {"__name__": "agents"}
    for block in blocks:
        where = f"agents.md:{block.line}"
        if block.language == "sh":
            code, output = await readme.run_shell(block, folder)
            assert code == 0, f"{where}: exit code {code}: {output}"
            continue
        printed = await readme.run_python(block, names)
        for line in re.findall(r"#> (.*)", block.text):
            assert line in printed, f"{where}: {printed!r}"


def test_the_page_names_every_setting_of_the_server_and_none_that_is_not():
    named = set(re.findall(r"KB_SEARCH_MCP_([A-Z_]*[A-Z])", PAGE.read_text(encoding="utf-8")))
    assert named == {name.upper() for name in McpSettings.model_fields}

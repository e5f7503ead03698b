"""MkDocs hook: fills the command-line reference with the help of the built program.

The page reference/cli.md holds a marker. In its place go the texts of `l2gcn --help` and of every command's help, so that the
page never differs from the program. L2GCN_PROGRAM names the program; scripts/docs.sh sets it.
"""

from __future__ import annotations

import os
import re
import subprocess

MARKER = "<!-- help of every command -->"


def _help(*arguments: str) -> str:
    program = os.environ.get("L2GCN_PROGRAM", "build/release/l2gcn")
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True, env=environment).stdout.strip()


def _commands(text: str) -> list[str]:
    """The names in the list of commands of `l2gcn --help`."""
    names: list[str] = []
    inside = False
    for line in text.splitlines():
        if re.match(r"(Subcommands|Commands)\b.*:$", line):
            inside = True
        elif inside and not line.strip():
            inside = False
        elif inside and (found := re.match(r"  ([a-z-]+)\s", line)):
            names.append(found[1])
    if len(names) < 5:
        raise RuntimeError("l2gcn --help: the list of commands was not found")
    return names


def _full_help(command: str) -> str:
    """All options of a command: --help-all where the command has it, else --help."""
    text = _help(command, "--help")
    return _help(command, "--help-all") if "--help-all" in text else text


def on_page_markdown(markdown: str, page, config, files) -> str:
    if MARKER not in markdown:
        return markdown
    overview = _help("--help")
    parts = [f"```text\n{overview}\n```\n"]
    for name in _commands(overview):
        if name != "help":
            parts.append(f"## {name}\n\n```text\n{_full_help(name)}\n```\n")
    return markdown.replace(MARKER, "\n".join(parts))

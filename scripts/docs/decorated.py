"""Griffe extension: docstrings that a decorator builds, and doctests as examples.

`l2gcn.train` and its neighbours get their docstrings from a decorator, which adds one entry for each setting of the library. The
site reads the source without importing it, so the text is taken from the decorator's argument, and a pointer to the command-line
reference stands where the settings would be listed.
"""

from __future__ import annotations

import ast
import inspect

import griffe

SETTINGS = """{}
        Every setting of the command of the same name, as a keyword. `help()` lists them; so does the command-line reference."""


def with_examples(text: str) -> str:
    """The text with a heading above its first doctest, so that it is rendered as code."""
    before, prompt, after = text.partition("\n>>> ")
    if not prompt or before.rstrip().endswith("--------"):
        return text
    return f"{before}\nExamples\n--------{prompt}{after}"


class DecoratedDocstrings(griffe.Extension):
    def on_instance(self, *, node, obj, **kwargs) -> None:
        self.find_text(node, obj)
        if obj.docstring is not None:
            obj.docstring.value = with_examples(obj.docstring.value)

    def find_text(self, node, obj) -> None:
        if obj.docstring is not None or not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return
        for decorator in node.decorator_list:
            if not isinstance(decorator, ast.Call) or not decorator.args:
                continue
            text = decorator.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                value = inspect.cleandoc(text.value.replace("{settings}", SETTINGS.format(self.keywords(node))))
                obj.docstring = griffe.Docstring(value, lineno=text.lineno, endlineno=text.end_lineno, parent=obj)

    def keywords(self, node) -> str:
        """How the function calls its settings: **settings, **machine."""
        arguments = getattr(node, "args", None)
        return f"**{arguments.kwarg.arg}" if arguments is not None and arguments.kwarg is not None else "**settings"

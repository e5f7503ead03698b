"""Griffe extension: docstrings that a decorator builds.

`l2gcn.train` and its neighbours get their docstrings from a decorator, which adds one entry for each setting of the library. The
site reads the source without importing it, so the text is taken from the decorator's argument, and a pointer to the command-line
reference stands where the settings would be listed.
"""

from __future__ import annotations

import ast

import griffe

SETTINGS = """**settings
        Every setting of the command of the same name, as a keyword. `help()` lists them; so does the command-line reference."""


class DecoratedDocstrings(griffe.Extension):
    def on_instance(self, *, node, obj, **kwargs) -> None:
        if obj.docstring is not None or not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            return
        for decorator in node.decorator_list:
            if not isinstance(decorator, ast.Call) or not decorator.args:
                continue
            text = decorator.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                value = text.value.replace("{settings}", SETTINGS)
                obj.docstring = griffe.Docstring(value, lineno=text.lineno, endlineno=text.end_lineno, parent=obj)

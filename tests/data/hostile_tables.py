"""Writes tables that are hostile but legal, as Python's csv module and pandas write them, and what they hold.

usage: hostile_tables.py FOLDER

FOLDER/cases.json lists the cases: files, and either the counts and cells that a right reader finds or the
words of the refusal, with line and column. Where pandas is installed it writes its cases itself; elsewhere the same
bytes come from the csv module (pandas' to_csv is csv.writer with an index column and "" for NaN).
"""
import csv
import io
import json
import os
import sys

try:
    import pandas
except ImportError:
    pandas = None

folder = sys.argv[1]
cases = []


def text_of(rows, **options):
    out = io.StringIO(newline="")
    csv.writer(out, **{"lineterminator": "\n", **options}).writerows(rows)
    return out.getvalue()


def frame(columns, rows, index=True):
    """What pandas.DataFrame(rows, columns=columns).to_csv(index=index) writes; None is NaN."""
    if pandas is not None:
        return pandas.DataFrame(rows, columns=columns).to_csv(index=index, lineterminator="\n")
    floats = [any(row[c] is None for row in rows) and all(row[c] is None or isinstance(row[c], int) for row in rows)
              for c in range(len(columns))]
    lines = [([""] if index else []) + list(columns)]
    for number, row in enumerate(rows):
        cells = ["" if cell is None else float(cell) if floats[c] else cell for c, cell in enumerate(row)]
        lines.append(([number] if index else []) + cells)
    return text_of(lines)


def case(name, edge_text, node_text=None, refuse=None, **expected):
    for suffix, text in (("edges", edge_text), ("nodes", node_text)):
        if text is None:
            continue
        data = text if isinstance(text, bytes) else text.encode("utf-8")
        with open(os.path.join(folder, f"{name}-{suffix}.csv"), "wb") as file:
            file.write(data)
    cases.append({"name": name, "has_nodes": node_text is not None, "refuse": refuse or [], "expect": expected})


people = ["Smith, John", 'Doe "JD" Jane', "line\nbreak", "O'Hara", "东京", "a;b|c\td"]
ring = [[people[i], people[(i + 1) % 6]] for i in range(6)]
table = [["id", "age", "kind"]] + [[name, 20 + i, "ab"[i % 2]] for i, name in enumerate(people)]
plain_edges = "source,target\n" + "".join(f"{i},{(i + 1) % 6}\n" for i in range(6))


def nodes_with(column, cells, separator=","):
    rows = [["id", column, "kind"]] + [[i, cell, "ab"[i % 2]] for i, cell in enumerate(cells)]
    return text_of(rows, delimiter=separator)


# 1-6: quoting, in both files
case("quote_minimal", text_of([["from", "to"]] + ring), text_of(table), nodes=6, edges=6, names=people, width=1)
case("quote_all", text_of([["from", "to"]] + ring, quoting=csv.QUOTE_ALL), text_of(table, quoting=csv.QUOTE_ALL),
     nodes=6, edges=6, names=people, width=1)
case("crlf", text_of([["from", "to"]] + ring, lineterminator="\r\n"), text_of(table, lineterminator="\r\n"),
     nodes=6, edges=6, names=people, width=1)
case("semicolons", text_of([["from", "to"]] + ring, delimiter=";"), text_of(table, delimiter=";"),
     nodes=6, edges=6, names=people, width=1)
case("tabs", text_of([["from", "to"]] + ring, delimiter="\t"), text_of(table, delimiter="\t"),
     nodes=6, edges=6, names=people, width=1)
case("bars", text_of([["from", "to"]] + ring, delimiter="|"), text_of(table, delimiter="|"),
     nodes=6, edges=6, names=people, width=1)
# 7-9: encodings and line ends
case("bom", b"\xef\xbb\xbf" + plain_edges.encode(), b"\xef\xbb\xbf" + nodes_with("x", range(6)).encode(),
     nodes=6, edges=6, width=1)
case("utf16", plain_edges.encode("utf-16"), refuse=["utf16-edges.csv", "UTF-16"])
case("latin1", plain_edges, nodes_with("city", ["münchen", "rom"] * 3).encode("latin-1"),
     refuse=["latin1-nodes.csv:2", "not UTF-8"])
case("old_mac", plain_edges.replace("\n", "\r"), nodes_with("x", range(6)).replace("\n", "\r"),
     nodes=6, edges=6, width=1)
# 11-14: pandas
numbered = [[i, (i + 1) % 6, 1.5] for i in range(6)]
case("pandas_index", frame(["src", "dst", "weight"], numbered), frame(["id", "x", "kind"], [[i, i, "ab"[i % 2]] for i in range(6)]),
     nodes=6, edges=6, width=1, weighted=True)
case("pandas_nan", frame(["src", "dst"], [[i, (i + 1) % 6] for i in range(6)], index=False),
     frame(["id", "x", "kind"], [[i, None if i == 3 else 10 * i, "ab"[i % 2]] for i in range(6)], index=False),
     nodes=6, edges=6, width=2, row=[3, [0, 1]])
case("pandas_float_ids", frame(["src", "dst"], [[float(i), float((i + 1) % 6)] for i in range(6)], index=False),
     frame(["id", "x", "kind"], [[i, i, "ab"[i % 2]] for i in range(6)], index=False), nodes=6, edges=6, width=1)
case("pandas_unnamed", "Unnamed: 0,src,dst\n" + "".join(f"{i},{i},{(i + 1) % 6}\n" for i in range(6)),
     nodes=6, edges=6)
# 15-18: numbers
case("thousands", plain_edges, nodes_with("income", ["1,234", "12,345.5", "999", "1,000,000", "5", "6"]),
     nodes=6, edges=6, width=1, row=[3, [1000000]])
case("decimal_comma", plain_edges.replace(",", ";"), nodes_with("x", ["0,5", "1,25", "2", "3,5", "1.234,5", "6"], ";"),
     nodes=6, edges=6, width=1, row=[4, [1234.5]])
case("missing_spellings", plain_edges, nodes_with("x", ["1", "NA", "n/a", "?", "-", "None"]),
     nodes=6, edges=6, width=2, row=[4, [0, 1]])
case("huge_number", plain_edges, nodes_with("x", ["1", "2", "1e400", "3", "4", "5"]),
     refuse=["huge_number-nodes.csv:4", "column x"])
# 19-24: rows and ids
case("ragged", plain_edges, "id,x,kind\n0,1,a\n1,2\n2,3,a\n3,4,b\n4,5,a\n5,6,b\n",
     refuse=["ragged-nodes.csv:3", "column kind"])
case("unquoted_comma", "from,to\nSmith, John,Ann\n", refuse=["unquoted_comma-edges.csv:2", "3 cells"])
case("mixed_ids", "from,to\n1,x\nx,007\n007,1\n", "id,v,kind\n1,1,a\nx,2,b\n007,3,a\n", nodes=3, edges=3, width=1,
     names=["1", "x", "007"])
case("open_quote", 'from,to\na,b\n"c,d\n', refuse=["open_quote-edges.csv:3", "column 1"])
case("behind_quote", 'from,to\na,"b"c\n', refuse=["behind_quote-edges.csv:2", "column 2"])
case("blank_lines_and_spaces", "\n\nfrom, to\n\n a , b \n b , c \n\n", "id , x , kind\n a , 1 , p \n b , 2 , q \n c , 3 , p \n",
     nodes=3, edges=2, width=1, names=["a", "b", "c"])
case("empty_cells", plain_edges, nodes_with("city", ["rome", "", "oslo", "rome", "", "rome"]),
     nodes=6, edges=6, width=3, row=[1, [0, 0, 1]])

with open(os.path.join(folder, "cases.json"), "w", encoding="utf-8") as file:
    json.dump({"pandas": pandas is not None, "cases": cases}, file)

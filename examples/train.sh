#!/usr/bin/env bash
# From a generated graph to predictions, a report and a second model to compare with. Needs l2gcn on the PATH; writes into the
# current folder.
set -euo pipefail

l2gcn generate cora -o citations
l2gcn train citations --epochs 10 -o default-run
l2gcn train citations --preset paper --epochs 10 -o paper-run
l2gcn evaluate default-run --confusion confusion.csv
l2gcn predict default-run -o predictions.csv
l2gcn embed default-run --layer 1 -o embeddings.npy
l2gcn report default-run paper-run -o report.html

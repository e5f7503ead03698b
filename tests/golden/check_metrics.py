"""Holds what `l2gcn evaluate --json` says of a run against scikit-learn, from the table that `l2gcn predict` writes.

usage: check_metrics.py L2GCN RUN [RUN…]      (scikit-learn 1.6 or newer)

A run of a multi-label set must have been trained on a native directory, whose labels.npy holds the truth.

Every figure of every part must agree to 1e-12. scripts/check-metrics.sh makes the runs.
"""
import csv
import io
import json
import subprocess
import sys
import warnings

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import (accuracy_score, average_precision_score, balanced_accuracy_score, confusion_matrix,
                             f1_score, log_loss, multilabel_confusion_matrix, roc_auc_score)

warnings.simplefilter("ignore")
TOLERANCE = 1e-12


def mean_of_known(values):
    values = [v for v in values if v is not None]
    return float(np.mean(values)) if values else None


def auc(truth, score):
    return roc_auc_score(truth, score) if 0 < truth.sum() < len(truth) else None


def precision(truth, score):
    return average_precision_score(truth, score) if truth.sum() > 0 else None


def calibration_error(right, probability):
    frequency, mean = calibration_curve(right, probability, n_bins=10, strategy="uniform")
    counts = np.bincount(np.searchsorted(np.linspace(0.0, 1.0, 11)[1:-1], probability), minlength=10)
    counts = counts[counts > 0]
    return float(np.sum(np.abs(frequency - mean) * counts) / counts.sum())


def one_label(truth, predicted, p):
    classes = p.shape[1]
    two = classes == 2
    ranked = [1] if two else range(classes)
    right = truth == 1 if two else p.argmax(1) == truth
    return {"f1": f1_score(truth, predicted, average="micro"), "macro_f1": f1_score(truth, predicted, average="macro"),
            "accuracy": accuracy_score(truth, predicted),
            "balanced_accuracy": balanced_accuracy_score(truth, predicted),
            "roc_auc": mean_of_known([auc(truth == c, p[:, c]) for c in ranked]),
            "average_precision": mean_of_known([precision(truth == c, p[:, c]) for c in ranked]),
            "log_loss": log_loss(truth, p, labels=np.arange(classes)),
            "calibration_error": calibration_error(right, p[:, 1] if two else p.max(1)),
            "confusion": confusion_matrix(truth, predicted, labels=np.arange(classes)).tolist()}


def multi_label(truth, predicted, p):
    labels = range(p.shape[1])
    losses = [log_loss(truth[:, c], np.column_stack([1 - p[:, c], p[:, c]]), labels=[0, 1]) for c in labels]
    return {"f1": f1_score(truth, predicted, average="micro"), "macro_f1": f1_score(truth, predicted, average="macro"),
            "accuracy": accuracy_score(truth, predicted), "balanced_accuracy": None,
            "roc_auc": mean_of_known([auc(truth[:, c], p[:, c]) for c in labels]),
            "average_precision": mean_of_known([precision(truth[:, c], p[:, c]) for c in labels]),
            "log_loss": float(np.mean(losses)), "calibration_error": calibration_error(truth.ravel(), p.ravel()),
            "confusion": multilabel_confusion_matrix(truth, predicted).tolist()}


def compare(run, part, expected, evaluated):
    worst = 0.0
    for name, value in expected.items():
        found = evaluated[name][part]
        if name == "confusion":
            assert found == value, f"{run} {part} {name}: {found}, scikit-learn says {value}"
        elif value is None or found is None:
            assert value is None and found is None, f"{run} {part} {name}: {found}, scikit-learn says {value}"
        else:
            worst = max(worst, abs(found - value))
            assert abs(found - value) <= TOLERANCE, f"{run} {part} {name}: {found}, scikit-learn says {value}"
    return worst


def check(program, run):
    def say(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout

    evaluated = json.loads(say("evaluate", run, "--json"))
    rows = list(csv.reader(io.StringIO(say("predict", run, "-o", "-"))))
    header, rows = rows[0], rows[1:]
    split = np.array([row[1] for row in rows])
    multi = evaluated["dataset"]["multilabel"]
    names = header[2:-1] if multi else header[5:]
    p = np.array([row[2:-1] if multi else row[5:] for row in rows], np.float32).astype(np.float64)
    if multi:
        with open(f"{run}/result.json") as file:
            truth = np.load(json.load(file)["source"]["spec"] + "/labels.npy").astype(int)
        predicted = np.array([[int(name in row[-1].split(";")) for name in names] for row in rows])
        known = np.full(len(rows), True)
    else:
        truth = np.array([names.index(row[2]) if row[2] else -1 for row in rows])
        predicted = np.array([names.index(row[3]) for row in rows])
        known = truth >= 0
    worst = 0.0
    for part in evaluated["f1"]:
        here = known & ((split == part) | (part == "all"))
        expected = (multi_label if multi else one_label)(truth[here], predicted[here], p[here])
        worst = max(worst, compare(run, part, expected, evaluated))
    print(f"{run}: {len(evaluated['f1'])} parts agree, largest difference {worst:.1e}")


for path in sys.argv[2:]:
    check(sys.argv[1], path)

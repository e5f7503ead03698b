"""1,000 random cases and what scikit-learn says of them: the golden file of tests/model/score_test.cpp.

usage: make_metrics.py > metrics.txt        (scikit-learn 1.6 or newer)

A case is two lines. The first: kind (one | multi), classes, then one word a node. A word has one digit a class (base
36) and, behind a dot, the truth: a class digit, or one 0/1 a label. The digits are weights a; probabilities are
float32(a) / float32(sum of the row) for one label a node and float32(a) / 32 for many. A class is chosen by the
largest probability, the first of equals; a label is on above 0.5.

The second line: micro F1, macro F1, accuracy, balanced accuracy, ROC AUC, average precision, log loss, calibration
error; nan where a figure is not defined. Where scikit-learn refuses or warns because a class has no members or no
others, that class is left out of the mean.
"""
import sys
import warnings

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import (accuracy_score, average_precision_score, balanced_accuracy_score, f1_score, log_loss,
                             roc_auc_score)

warnings.simplefilter("ignore")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
CASES = 1000
random = np.random.default_rng(20240229)


def mean_of_known(values):
    values = [v for v in values if not np.isnan(v)]
    return float(np.mean(values)) if values else float("nan")


def auc(truth, score):
    return roc_auc_score(truth, score) if 0 < truth.sum() < len(truth) else float("nan")


def precision(truth, score):
    return average_precision_score(truth, score) if truth.sum() > 0 else float("nan")


def calibration_error(right, probability):
    """Mean gap between frequency and probability over ten bins, weighted by their nodes."""
    frequency, mean = calibration_curve(right, probability, n_bins=10, strategy="uniform")
    bins = np.linspace(0.0, 1.0, 11)
    counts = np.bincount(np.searchsorted(bins[1:-1], probability), minlength=10)
    counts = counts[counts > 0]
    return float(np.sum(np.abs(frequency - mean) * counts) / counts.sum())


def loss_of(truth, probability, classes):
    return log_loss(truth, probability, labels=np.arange(classes))


def one_label(n, classes):
    levels = random.choice([2, 4, 12, 36])  # few levels: many ties
    weights = random.integers(0, levels, (n, classes))
    weights[weights.sum(1) == 0, 0] = 1
    used = random.permutation(classes)[:random.integers(1, classes + 1)]  # the others are absent from the truth
    truth = random.choice(used, n)
    helped = random.random(n) < random.choice([0, 0.5, 0.9])
    weights[np.arange(n)[helped], truth[helped]] = levels - 1 if levels > 2 else 1
    p32 = weights.astype(np.float32) / weights.sum(1, keepdims=True).astype(np.float32)
    p = p32.astype(np.float64)
    predicted = p.argmax(1)
    if classes == 2:
        area, average = auc(truth == 1, p[:, 1]), precision(truth == 1, p[:, 1])
        ece = calibration_error(truth == 1, p[:, 1])
    else:
        area = mean_of_known([auc(truth == c, p[:, c]) for c in range(classes)])
        average = mean_of_known([precision(truth == c, p[:, c]) for c in range(classes)])
        ece = calibration_error(predicted == truth, p.max(1))
        if len(set(truth)) == classes:  # nothing is left out: scikit-learn's own mean
            assert abs(area - roc_auc_score(truth, p, multi_class="ovr")) < 1e-12
    words = ["".join(DIGITS[a] for a in row) + "." + DIGITS[t] for row, t in zip(weights, truth)]
    figures = [f1_score(truth, predicted, average="micro"), f1_score(truth, predicted, average="macro"),
               accuracy_score(truth, predicted), balanced_accuracy_score(truth, predicted), area, average,
               loss_of(truth, p, classes), ece]
    return ["one", classes, *words], figures


def multi_label(n, classes):
    weights = random.integers(0, 33, (n, classes)) if random.random() < 0.5 else 8 * random.integers(0, 5, (n, classes))
    rates = random.choice([0, 0.1, 0.5, 1], classes)  # labels that are never or always on, too
    truth = (random.random((n, classes)) < rates).astype(int)
    p = (weights.astype(np.float32) / np.float32(32)).astype(np.float64)
    predicted = (p > 0.5).astype(int)
    area = mean_of_known([auc(truth[:, c], p[:, c]) for c in range(classes)])
    average = mean_of_known([precision(truth[:, c], p[:, c]) for c in range(classes)])
    losses = [loss_of(truth[:, c], np.column_stack([1 - p[:, c], p[:, c]]), 2) for c in range(classes)]
    words = ["".join(DIGITS[a] for a in row) + "." + "".join(map(str, t)) for row, t in zip(weights, truth)]
    figures = [f1_score(truth, predicted, average="micro"), f1_score(truth, predicted, average="macro"),
               accuracy_score(truth, predicted), float("nan"), area, average, float(np.mean(losses)),
               calibration_error(truth.ravel(), p.ravel())]
    return ["multi", classes, *words], figures


for case in range(CASES):
    n = int(random.integers(1, 25))
    kind = case % 4
    if kind == 0:
        line, figures = one_label(n, 2)
    elif kind in (1, 2):
        line, figures = one_label(n, int(random.integers(3, 8)))
    else:
        line, figures = multi_label(n, int(random.integers(2, 6)))
    print(*line)
    print(*(repr(float(f)) for f in figures))
print(f"{CASES} cases", file=sys.stderr)

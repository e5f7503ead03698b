"""300 random cases and their figures: the golden file of tests/model/regression_score_test.cpp.

usage: make_regression.py > regression.txt

A case is three lines: the true numbers, the predicted ones, and R², MAE, RMSE and Spearman's correlation, nan where a
figure is not defined. The figures are those of scikit-learn's r2_score, mean_absolute_error and
root_mean_squared_error and of scipy.stats.spearmanr, by their definitions in exact fractions; where scikit-learn is
installed, its figures are compared first. Numbers are multiples of 1/8, so that ties occur.
"""
import math
import random
import sys
from fractions import Fraction

CASES = 300


def root(value):
    """The square root of a fraction, correct to 30 digits."""
    scale = 10**60
    return Fraction(math.isqrt(value.numerator * scale // value.denominator), 10**30)


def ranks(values):
    """1 … n; equal values have the mean of their ranks."""
    order = sorted(values)
    return [Fraction(2 * order.index(v) + order.count(v) + 1, 2) for v in values]


def correlation(a, b):
    mean_a, mean_b = sum(a) / Fraction(len(a)), sum(b) / Fraction(len(b))
    ab = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    aa, bb = sum((x - mean_a) ** 2 for x in a), sum((y - mean_b) ** 2 for y in b)
    return float(ab / root(aa * bb)) if aa and bb else math.nan


def r2(truth, squares):
    if len(truth) < 2:
        return math.nan
    mean = sum(truth) / len(truth)
    total = sum((t - mean) ** 2 for t in truth)
    return float(1 - squares / total) if total else float(squares == 0)


def figures(truth, predicted):
    errors = [p - t for t, p in zip(truth, predicted)]
    squares, n = sum(e * e for e in errors), len(truth)
    return [r2(truth, squares), float(sum(abs(e) for e in errors) / n), float(root(squares / n)),
            correlation(ranks(truth), ranks(predicted))]


def compare(truth, predicted, found):
    """Raises where scikit-learn and SciPy say something else; does nothing without them."""
    try:
        from scipy.stats import spearmanr
        from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error
    except ImportError:
        return
    t, p = [float(v) for v in truth], [float(v) for v in predicted]
    theirs = [r2_score(t, p), mean_absolute_error(t, p), root_mean_squared_error(t, p),
              float(spearmanr(t, p).statistic)]
    for a, b in zip(found, theirs):
        assert math.isnan(a) and math.isnan(b) or abs(a - b) <= 1e-12 * max(1, abs(b)), (t, p, found, theirs)


def case(draw):
    n = draw.choice([1, 2, 3, 5, 8, 20, 40])
    spread = draw.choice([1, 3, 40, 4000])
    truth = [Fraction(draw.randint(-spread, spread), 8) for _ in range(n)]
    if draw.random() < 0.1:
        truth = [truth[0]] * n
    closeness = draw.choice([0, 1, 10])
    predicted = [t * draw.choice([0, 1, 1]) + Fraction(draw.randint(-closeness * spread, closeness * spread), 80) for t in truth]
    predicted = [Fraction(round(p * 8), 8) for p in predicted]
    return truth, predicted


def main():
    draw = random.Random(20260101)
    for _ in range(CASES):
        truth, predicted = case(draw)
        found = figures(truth, predicted)
        compare(truth, predicted, found)
        for row in (truth, predicted, found):
            print(" ".join(repr(float(v)) for v in row))


if __name__ == "__main__":
    sys.exit(main())

#include "data/labels.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/error_format.h"
#include "data/csv.h"
#include "data/edge_text.h"
#include "data/spellings.h"

namespace l2gcn {
namespace {

constexpr uint64_t kMaxLabels = 1u << 16;
constexpr int64_t kNoLabel = std::numeric_limits<int64_t>::min();

// The class of each value is its position among `distinct` (sorted); values that are no class are −1.
template <class T, class IsClass>
Labels Index(std::span<const T> values, const std::vector<T>& distinct, const IsClass& is_class) {
  Labels labels;
  labels.classes = static_cast<uint32_t>(distinct.size());
  labels.classes_of = Array<int32_t>::Allocate(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), values[i]);
    labels.classes_of.mutable_data()[i] =
        is_class(values[i]) ? static_cast<int32_t>(at - distinct.begin()) : -1;
  }
  return labels;
}

template <class T, class IsClass>
std::vector<T> SortedDistinct(std::span<const T> values, const IsClass& is_class) {
  std::set<T> distinct;
  for (const T& value : values) {
    if (is_class(value)) distinct.insert(value);
  }
  return {distinct.begin(), distinct.end()};
}

// Numbers as a file holds them, −1 included; kNoLabel where it holds none.
Labels LabelsFromGiven(const Context& context, const std::string& where, std::span<const int64_t> numbers,
                       std::vector<std::string>& class_names) {
  MinusOneRule rule;
  for (const int64_t number : numbers) {
    if (number != kNoLabel) rule.See(number);
  }
  rule.Note(context, where);
  if (!rule.AreClasses()) return LabelsFromNumbers(numbers, class_names);
  class_names = {"-1", "1"};
  return Index(numbers, {-1, 1}, [](int64_t number) { return number != kNoLabel; });
}

void WarnOfSpellings(const Context& context, const std::string& where,
                     const std::vector<std::string>& class_names) {
  if (const std::string variants = SpellingVariants(class_names); !variants.empty()) {
    context.Warn(fmt::format(
        "{}: classes that differ only in case or blanks: {}. Each is a class of its own; if they are one, "
        "write them alike (in pandas: table[COLUMN].str.strip().str.lower())",
        where, variants));
  }
  std::vector<std::string> words;
  std::copy_if(class_names.begin(), class_names.end(), std::back_inserter(words), ReadsLikeMissing);
  if (words.empty()) return;
  context.Warn(fmt::format(
      "{}: {} as if there were no label, but {} a class; --missing {} leaves those nodes without a label",
      where, fmt::format("{} read{}", fmt::join(words, ", "), words.size() == 1 ? "s" : ""),
      words.size() == 1 ? "it is" : "each is", fmt::join(words, ",")));
}

}  // namespace

void MinusOneRule::Note(const Context& context, const std::string& where) const {
  if (count_ == 0) return;
  context.Note(AreClasses()
                   ? fmt::format("{}: -1 and 1 are the only labels: two classes", where)
                   : fmt::format("{}: {} label{} of -1 mean{} no label; if -1 is a class, write it as a word",
                                 where, count_, count_ == 1 ? "" : "s", count_ == 1 ? "s" : ""));
}

Labels LabelsFromNumbers(std::span<const int64_t> numbers, std::vector<std::string>& class_names) {
  const auto is_class = [](int64_t number) { return number >= 0; };
  std::vector<int64_t> distinct = SortedDistinct(numbers, is_class);
  // Numbers from 0 on are classes as they stand even if a few of them occur nowhere; anything else is a name.
  if (!distinct.empty() && distinct[0] == 0 &&
      static_cast<uint64_t>(distinct.back()) < 2 * distinct.size() + 16) {
    const int64_t last = distinct.back();
    distinct.clear();
    for (int64_t c = 0; c <= last; ++c) distinct.push_back(c);
  } else {
    class_names.clear();
    for (const int64_t value : distinct) class_names.push_back(std::to_string(value));
  }
  return Index(numbers, distinct, is_class);
}

Labels LabelsFromNames(std::span<const std::string_view> names, std::vector<std::string>& class_names) {
  const auto is_class = [](std::string_view name) { return !name.empty(); };
  const std::vector<std::string_view> distinct = SortedDistinct(names, is_class);
  class_names.assign(distinct.begin(), distinct.end());
  return Index(names, distinct, is_class);
}

Labels LabelsFromTexts(const Context& context, const std::string& where,
                       std::span<const std::string_view> texts, std::vector<std::string>& class_names) {
  std::vector<std::string_view> names(texts.size());
  std::vector<int64_t> numbers(texts.size(), kNoLabel);
  bool whole = true;
  uint64_t trimmed = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = TrimBlanks(texts[i]);
    if (IsMissing(name)) continue;
    names[i] = name;
    trimmed += name.size() < texts[i].size() ? 1 : 0;
    whole = whole && ParseId(name, numbers[i]) && numbers[i] >= -1;
  }
  if (trimmed > 0)
    context.Note(
        fmt::format("{}: blanks around {} label{} are dropped", where, trimmed, trimmed == 1 ? "" : "s"));
  if (whole) return LabelsFromGiven(context, where, numbers, class_names);
  Labels labels = LabelsFromNames(names, class_names);
  WarnOfSpellings(context, where, class_names);
  return labels;
}

namespace {

// Whether the array holds targets: by the task, or else by its numbers.
bool HoldsTargets(const Context& context, const NpyArray& array, const std::string& task) {
  const size_t dimensions = array.shape().size();
  if (!task.empty()) return task == kRegressionTask;
  if (!array.is_float() || dimensions == 0 || dimensions > 2) return false;
  const Array<double> values = array.As<double>(context);
  const bool several = dimensions == 2 && array.shape()[1] > 1;
  return std::any_of(values.begin(), values.end(), [&](double value) {
    if (std::isnan(value)) return false;
    return several ? value != 0 && value != 1 : value != std::floor(value);
  });
}

Labels TargetsFromArray(const Context& context, const NpyArray& array) {
  if (array.is_string() || array.is_object())
    ThrowInput("{}: holds text; a regression needs numbers, and NaN where one is missing", array.where());
  Labels labels;
  labels.targets = array.AsMatrix(context);
  if (labels.targets.cols > kMaxLabels)
    ThrowInput("{}: {} targets a node are absurd", array.where(), labels.targets.cols);
  labels.classes = static_cast<uint32_t>(labels.targets.cols);
  return labels;
}

}  // namespace

Labels LabelsFromArray(const Context& context, const NpyArray& array, std::vector<std::string>& class_names,
                       const std::string& task) {
  if (HoldsTargets(context, array, task)) {
    if (task.empty())
      context.Note(fmt::format("{}: numbers that are not whole: the targets of a regression", array.where()));
    return TargetsFromArray(context, array);
  }
  const std::vector<uint64_t>& shape = array.shape();
  if (shape.size() == 1 || (shape.size() == 2 && shape[1] == 1)) {
    if (array.is_string()) {
      const std::vector<std::string> text = array.AsStrings();
      const std::vector<std::string_view> names(text.begin(), text.end());
      Labels labels = LabelsFromNames(names, class_names);
      WarnOfSpellings(context, array.where(), class_names);
      return labels;
    }
    const Array<int64_t> numbers = array.As<int64_t>(context, array.is_float() ? &kNoLabel : nullptr);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < -1 && !(array.is_float() && numbers[i] == kNoLabel)) {
        ThrowInput("{}: the class of node {} is {}; classes count from 0, and -1 is no class", array.where(),
                   i, numbers[i]);
      }
    }
    return LabelsFromGiven(context, array.where(), numbers.span(), class_names);
  }
  array.ExpectDimensions(2);
  if (shape[1] > kMaxLabels) ThrowInput("{}: {} labels a node are absurd", array.where(), shape[1]);
  Labels labels;
  labels.multilabel = true;
  labels.classes = static_cast<uint32_t>(shape[1]);
  labels.matrix = array.As<uint8_t>(context);
  return labels;
}

Labels MultilabelFromSparse(const CsrMatrix& matrix, const std::string& where) {
  uint64_t cells = 0;
  // The number of columns is only a claim; a matrix this much larger than its entries would be memory for
  // nothing.
  if (matrix.cols > kMaxLabels || __builtin_mul_overflow(matrix.rows, matrix.cols, &cells) ||
      cells / 4096 > matrix.nnz() + matrix.rows) {
    ThrowInput("{}: {} × {} labels for {} entries are absurd", where, matrix.rows, matrix.cols, matrix.nnz());
  }
  Labels labels;
  labels.multilabel = true;
  labels.classes = static_cast<uint32_t>(matrix.cols);
  labels.matrix = Array<uint8_t>::Zeros(cells);
  for (size_t row = 0; row < matrix.rows; ++row) {
    for (uint64_t e = matrix.indptr[row]; e < matrix.indptr[row + 1]; ++e) {
      if (matrix.values[e] != 0) labels.matrix.mutable_data()[row * matrix.cols + matrix.indices[e]] = 1;
    }
  }
  return labels;
}

}  // namespace l2gcn

// ApplySchema: another table matched to a schema.
#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/csv.h"
#include "data/schema_features.h"
#include "data/spellings.h"
#include "data/table_numbers.h"
#include "data/table_schema.h"
#include "l2gcn/config.h"

namespace l2gcn {
namespace {

constexpr size_t kSchemaRows = 512;
constexpr size_t kToldCategories = 3;

std::vector<std::string> NamesOf(const TableSchema& schema) {
  std::vector<std::string> names;
  for (const TableSchema::Column& column : schema.columns) names.push_back(column.name);
  return names;
}

std::string WhereOf(const Dataset& dataset) {
  if (!dataset.schema.path.empty()) return dataset.schema.path;
  return dataset.path.empty() ? dataset.name : dataset.path;
}

std::string ListedLevels(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kToldCategories);
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", "),
                     shown < names.size() ? ", …" : "");
}

// Finds the level that a word is: spelled the same, or the only one that differs from it in nothing but case and blanks.
class LevelFinder {
 public:
  explicit LevelFinder(const std::vector<std::string>& levels) : levels_(levels) {
    for (uint32_t level = 0; level < levels.size(); ++level) {
      const auto [known, is_new] = folded_.emplace(FoldSpelling(levels[level]), level);
      if (!is_new) known->second = kNoFeature;
    }
  }
  // kNoFeature if there is none.
  uint32_t operator()(const std::string& word) const {
    const auto same = std::lower_bound(levels_.begin(), levels_.end(), word);
    if (same != levels_.end() && *same == word) return static_cast<uint32_t>(same - levels_.begin());
    const auto found = folded_.find(FoldSpelling(word));
    return found == folded_.end() ? kNoFeature : found->second;
  }

 private:
  const std::vector<std::string>& levels_;            // They ascend.
  std::unordered_map<std::string, uint32_t> folded_;  // kNoFeature where several fold alike
};

// The number that a level stands for: 12, 12% or, as other programs write truth, True.
bool NumberOfLevel(const std::string& level, float& number) {
  TableNumber parsed;
  const std::string folded = FoldSpelling(level);
  const bool is_number = ParseTableNumber(level, ',', parsed);
  number = is_number ? parsed.number : folded == "true" ? 1.0f : 0.0f;
  return is_number || folded == "true" || folded == "false";
}

// How the features of a data set become those of a schema. "Their" features are the data set's, "ours" the schema's.
class SchemaMap {
 public:
  SchemaMap(const TableSchema& schema, const Dataset& dataset)
      : schema_(schema), dataset_(dataset), to_(dataset.features.cols(), kNoFeature) {
    for (size_t c = 0; c < dataset.schema.columns.size(); ++c)
      their_columns_.emplace(dataset.schema.columns[c].name, c);
    const std::vector<uint32_t> ours = FirstFeatures(schema), theirs = FirstFeatures(dataset.schema);
    for (size_t c = 0; c < schema.columns.size(); ++c) {
      const size_t other = Find(schema.columns[c].name);
      pairs_.push_back({schema.columns[c], dataset.schema.columns[other], ours[c], theirs[other]});
      Map(pairs_.back());
    }
  }

  // Whether nothing has to be moved or filled.
  bool IsIdentity() const {
    if (to_.size() != schema_.width() || !fills_.empty() || !numbers_to_levels_.empty()) return false;
    for (uint32_t f = 0; f < to_.size(); ++f) {
      if (to_[f] != f) return false;
    }
    return true;
  }

  // put(feature, value) for each value of the row that is not zero, in any order.
  template <class Put>
  void ApplyTo(size_t row, const Put& put) const {
    ForEachValue(dataset_.features, row, [&](uint32_t feature, float value) {
      if (to_[feature] != kNoFeature) put(to_[feature], value);
      const auto fill = fills_.find(feature);
      if (fill != fills_.end() && fill->second.value != 0) put(fill->second.feature, fill->second.value);
    });
    ForEachNumber(row, [&](uint32_t feature, float value) {
      const auto& levels = numbers_to_levels_.at(feature);
      const auto level = levels.find(value);
      if (level != levels.end()) put(level->second, 1.0f);
    });
  }

  // Reports columns that are left out or carry another unit, and words spelled otherwise.
  void LogColumns(const Context& context) const {
    std::unordered_set<std::string_view> known(schema_.ignored.begin(), schema_.ignored.end());
    known.insert(schema_.label);
    for (const TableSchema::Column& column : schema_.columns) known.insert(column.name);
    std::vector<std::string> extra;
    for (const TableSchema::Column& column : dataset_.schema.columns) {
      if (!known.contains(column.name)) extra.push_back(column.name);
    }
    if (!extra.empty()) {
      context.Note(fmt::format("{}: the model was not trained on column {}: left out", WhereOf(dataset_),
                               fmt::join(extra, ", ")));
    }
    for (const Pair& pair : pairs_) {
      if (pair.ours.category || pair.theirs.category || pair.ours.unit == pair.theirs.unit) continue;
      const auto spelled = [](const std::string& unit) {
        return unit.empty() ? "no unit" : "the unit " + unit;
      };
      context.Warn(fmt::format("{}: column {}: its numbers carry {}, those the model was trained on {}",
                               WhereOf(dataset_), pair.ours.name, spelled(pair.theirs.unit),
                               spelled(pair.ours.unit)));
    }
    if (!respelled_.empty()) {
      context.Note(fmt::format("{}: spelled otherwise than the model knows them, and taken for the same: {}",
                               WhereOf(dataset_), ListedLevels(respelled_)));
    }
  }

  // Counts the cells that hold what the schema does not know.
  void LogUnseen(const Context& context) const {
    std::vector<uint64_t> counts(to_.size(), 0);
    std::map<uint32_t, Unseen> numbers;  // of columns that hold numbers here and categories there
    for (size_t row = 0; row < dataset_.features.rows(); ++row) {
      ForEachValue(dataset_.features, row, [&](uint32_t feature, float) { ++counts[feature]; });
      ForEachNumber(row, [&](uint32_t feature, float value) {
        numbers[feature].See(numbers_to_levels_.at(feature).contains(value) ? 0 : 1, 1,
                             fmt::format("{}", value));
      });
    }
    for (const Pair& pair : pairs_) {
      Unseen unseen = numbers[pair.their_first];
      for (uint32_t level = 0; level < pair.theirs.levels.size(); ++level) {
        const uint32_t feature = pair.their_first + level;
        // A word in a column of numbers is known if it is a number.
        const bool odd = pair.ours.category ? to_[feature] == kNoFeature : odd_.contains(feature);
        unseen.See(odd ? counts[feature] : 0, counts[feature], pair.theirs.levels[level]);
      }
      if (pair.their_mark() != kNoFeature && pair.ours.category && to_[pair.their_mark()] == kNoFeature)
        unseen.missing = counts[pair.their_mark()];
      LogUnseenOf(context, pair, unseen);
    }
  }

 private:
  struct Fill {
    uint32_t feature;
    float value;
  };
  struct Pair {
    const TableSchema::Column& ours;
    const TableSchema::Column& theirs;
    uint32_t first, their_first;  // features
    // The features that mark missing cells, or kNoFeature.
    uint32_t mark() const { return ours.marks_missing ? first + ours.width() - 1 : kNoFeature; }
    uint32_t their_mark() const {
      return theirs.marks_missing ? their_first + theirs.width() - 1 : kNoFeature;
    }
  };
  struct Unseen {
    uint64_t cells = 0, of = 0;
    uint64_t missing = 0;  // cells, where the model has seen none missing
    std::vector<std::string> examples;
    void See(uint64_t unknown, uint64_t all, const std::string& value) {
      cells += unknown;
      of += all;
      if (unknown > 0 && examples.size() <= kToldCategories &&
          std::find(examples.begin(), examples.end(), value) == examples.end())
        examples.push_back(value);
    }
  };

  size_t Find(const std::string& name) const {
    if (const auto found = their_columns_.find(name); found != their_columns_.end()) return found->second;
    std::vector<std::string> names = NamesOf(dataset_.schema);
    names.insert(names.end(), dataset_.schema.ignored.begin(), dataset_.schema.ignored.end());
    const std::string nearest = NearestName(name, names);
    ThrowInput("{}: column '{}' is missing{}; the model was trained on {}, the table has {}",
               WhereOf(dataset_), name, nearest.empty() ? "" : fmt::format(" (is it {}?)", nearest),
               fmt::join(NamesOf(schema_), ", "), fmt::join(names, ", "));
  }

  void Map(const Pair& pair) {
    const TableSchema::Column &ours = pair.ours, &theirs = pair.theirs;
    const uint32_t their_mark = pair.their_mark();
    if (their_mark != kNoFeature) to_[their_mark] = pair.mark();
    if (!ours.category && their_mark != kNoFeature) fills_[their_mark] = {pair.first, ours.fill};
    if (ours.category && theirs.category) {
      MapLevels(pair);
    } else if (theirs.category) {
      MapWordsToNumber(pair);
    } else if (!ours.category) {
      to_[pair.their_first] = pair.first;
    } else {
      MapNumberToLevels(pair);
      if (their_mark != kNoFeature) skip_[their_mark] = pair.their_first;
    }
  }

  void MapLevels(const Pair& pair) {
    const LevelFinder find(pair.ours.levels);
    for (uint32_t k = 0; k < pair.theirs.levels.size(); ++k) {
      const std::string& word = pair.theirs.levels[k];
      const uint32_t level = find(word);
      if (level == kNoFeature) continue;
      to_[pair.their_first + k] = pair.first + level;
      if (pair.ours.levels[level] != word)
        respelled_.push_back(
            fmt::format("{} for {} in column {}", word, pair.ours.levels[level], pair.ours.name));
    }
  }

  void MapWordsToNumber(const Pair& pair) {
    size_t numbers = 0;
    for (uint32_t k = 0; k < pair.theirs.levels.size(); ++k) {
      const uint32_t feature = pair.their_first + k;
      float number = 0;
      if (NumberOfLevel(pair.theirs.levels[k], number)) {
        ++numbers;
        fills_[feature] = {pair.first, number};
      } else {
        odd_.insert(feature);
        to_[feature] = pair.mark();
        fills_[feature] = {pair.first, pair.ours.fill};
      }
    }
    if (numbers == 0 && !pair.theirs.levels.empty()) {
      ThrowInput("{}: column '{}' holds words ('{}'), but the model was trained on numbers there",
                 WhereOf(dataset_), pair.ours.name, pair.theirs.levels[0]);
    }
  }

  void MapNumberToLevels(const Pair& pair) {
    rows_with_[pair.their_first] = RowsWith(pair.theirs, dataset_);
    std::map<float, uint32_t>& levels = numbers_to_levels_[pair.their_first];
    for (uint32_t level = 0; level < pair.ours.levels.size(); ++level) {
      float number = 0;
      if (NumberOfLevel(pair.ours.levels[level], number)) levels.emplace(number, pair.first + level);
    }
  }

  // visit(feature, value) for each number of the row, zeros included, that stands in a column of categories.
  template <class Visit>
  void ForEachNumber(size_t row, const Visit& visit) const {
    if (numbers_to_levels_.empty()) return;
    std::map<uint32_t, float> numbers;
    for (const auto& [feature, rows] : rows_with_) {
      if (rows.Holds(row)) numbers[feature] = 0;
    }
    ForEachValue(dataset_.features, row, [&](uint32_t feature, float value) {
      const auto number = numbers.find(feature);
      if (number != numbers.end()) number->second = value;
      if (skip_.contains(feature)) numbers.erase(skip_.at(feature));
    });
    for (const auto& [feature, value] : numbers) visit(feature, value);
  }

  void LogUnseenOf(const Context& context, const Pair& pair, const Unseen& unseen) const {
    const std::string place = fmt::format("{}: column {}", WhereOf(dataset_), pair.ours.name);
    const std::string examples = ListedLevels(unseen.examples);
    const auto cells = [](uint64_t count) { return fmt::format("{} cell{}", count, count == 1 ? "" : "s"); };
    if (unseen.missing > 0) {
      context.Note(fmt::format("{}: {} without a value, counted as other: the model was trained on none",
                               place, cells(unseen.missing)));
    }
    if (unseen.cells == 0) return;
    if (!pair.ours.category) {
      context.Note(fmt::format("{}: {} without a number ({}), counted as missing", place, cells(unseen.cells),
                               examples));
    } else if (unseen.cells == unseen.of) {
      context.Warn(
          fmt::format("{}: the model knows none of the values in its {} ({}), only {}: the column has no "
                      "effect on the predictions",
                      place, cells(unseen.cells), examples, ListedLevels(pair.ours.levels)));
    } else {
      context.Note(fmt::format("{}: {} of categories the model has not seen count as other ({})", place,
                               cells(unseen.cells), examples));
    }
  }

  const TableSchema& schema_;
  const Dataset& dataset_;
  std::unordered_map<std::string_view, size_t> their_columns_;  // the first column of each name
  std::vector<Pair> pairs_;                                     // the columns of the schema
  std::vector<std::string> respelled_;  // what was taken for a level although it is spelled otherwise
  std::vector<uint32_t> to_;            // (their features) ours, or kNoFeature
  std::map<uint32_t, Fill> fills_;  // from their word, or their mark of a missing cell, to what is put where
  std::unordered_set<uint32_t> odd_;  // their words in columns of numbers that are no numbers
  std::map<uint32_t, std::map<float, uint32_t>>
      numbers_to_levels_;                    // from their number to each value's level
  std::map<uint32_t, NodeRange> rows_with_;  // from their number to the rows that have one
  std::map<uint32_t, uint32_t> skip_;        // from their mark of a missing cell to the number it speaks of
};

}  // namespace

Features ApplySchema(const Context& context, const TableSchema& schema, const Dataset& dataset) {
  if (schema.empty() || dataset.schema.empty()) return dataset.features;
  const SchemaMap map(schema, dataset);
  map.LogColumns(context);
  if (map.IsIdentity()) return dataset.features;
  map.LogUnseen(context);
  const size_t rows = dataset.features.rows(), width = schema.width();
  if (!dataset.features.stores_sparse()) {
    Matrix dense = Matrix::Zeros(rows, width);
    float* const values = dense.values.mutable_data();
    ParallelFor(context, rows, kSchemaRows, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        map.ApplyTo(row, [&](uint32_t feature, float value) { values[row * width + feature] = value; });
      }
    });
    return Features::Dense(std::move(dense));
  }
  std::vector<uint32_t> indices;
  std::vector<float> values;
  std::vector<std::pair<uint32_t, float>> entries;
  CsrMatrix sparse;
  sparse.rows = rows;
  sparse.cols = width;
  sparse.indptr = Array<uint64_t>::Zeros(rows + 1);
  uint64_t* const indptr = sparse.indptr.mutable_data();
  for (size_t row = 0; row < rows; ++row) {
    entries.clear();
    map.ApplyTo(row, [&](uint32_t feature, float value) { entries.emplace_back(feature, value); });
    std::sort(entries.begin(), entries.end());
    for (const auto& [feature, value] : entries) {
      indices.push_back(feature);
      values.push_back(value);
    }
    indptr[row + 1] = indices.size();
  }
  sparse.indices = Array<uint32_t>::CopyOf(indices);
  sparse.values = Array<float>::CopyOf(values);
  return Features::Sparse(std::move(sparse));
}

}  // namespace l2gcn

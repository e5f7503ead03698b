#include "data/table_features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_set>

#include "core/error_format.h"
#include "core/threads.h"
#include "data/csv.h"
#include "data/spellings.h"

namespace l2gcn {
namespace {

constexpr size_t kNameLikeLevels = 20;  // A column of more levels that hardly ever repeat holds names.
constexpr double kSparseBelow = 0.1;    // Features with a smaller share of non-zeros are kept sparse.
constexpr size_t kFeatureRows = 512;
constexpr size_t kNamedColumns = 8;

Role RoleNamed(std::string_view value) {
  if (value == "train") return Role::kTrain;
  if (value == "val" || value == "valid" || value == "validation") return Role::kVal;
  return value == "test" ? Role::kTest : Role::kNone;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether a word is a date such as 2024-01-31, 31.1.2024 or 1/31/24, perhaps with a time behind it.
bool IsDate(std::string_view word) {
  size_t at = 0;
  char mark = '\0';
  for (int part = 0; part < 3; ++part) {
    const size_t begin = at;
    while (at < word.size() && IsDigit(word[at])) ++at;
    if (at == begin || at - begin > 4 || at - begin == 3) return false;
    if (part == 2) break;
    if (at == word.size() || (word[at] != '-' && word[at] != '/' && word[at] != '.')) return false;
    if (part == 1 && word[at] != mark) return false;
    mark = word[at++];
  }
  return at == word.size() || ((word[at] == 'T' || word[at] == ' ') && word.find(':', at) != word.npos);
}

// Whether so many words stand in each on average that they are no names of anything.
bool AreTexts(std::span<const std::string_view> levels) {
  constexpr size_t kWordsOfText = 3;
  size_t words = 0;
  for (const std::string_view level : levels) {
    for (size_t i = 0; i < level.size(); ++i)
      words += level[i] != ' ' && (i == 0 || level[i - 1] == ' ') ? 1 : 0;
  }
  return words >= kWordsOfText * levels.size();
}

// A column that becomes features.
struct UsedColumn {
  const ColumnValues* values = nullptr;
  std::map<std::string_view, uint32_t> levels;  // the place of each word among the column's features
  uint32_t first = 0, width = 1;                // where its features begin, and how many they are
  bool marks_missing = false;
  uint64_t missing = 0;  // how many cells of a column of words are missing

  bool MissingAt(uint32_t row) const {
    if (row == kNoTableRow) return true;
    return values->numeric ? std::isnan(values->numbers[row]) : IsMissing(values->text[row]);
  }
  // put(feature, value) for what is not zero.
  template <class Put>
  void At(uint32_t row, const Put& put) const {
    if (MissingAt(row)) {
      if (marks_missing) put(first + width - 1, 1.0f);
    } else if (!values->numeric) {
      put(first + levels.at(values->text[row]), 1.0f);
    } else if (values->numbers[row] != 0) {
      put(first, values->numbers[row]);
    }
  }
};

class TableFeatures {
 public:
  TableFeatures(const Context& context, const Table& table, std::span<const uint32_t> row_of,
                const FeatureChoice& choice, Dataset& dataset)
      : context_(context),
        table_(table),
        row_of_(row_of),
        skip_(choice.skip),
        wanted_(choice.wanted.begin(), choice.wanted.end()),
        dataset_(dataset) {}

  void Take() {
    for (size_t c = 0; c < table_.columns.size(); ++c) {
      if (std::find(skip_.begin(), skip_.end(), c) == skip_.end()) TakeColumn(c);
    }
    if (!unknown_.empty())
      Note(fmt::format("the model was not trained on column {}: left out", fmt::join(unknown_, ", ")));
    LogMissing();
    Build();
  }

 private:
  std::string Name(size_t c) const { return table_.format.names[c]; }
  void Note(const std::string& text) const {
    context_.Note(fmt::format("{}: {}", table_.path.filename().string(), text));
  }
  void Ignore(size_t c, const std::string& why) {
    dataset_.schema.ignored.push_back(Name(c));
    if (!why.empty()) Note(fmt::format("column {} {} and is left out", Name(c), why));
  }

  bool IsWanted(size_t c) const { return wanted_.contains(table_.format.names[c]); }

  void TakeColumn(size_t c) {
    const ColumnValues& values = table_.columns[c];
    UsedColumn used;
    used.values = &values;
    const bool splits = !values.numeric && IsSplitColumn(values);
    if (!wanted_.empty() && !IsWanted(c) && !splits) {
      unknown_.push_back(Name(c));
      return Ignore(c, "");
    }
    if (values.numeric) {
      if (values.missing == table_.rows && !IsWanted(c)) return Ignore(c, "is empty");
      if (values.grouped > 0) {
        Note(fmt::format("column {}: {} numbers such as {} read as numbers", Name(c), values.grouped,
                         table_.format.separator == ';' ? "0,5 (decimal comma)" : "1,234 (groups of three)"));
      }
      LogOdd(c);
    } else if (splits) {
      TakeSplit(c);
      return Ignore(c, "");
    } else if (!TakeLevels(c, used)) {
      return;
    }
    AddColumn(c, std::move(used));
  }

  // Reports units that were dropped and cells that are no numbers.
  void LogOdd(size_t c) const {
    const ColumnValues& values = table_.columns[c];
    if (!values.unit.empty())
      Note(fmt::format("column {}: numbers with the unit {} are read as numbers", Name(c), values.unit));
    if (values.odd == 0) return;
    const uint64_t numbers = table_.rows - values.missing;
    Note(fmt::format("column {}: {} of {} filled cells are numbers; the {} other{} ({}{}) count{} as missing",
                     Name(c), numbers, numbers + values.odd, values.odd, values.odd == 1 ? "" : "s",
                     fmt::join(values.odd_examples, ", "),
                     values.odd > values.odd_examples.size() ? ", …" : "", values.odd == 1 ? "s" : ""));
  }

  void LogMissing() const {
    std::vector<std::string> named;
    size_t columns = 0;
    for (const TableSchema::Column& column : dataset_.schema.columns) {
      if (column.missing > 0 && ++columns <= kNamedColumns)
        named.push_back(fmt::format("{} {}", column.name, column.missing));
    }
    if (columns == 0) return;
    Note(fmt::format(
        "of {} nodes, values are missing in column {}{}: numbers take the median of the train nodes, words "
        "a level of their own, and a feature marks them",
        row_of_.size(), fmt::join(named, ", "),
        columns > kNamedColumns ? fmt::format(" and {} more columns", columns - kNamedColumns) : ""));
  }

  bool IsSplitColumn(const ColumnValues& column) const {
    bool some = false;
    for (size_t row = 0; row < table_.rows; ++row) {
      const std::string_view value = column.text[row];
      if (IsMissing(value) || value == "none") continue;
      if (RoleNamed(value) == Role::kNone) return false;
      some = true;
    }
    return some;
  }

  void TakeSplit(size_t c) {
    Split split{"column:" + Name(c), Array<uint8_t>::Zeros(row_of_.size())};
    for (size_t node = 0; node < row_of_.size(); ++node) {
      if (row_of_[node] == kNoTableRow) continue;
      split.roles.mutable_data()[node] =
          static_cast<uint8_t>(RoleNamed(table_.columns[c].text[row_of_[node]]));
    }
    dataset_.splits.push_back(std::move(split));
  }

  // False if the column is left out.
  bool TakeLevels(size_t c, UsedColumn& used) {
    const bool wanted = IsWanted(c);
    size_t filled = 0;
    for (size_t row = 0; row < table_.rows && (wanted || used.levels.size() <= kMostLevels); ++row) {
      const std::string_view word = used.values->text[row];
      if (IsMissing(word)) {
        ++used.missing;
        continue;
      }
      used.levels.emplace(word, 0);
      ++filled;
    }
    std::vector<std::string_view> words;
    for (const auto& [word, place] : used.levels) words.push_back(word);
    const std::string why = wanted ? "" : WhyNoLevels(words, filled);
    if (!why.empty()) return Ignore(c, why), false;
    used.width = 0;
    for (auto& [word, place] : used.levels) place = used.width++;
    return true;
  }

  void AddColumn(size_t c, UsedColumn used) {
    TableSchema::Column column;
    column.name = Name(c);
    column.category = !used.values->numeric;
    for (const auto& [word, place] : used.levels) column.levels.emplace_back(word);
    const auto without_row = static_cast<uint64_t>(std::count(row_of_.begin(), row_of_.end(), kNoTableRow));
    column.missing = without_row + (used.values->numeric ? used.values->missing : used.missing);
    column.marks_missing = used.marks_missing = column.missing > 0;
    used.first = width_;
    used.width = column.width();
    width_ += used.width;
    if (!names_.insert(column.name).second)
      ThrowInput("{}: two columns are called '{}'; rename one", table_.path.string(), column.name);
    column.unit = used.values->unit;
    if (column.category) {
      Note(fmt::format("column {} becomes {} one-hot features", column.name, column.width()));
      const std::string variants = SpellingVariants(column.levels);
      if (!variants.empty())
        Note(fmt::format("column {}: words that differ only in case or blanks are features of their own: {}",
                         column.name, variants));
    }
    dataset_.schema.columns.push_back(std::move(column));
    used_.push_back(std::move(used));
  }

  void Build() {
    // Every row is of one node, so what is not zero can be counted column by column.
    uint64_t filled = 0;
    for (size_t k = 0; k < used_.size(); ++k) {
      const ColumnValues& values = *used_[k].values;
      const uint64_t missing = dataset_.schema.columns[k].missing;
      filled += values.numeric ? missing : row_of_.size();
      for (const float value : values.numbers) filled += value != 0 && !std::isnan(value) ? 1 : 0;
    }
    const auto cells = static_cast<double>(row_of_.size()) * width_;
    if (static_cast<double>(filled) < kSparseBelow * cells) return BuildSparse(filled);
    Matrix dense = Matrix::Zeros(row_of_.size(), width_);
    float* const out = dense.values.mutable_data();
    ParallelFor(context_, row_of_.size(), kFeatureRows, [&](size_t begin, size_t end) {
      for (size_t node = begin; node < end; ++node) {
        float* to = out + node * width_;
        for (const UsedColumn& used : used_)
          used.At(row_of_[node], [&](uint32_t feature, float value) { to[feature] = value; });
      }
    });
    dataset_.features = Features::Dense(std::move(dense));
  }

  void BuildSparse(uint64_t filled) {
    CsrMatrix sparse;
    sparse.rows = row_of_.size();
    sparse.cols = width_;
    sparse.indptr = Array<uint64_t>::Zeros(row_of_.size() + 1);
    sparse.indices = Array<uint32_t>::Allocate(filled);
    sparse.values = Array<float>::Allocate(filled);
    uint64_t* const indptr = sparse.indptr.mutable_data();
    uint32_t* const indices = sparse.indices.mutable_data();
    float* const values = sparse.values.mutable_data();
    uint64_t at = 0;
    for (size_t node = 0; node < row_of_.size(); ++node) {
      for (const UsedColumn& used : used_) {
        used.At(row_of_[node], [&](uint32_t feature, float value) {
          indices[at] = feature;
          values[at++] = value;
        });
      }
      indptr[node + 1] = at;
    }
    L2GCN_ASSERT(at == filled);
    dataset_.features = Features::Sparse(std::move(sparse));
  }

  const Context& context_;
  const Table& table_;
  const std::span<const uint32_t> row_of_;
  const std::span<const size_t> skip_;
  const std::unordered_set<std::string_view> wanted_;
  Dataset& dataset_;
  std::vector<UsedColumn> used_;
  std::set<std::string> names_;
  std::vector<std::string> unknown_;  // columns that the model which reads the table does not know
  uint32_t width_ = 0;
};

}  // namespace

std::string WhyNoLevels(std::span<const std::string_view> words, size_t filled) {
  if (words.empty()) return "is empty";
  if (words.size() <= kNameLikeLevels) return "";
  if (std::all_of(words.begin(), words.end(), IsDate))
    return "holds dates (write them as numbers, such as days, to use them)";
  if (words.size() * 2 > filled && AreTexts(words))
    return "holds texts (turn them into columns of numbers, such as embeddings, to use them)";
  if (words.size() > kMostLevels) return fmt::format("has more than {} different words", kMostLevels);
  return words.size() * 10 > filled * 9 ? "has another word in almost every row" : "";
}

void TakeTableFeatures(const Context& context, const Table& table, std::span<const uint32_t> row_of,
                       const FeatureChoice& choice, Dataset& dataset) {
  TableFeatures(context, table, row_of, choice, dataset).Take();
}

}  // namespace l2gcn

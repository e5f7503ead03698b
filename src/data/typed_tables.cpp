#include "data/typed_tables.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>

#include "core/error_format.h"
#include "data/labels.h"
#include "data/node_types.h"
#include "data/reader.h"
#include "data/table_features.h"
#include "data/table_labels.h"
#include "data/table_set.h"
#include "data/text_source.h"
#include "data/typed_edges.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

// A column of one type: user:churn.
struct TypedColumn {
  size_t type = 0;
  std::string column;
};

// The nodes of one type.
struct TypedTable {
  NodeRows rows;
  size_t label = kNoTableColumn;
  std::unique_ptr<TypedIds> ids;
};

class TypedTablesReader {
 public:
  TypedTablesReader(const Context& context, const OpenOptions& options)
      : context_(context), options_(options) {
    CheckOptions();
    std::vector<std::string> names;
    for (const OpenOptions::Table& table : options.node_tables) names.push_back(table.name);
    types_ = MakeNodeTypes(names, "--nodes");
    std::set<std::string> relations;
    for (const OpenOptions::Table& table : options.edge_tables) {
      ends_.push_back(EndsOfRelation(types_, table.name));
      if (!relations.insert(table.name).second)
        ThrowUsage("--edges: the relation {} is given twice; put its edges into one table", table.name);
    }
    if (!options.label_column.empty() && options.label_column != kNoLabelColumn)
      label_ = TypedColumnOf("--label", options.label_column);
    TakeIdColumns();
  }

  Dataset Read() {
    Dataset dataset;
    dataset.format = "table";
    dataset.path = options_.edge_tables.front().path;
    dataset.name = WithoutCompression(dataset.path).stem().string();
    for (size_t k = 0; k < types_.size(); ++k) ReadTable(k);
    Join(dataset);
    TakeEdges(dataset);
    TakeIds(dataset);
    TakeLabels(dataset);
    return dataset;
  }

 private:
  void CheckOptions() const {
    if (!options_.edges.empty() || !options_.nodes.empty()) {
      ThrowUsage(
          "{} has no type; with several tables write --nodes TYPE=FILE and --edges SOURCE:NAME:TARGET=FILE",
          options_.edges.empty() ? "--nodes " + options_.nodes : "--edges " + options_.edges);
    }
    if (!options_.features.empty() || !options_.labels.empty())
      ThrowUsage(
          "--features and --labels have no effect on several tables; put the columns into the node tables");
    if (!options_.edge_type_column.empty())
      ThrowUsage("--edge-type has no effect on several tables; each edge table is a relation");
    if (!options_.edge_features.empty())
      ThrowUsage("--edge-features {}: of one table of edges, not of several", options_.edge_features);
    if (!options_.split_by.empty())
      ThrowUsage("--split {}: of one table of nodes, not of several", options_.split_by);
    if (options_.task == kRegressionTask)
      ThrowUsage("--task {}: of one table of nodes, not of several", options_.task);
    if (!options_.sample_weight_column.empty())
      ThrowUsage("--sample-weight {}: of one table of nodes, not of several", options_.sample_weight_column);
    if (options_.weight_column.find(',') != std::string::npos)
      ThrowUsage("--weight {}: of several tables each has one column of weights", options_.weight_column);
    if (options_.node_tables.empty())
      ThrowUsage("--edges {}: no node table is given; add --nodes TYPE=FILE", options_.edge_tables[0].name);
    if (options_.edge_tables.empty())
      ThrowUsage("--nodes {}: no edge table is given; add --edges SOURCE:NAME:TARGET=FILE",
                 options_.node_tables[0].name);
  }

  TypedColumn TypedColumnOf(const std::string& option, const std::string& text) const {
    const size_t colon = text.find(':');
    if (colon == std::string::npos || colon + 1 == text.size())
      ThrowUsage("{} {}: expected TYPE:COLUMN, such as {}:{}", option, text, types_[0].name, text);
    return {FindNodeType(types_, text.substr(0, colon), option + " " + text), text.substr(colon + 1)};
  }

  // --id user:uid,item:sku
  void TakeIdColumns() {
    id_columns_.resize(types_.size());
    std::stringstream words(options_.id_column);
    for (std::string word; std::getline(words, word, ',');) {
      const TypedColumn one = TypedColumnOf("--id", word);
      id_columns_[one.type] = one.column;
    }
  }

  // Options for the table of one type.
  OpenOptions OptionsOf(size_t k, const TableFormat& format) const {
    OpenOptions options = options_;
    options.id_column = id_columns_[k];
    if (options.id_column.empty() && format.columns() == 1 && !options.no_ids)
      options.id_column = format.names[0];
    return options;
  }

  void ReadTable(size_t k) {
    const fs::path path = options_.node_tables[k].path;
    const bool has_label = label_ && label_->type == k;
    // A header may hold words alone, as the ids below it do.
    const TableFormat format = SniffTable(
        path, true,
        {id_columns_[k], has_label ? label_->column : "", "id", types_[k].name, types_[k].name + "_id"});
    TypedTable& table = *tables_.emplace_back(std::make_unique<TypedTable>());
    if (has_label) {
      table.label = options_.label_optional ? FindColumn(format, label_->column)
                                            : ColumnNamed(format, path, "--label", label_->column);
    }
    table.rows = ReadNodeRows(context_, path, format, {&table.label, 1}, OptionsOf(k, format));
    if (table.label == table.rows.id_column && table.label != kNoTableColumn)
      ThrowUsage("--label {}: that column of {} holds the ids", options_.label_column, path.string());
    table.ids = std::make_unique<TypedIds>(table.rows);
    table.rows.row_of.resize(table.rows.table.rows);
    std::iota(table.rows.row_of.begin(), table.rows.row_of.end(), 0u);
    types_[k].count = CheckedNodeCount(table.rows.table.rows, path.string());
    types_[k].labelled = has_label;
  }

  // The columns that a model knows of one type.
  std::vector<std::string> WantedOf(size_t k) const {
    const std::string prefix = types_[k].name + ".";
    std::vector<std::string> wanted;
    for (const std::string& name : options_.feature_columns) {
      if (name.starts_with(prefix)) wanted.push_back(name.substr(prefix.size()));
    }
    return wanted;
  }

  void Join(Dataset& dataset) {
    std::vector<TypedPart> parts;
    for (size_t k = 0; k < types_.size(); ++k) {
      const NodeRows& rows = tables_[k]->rows;
      Dataset own;
      TakeTableFeatures(context_, rows.table, rows.row_of,
                        {ColumnsWithoutFeatures(rows, {&tables_[k]->label, 1}), WantedOf(k)}, own);
      if (types_[k].labelled) splits_ = std::move(own.splits);
      parts.push_back({types_[k], std::move(own.features), std::move(own.schema)});
      if (!rows.by_position()) {
        dataset.schema.id += (dataset.schema.id.empty() ? "" : ",") + types_[k].name + ":" +
                             rows.table.format.names[rows.id_column];
      }
    }
    JoinNodeTypes(context_, std::move(parts), dataset);
    types_ = dataset.node_types;
  }

  void TakeEdges(Dataset& dataset) const {
    std::vector<RelationEdges> edges;
    for (size_t r = 0; r < ends_.size(); ++r) {
      const auto end = [&](size_t k) { return TypedEnd{types_[k], *tables_[k]->ids, tables_[k]->rows}; };
      edges.push_back(ReadTypedEdges(context_, options_.edge_tables[r], end(ends_[r].first),
                                     end(ends_[r].second), options_));
    }
    AttachRelations(context_, std::move(edges), options_, dataset);
  }

  // Numbers where all ids are, else names.
  void TakeIds(Dataset& dataset) const {
    const bool numbers = std::all_of(tables_.begin(), tables_.end(),
                                     [](const auto& table) { return table->ids->are_numbers(); });
    std::vector<int64_t> ids;
    std::vector<std::string> names;
    for (const auto& table : tables_) {
      for (size_t row = 0; row < table->rows.table.rows; ++row) {
        if (numbers) {
          ids.push_back(table->ids->Number(row));
        } else {
          names.push_back(table->rows.by_position() ? std::to_string(row) : std::string(table->rows.Id(row)));
        }
      }
    }
    if (numbers) dataset.node_ids = Array<int64_t>::CopyOf(ids);
    if (!numbers) dataset.node_names = NameTable::FromStrings(names);
  }

  void TakeLabels(Dataset& dataset) {
    const uint32_t nodes = dataset.nodes();
    dataset.labels = NoLabels(nodes);
    if (!label_ || tables_[label_->type]->label == kNoTableColumn) return;
    const TypedTable& table = *tables_[label_->type];
    const uint32_t first = types_[label_->type].first;
    std::vector<std::string_view> texts(nodes);
    for (size_t row = 0; row < table.rows.table.rows; ++row)
      texts[first + row] = table.rows.table.columns[table.label].text[row];
    dataset.schema.label = options_.label_column;
    dataset.schema.path = table.rows.table.path.string();
    const LabelColumn column{table.rows, table.label, /*named=*/true};
    if (!options_.label_optional) AskWhetherLabel(context_, column, texts);
    dataset.labels = LabelsFromTexts(context_, column.Place(), texts, dataset.class_names);
    for (const Split& split : splits_) {
      Split of_all{split.name, Array<uint8_t>::Zeros(nodes)};
      std::copy(split.roles.begin(), split.roles.end(), of_all.roles.mutable_data() + first);
      dataset.splits.push_back(std::move(of_all));
    }
  }

  const Context& context_;
  const OpenOptions& options_;
  std::vector<NodeType> types_;
  std::vector<std::pair<size_t, size_t>> ends_;  // (relations)
  std::optional<TypedColumn> label_;
  std::vector<std::string> id_columns_;              // (types) that the user names, or empty
  std::vector<std::unique_ptr<TypedTable>> tables_;  // (types)
  std::vector<Split> splits_;                        // (nodes of the labelled type)
};

}  // namespace

bool NamesTypedTables(const OpenOptions& options) {
  return !options.node_tables.empty() || !options.edge_tables.empty() || !options.schema.empty();
}

Dataset ReadTypedTables(const Context& context, const OpenOptions& options) {
  return TypedTablesReader(context, options).Read();
}

}  // namespace l2gcn

// l2gcn info: describes a data set, a run or a controller, and the settings that train would use. Without an argument it lists
// the known data sets.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "known_datasets.h"
#include "l2gcn/controller.h"
#include "l2gcn/convert.h"
#include "l2gcn/error.h"
#include "l2gcn/plan.h"
#include "l2gcn/train.h"
#include "l2gcn/unfinished.h"
#include "options.h"
#include "program.h"
#include "result_text.h"

namespace l2gcn::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string SplitsText(const Json& splits) {
  std::string text;
  for (const Json& name : splits) text += (text.empty() ? "" : ", ") + OneLine(name.get<std::string>());
  return text.empty() ? "none" : text;
}

std::string NodeTypesText(const Json& types) {
  std::string text;
  for (const Json& type : types) {
    text += fmt::format("  node type   {}: {} nodes{}\n", OneLine(type.at("name").get<std::string>()),
                        Grouped(type.at("nodes").get<uint64_t>()),
                        type.at("labelled").get<bool>() ? ", with labels" : "");
  }
  return text;
}

std::string DatasetText(const Json& dataset) {
  const auto count = [&](const char* key) { return Grouped(dataset.at(key).get<uint64_t>()); };
  std::string text = fmt::format("{} ({})\n", OneLine(dataset.at("name").get<std::string>()),
                                 dataset.at("format").get<std::string>());
  text += fmt::format("  nodes       {}\n  edges       {} undirected, without self loops\n  self loops  {}\n",
                      count("nodes"), count("edges"), count("self_loops"));
  text += NodeTypesText(dataset.value("node_types", Json::array()));
  for (const Json& relation : dataset.value("relations", Json::array())) {
    const bool directed = relation.at("directed").get<bool>();
    const auto entries = relation.at("entries").get<uint64_t>();
    text +=
        fmt::format("  relation    {}: {} {} edges\n", OneLine(relation.at("name").get<std::string>()),
                    Grouped(directed ? entries : (entries + 1) / 2), directed ? "directed" : "undirected");
  }
  text += fmt::format("  features    {}\n  {}  {}\n  splits      {}", count("features"),
                      dataset.contains("task")               ? "targets   "
                      : dataset.at("multilabel").get<bool>() ? "labels    "
                                                             : "classes   ",
                      count("classes"), SplitsText(dataset.at("splits")));
  return text;
}

// A stored data set opens without being read. What is counted must be read and checked as training does it, so larger
// sets are counted with --counts only. Other formats are read anyway.
constexpr uint64_t kMostCountedAtOnce = 1'000'000;

// {"min", "median", "mean", "max", "isolated"} of the nodes' degrees, or null for a graph without nodes.
Json DegreesOf(const Graph& graph) {
  if (graph.nodes == 0) return nullptr;
  constexpr size_t kUsual = 4096;
  std::vector<uint64_t> usual(kUsual, 0);  // how many nodes have each usual degree
  std::vector<uint64_t> large;             // the other degrees
  for (uint32_t node = 0; node < graph.nodes; ++node) {
    const uint64_t degree = graph.degree(node);
    if (degree < kUsual) {
      ++usual[degree];
    } else {
      large.push_back(degree);
    }
  }
  std::sort(large.begin(), large.end());
  const auto ranked = [&](uint64_t rank) {  // the degree that stands at this place in ascending order
    for (uint64_t degree = 0; degree < kUsual; ++degree) {
      if (rank < usual[degree]) return degree;
      rank -= usual[degree];
    }
    return large[rank];
  };
  const uint64_t entries = graph.indptr[graph.nodes] - graph.indptr[0];
  return {{"min", ranked(0)},
          {"median", ranked(graph.nodes / 2)},
          {"mean", static_cast<double>(entries) / graph.nodes},
          {"max", ranked(graph.nodes - 1)},
          {"isolated", usual[0]}};
}

// How many cells of each column of the table are missing: the feature behind the column's others marks them.
Json MissingCells(const Dataset& dataset) {
  Json missing = Json::object();
  const Features& features = dataset.features;
  uint32_t end = 0;
  for (const TableSchema::Column& column : dataset.schema.columns) {
    end += column.width();
    if (!column.marks_missing) continue;
    uint64_t cells = 0;
    float value = 0;
    if (features.stores_sparse()) {
      const CsrMatrix& rows = features.csr();
      for (size_t e = 0; e < rows.nnz(); ++e) cells += rows.indices[e] == end - 1 && rows.values[e] != 0;
    } else {
      for (size_t node = 0; node < features.rows(); ++node)
        cells += *features.ReadColumns(node, end - 1, end, &value) != 0;
    }
    if (cells > 0) missing[column.name] = cells;
  }
  return missing;
}

// The data set must have been checked. Classes, labelled nodes and degrees: {"classes": [{"name", "count"}], "labelled", "unlabelled", "degree":
// {"min", "median", "mean", "max", "isolated"}, "missing": {column: cells}}.
Json CountsOf(const Dataset& dataset) {
  const Labels& labels = dataset.labels;
  std::vector<uint64_t> members(labels.classes, 0);
  uint64_t labelled = 0;
  const bool known = !(labels.classes_of.empty() && labels.matrix.empty() && labels.targets.values.empty());
  for (uint32_t node = 0; known && node < dataset.nodes(); ++node) {
    if (!labels.IsLabelled(node)) continue;
    ++labelled;
    if (labels.task() == Task::kRegression) {
      const float* row = labels.targets.row(node);
      for (uint32_t c = 0; c < labels.classes; ++c) members[c] += std::isnan(row[c]) ? 0 : 1;
      continue;
    }
    if (!labels.multilabel) ++members[static_cast<size_t>(labels.classes_of[node])];
    for (uint32_t c = 0; labels.multilabel && c < labels.classes; ++c)
      members[c] += labels.matrix[size_t{node} * labels.classes + c];
  }
  Json classes = Json::array();
  for (uint32_t c = 0; c < labels.classes; ++c)
    classes.push_back({{"name", dataset.ClassName(c)}, {"count", members[c]}});
  Json json = {{"classes", classes},
               {"labelled", labelled},
               {"unlabelled", std::max<uint64_t>(dataset.predicted_nodes(), labelled) - labelled}};
  if (const Json missing = MissingCells(dataset); !missing.empty()) json["missing"] = missing;
  if (const Json degrees = DegreesOf(dataset.graph); !degrees.is_null()) json["degree"] = degrees;
  return json;
}

std::string CountsText(const Json& counts) {
  constexpr size_t kMostListed = 40;
  std::string text;
  if (counts.contains("degree")) {
    const Json& degree = counts.at("degree");
    text += fmt::format("\n  degrees     {} to {}, median {}, mean {:.1f}; {} without neighbours",
                        Grouped(degree.at("min").get<uint64_t>()), Grouped(degree.at("max").get<uint64_t>()),
                        Grouped(degree.at("median").get<uint64_t>()), degree.at("mean").get<double>(),
                        Grouped(degree.at("isolated").get<uint64_t>()));
  }
  text +=
      fmt::format("\n  labelled    {}, without a label {}", Grouped(counts.at("labelled").get<uint64_t>()),
                  Grouped(counts.at("unlabelled").get<uint64_t>()));
  if (counts.contains("missing")) {
    std::string columns;
    for (const auto& [name, cells] : counts.at("missing").items())
      columns +=
          fmt::format("{}{} {}", columns.empty() ? "" : ", ", OneLine(name), Grouped(cells.get<uint64_t>()));
    text += "\n  missing     " + columns;
  }
  const Json& classes = counts.at("classes");
  for (size_t i = 0; i < classes.size() && i < kMostListed; ++i) {
    text += fmt::format("\n    {:<28}{:>12}", OneLine(classes[i].at("name").get<std::string>()),
                        Grouped(classes[i].at("count").get<uint64_t>()));
  }
  if (classes.size() > kMostListed) text += fmt::format("\n    … and {} more", classes.size() - kMostListed);
  return text;
}

std::string SettingsText(const TrainConfig& config) {
  std::string text;
  for (const Field& field : Fields()) {
    const std::string value = field.get(config);
    if (!value.empty()) text += fmt::format("\n  {:<20}{}", field.name, value);
  }
  return text;
}

bool IsRun(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && fs::exists(fs::path(path) / "result.json", ignored);
}

void PrintRun(Program& program, const std::string& path, const OpenedRun& run, const Json& result) {
  const Json config = ParseJson(ConfigToJson(run.model.config), path);
  if (program.json()) {
    const Json object = {
        {"kind", "run"}, {"dataset", result.at("dataset")}, {"config", config}, {"result", result}};
    program.terminal().Print(JsonLine(object));
    return;
  }
  std::string text = fmt::format("run {}\n", path);
  for (const Json& one : result.at("runs")) {
    text += fmt::format("  seed {:<5} epochs {:<12} F1 %  {}\n", one.at("seed").get<uint64_t>(),
                        EpochsText(one), IsRegression(one) ? "R²" : "F1 %", ScoreText(one));
  }
  text += "\n" + DatasetText(result.at("dataset")) + "\n\nsettings" + SettingsText(run.model.config);
  program.terminal().Print(text);
}

void ShowRun(Program& program, const std::string& path) {
  const OpenedRun run = OpenRun(path);
  const std::string file = (fs::path(path) / "result.json").string();
  try {
    PrintRun(program, path, run, ParseJson(ReadRunResult(path), file));
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::kInput, fmt::format("{}: damaged: {}", file, error.what()));
  }
}

// A model that SaveModel wrote, without the record of a run.
bool IsModel(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && fs::exists(fs::path(path) / "model.safetensors", ignored);
}

void ShowModel(Program& program, const std::string& path) {
  const Model model = OpenRun(path).model;
  if (program.json()) {
    const Json object = {{"kind", "model"},
                         {"features", model.features},
                         {"classes", model.classes},
                         {"multilabel", model.multilabel},
                         {"config", ParseJson(ConfigToJson(model.config), path)}};
    return program.terminal().Print(object.dump());
  }
  program.terminal().Print(fmt::format("model {}\n  features  {}\n  classes   {}\n\nsettings{}", path,
                                       Grouped(model.features), Grouped(model.classes),
                                       SettingsText(model.config)));
}

bool IsController(const std::string& path) {
  std::error_code ignored;
  return fs::path(path).extension() == ".safetensors" && fs::is_regular_file(path, ignored);
}

void ShowController(Program& program, const std::string& path) {
  const Json json = ParseJson(Controller::Load(path).DescribeJson(), path);
  if (program.json()) return program.terminal().Print(JsonLine(json));
  std::string text = "controller " + path;
  for (const auto& [name, value] : json.at("controller").items()) {
    text += fmt::format("\n  {:<18}{}", name, value.is_string() ? value.get<std::string>() : JsonLine(value));
  }
  program.terminal().Print(text);
}

// How far a run is that is not finished, and how to go on with it.
void ShowUnfinished(Program& program, const Json& run) {
  if (program.json()) {
    Json object = {{"kind", "unfinished run"}};
    object.update(run);
    return program.terminal().Print(JsonLine(object));
  }
  const bool training = run.at("training").get<bool>();
  std::string text = fmt::format("run {}: {}", run.at("run").get<std::string>(),
                                 training ? "is being trained" : "was cut off and is not finished");
  if (run.contains("dataset")) {
    const std::string dataset = run.at("dataset").get<std::string>();
    text += fmt::format("\n  data set    {}", dataset.empty() ? "the embedded demo graph" : dataset);
    text += fmt::format("\n  seeds       {} of {} finished", run.at("seeds_finished").get<uint64_t>(),
                        run.at("runs").get<uint64_t>());
    if (const Json& at = run.at("checkpoint"); !at.is_null())
      text += fmt::format("\n  checkpoint  seed {}, layer {}, epoch {}", at.at("seed").get<uint64_t>(),
                          at.at("layer").get<uint64_t>(), at.at("epoch").get<uint64_t>());
    for (const auto& [name, value] : run.at("settings").items())
      text += fmt::format("\n  {:<12}{}", name, value.get<std::string>());
  }
  const std::string next = training ? "follow it with  l2gcn serve " + run.at("run").get<std::string>()
                                    : "go on with  " + run.at("resume").get<std::string>();
  program.terminal().Print(text + "\n" + next);
}

// Whether the path is something else than a data set.
bool HoldsNoData(const std::string& path) {
  return IsRun(path) || IsModel(path) || IsController(path) || !DescribeUnfinishedJson(path).empty();
}

void ShowDataset(Program& program, const DataOptions& data, bool verify, bool count) {
  Context given = program.MakeCommandContext();
  OpenOptions open = data.open;
  open.map_only = !verify && !count;
  Dataset dataset = OpenDataset(given, data.spec, open);
  const bool counted = dataset.checked || dataset.nodes() <= kMostCountedAtOnce;
  if (counted && !dataset.checked) {
    open.map_only = false;
    given.on_note = nullptr;  // notes have been shown
    dataset = OpenDataset(given, data.spec, open);
  }
  const Context context = PlacedForReading(given, dataset);
  if (verify) {
    const uint64_t bytes = VerifyDataset(context, dataset.path);
    program.terminal().Note(
        fmt::format("{}: {} bytes agree with their checksums", dataset.path, Grouped(bytes)));
  }
  const Json description = ParseJson(DescribeDatasetJson(dataset), dataset.path);
  const Json counts = counted ? CountsOf(dataset) : Json(nullptr);
  const TrainConfig config = ResolveConfig({}, dataset);
  if (program.json()) {
    const Json object = {{"kind", "dataset"},
                         {"dataset", description},
                         {"counts", counts},
                         {"config", ParseJson(ConfigToJson(config), dataset.path)},
                         {"path", dataset.path}};
    program.terminal().Print(JsonLine(object));
    return;
  }
  const std::string more =
      counted ? CountsText(counts) : "\n  (classes and degrees of so large a graph: with --counts)";
  program.terminal().Print(DatasetText(description) + more + "\n\nl2gcn train would use" +
                           SettingsText(config));
}

}  // namespace

void AddInfo(Program& program) {
  auto data = std::make_shared<DataOptions>();
  auto verify = std::make_shared<bool>(false), count = std::make_shared<bool>(false);
  Command& command = program.AddCommand("info", "Show what a data set, a run or a controller holds");
  program.OnRun(command, [&program, data, verify, count] {
    if (!data->named()) return ShowKnownDatasets(program, data->open);
    if (IsRun(data->spec)) return ShowRun(program, data->spec);
    if (IsModel(data->spec)) return ShowModel(program, data->spec);
    if (IsController(data->spec)) return ShowController(program, data->spec);
    const std::string unfinished = DescribeUnfinishedJson(data->spec);
    if (!unfinished.empty()) return ShowUnfinished(program, ParseJson(unfinished, data->spec));
    ShowDataset(program, *data, *verify, *count);
  });
  data->AddTo(command, "WHAT",
              "A run directory, a controller file, or a data set: a path, a known name or synthetic:SHAPE; "
              "none: list the known names");
  command.add_flag("--verify", *verify, "Compare every file of a native data set with its checksum")
      ->group(kDataGroup);
  command
      .add_flag("--counts", *count,
                "Count classes and degrees also of a native data set with more than a million nodes")
      ->group(kDataGroup);
  program.AddComputeOptions(command, false);
  for (const char* group : {kDataGroup, kTablesGroup}) {
    std::vector<std::string> names = command.Group(group);
    std::erase_if(names, [](const std::string& name) {
      return name == "--edges" || name == "--schema" || name == "--data-dir";
    });
    command.Only(
        names, [data] { return data->named(); }, "without a data set; name one");
    command.Only(
        command.Group(group), [data] { return !HoldsNoData(data->spec); },
        "on a run, a model or a controller; it is for data sets");
  }
}

}  // namespace l2gcn::cli

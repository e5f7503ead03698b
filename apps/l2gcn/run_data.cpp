#include "run_data.h"

#include <algorithm>
#include <limits>

#include "l2gcn/error.h"
#include "l2gcn/plan.h"
#include "l2gcn/ranks.h"

namespace l2gcn::cli {

void RunDataOptions::AddTo(Command& command) {
  AddPositional(command, "RUN", run, "Directory that l2gcn train wrote");
  data.AddTo(command, "DATASET", "Apply the model to this data set [the one it was trained on]");
  // Without a data set of their own these commands open the run's, the way the run opened it.
  for (const char* group : {kDataGroup, kTablesGroup}) {
    std::vector<std::string> names = command.Group(group);
    std::erase_if(names, [](const std::string& name) {
      return name == "--edges" || name == "--schema" || name == "--data-dir";
    });
    command.Needs(names, {"DATASET", "--edges", "--schema"});
  }
  AddWhole(command, "seed", seed, 0, std::numeric_limits<int64_t>::max(),
           "Of a run with several seeds, take this one [the best on validation]");
}

namespace {

// Relations of a model are found in new tables as they were in those of its training.
void ReuseRelations(const OpenedRun& run, OpenOptions& open) {
  const OpenOptions& trained = run.open_options;
  open.one_way = trained.one_way;
  if (run.model.config.relations.empty() || open.edges.empty()) return;
  open.directed = open.directed || trained.directed;
  if (open.weight_column.empty()) open.weight_column = trained.weight_column;
  if (open.edge_type_column.empty()) open.edge_type_column = trained.edge_type_column;
  if (open.edge_type_column.empty()) return;
  for (std::string type : run.model.relations) {
    const size_t direction = trained.directed ? type.rfind('/') : std::string::npos;
    if (direction != std::string::npos) type.resize(direction);
    if (open.edge_types.empty() || open.edge_types.back() != type) open.edge_types.push_back(type);
  }
}

// What new tables need not say again, besides their columns.
void ReuseTables(const OpenedRun& run, OpenOptions& open) {
  ReuseRelations(run, open);
  if (open.missing.empty()) open.missing = run.open_options.missing;
  open.model_edges = run.open_options.edges;
  open.model_nodes = run.open_options.nodes;
}

}  // namespace

RunData OpenRunData(const Context& context, const RunDataOptions& options, const Command& command) {
  Require(options.run, "RUN", command);
  RunData opened;
  opened.run = OpenRun(options.run, options.seed);
  OpenOptions open = options.data.open;
  std::string spec = options.data.spec;
  if (options.data.named()) {
    ReuseTables(opened.run, open);
  } else {
    if (!opened.run.knows_data) {
      throw Error(
          ErrorKind::kUsage,
          opened.run.directory +
              ": does not say which data set it was trained on, as it was made by a program from its own "
              "arrays; name a DATASET after it");
    }
    open = opened.run.open_options;
    if (!options.data.open.data_dir.empty()) open.data_dir = options.data.open.data_dir;
    spec = opened.run.dataset_spec;
    opened.same = true;
  }
  ReuseColumns(opened.run.model.schema, open);
  const Model& model = opened.run.model;
  opened.dataset = AlignRelations(
      context, model, AlignLabels(context, model, OpenForRanks(context, spec, open)), open.allow_unmatched);
  return opened;
}

Split PartsOfRun(const RunData& opened) {
  const OpenedRun& run = opened.run;
  const TrainConfig& config = run.model.config;
  const bool stored = !run.split.roles.empty();
  if (opened.same && stored && run.split.roles.size() == opened.dataset.nodes()) return run.split;
  const std::string& name = stored ? run.split.name : config.split;
  const std::vector<Split>& own = opened.dataset.splits;
  if (std::any_of(own.begin(), own.end(), [&](const Split& one) { return one.name == name; }))
    return ResolveSplit(opened.dataset, name, config.seed);
  if (!opened.same || stored) return {};
  // Before splits were stored, random ones did not look at classes.
  std::string drawn = name.empty() ? "random:0.6,0.2,0.2" : name;
  if (name.empty() && !own.empty()) return ResolveSplit(opened.dataset, "", config.seed);
  if (drawn.starts_with("random:")) drawn.replace(0, 6, "uniform");
  return ResolveSplit(opened.dataset, drawn, config.seed);
}

bool PrintedPlan(Program& program, const Context& context, const RunData& opened) {
  return program.PrintedPlan(
      [&](bool as_json) { return InferencePlan(context, opened.dataset, opened.run.model, as_json); });
}

}  // namespace l2gcn::cli

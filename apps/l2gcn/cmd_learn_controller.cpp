// l2gcn learn-controller: learn a stopping controller on samples of one or more data sets.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "l2gcn/controller.h"
#include "l2gcn/error.h"
#include "l2gcn/ranks.h"
#include "options.h"
#include "program.h"
#include "result_text.h"

namespace l2gcn::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct SearchCommand {
  std::vector<std::string> specs;
  OpenOptions open;
  std::string settings;  // file of --config
  Overrides said;        // of SearchFields()
  SearchConfig search;   // the two together
  ConfigOptions training;
  OutputOptions output;
  bool resume = false;
};

// What the file of --config says, and then the flags.
SearchConfig SearchSettings(const SearchCommand& command) {
  SearchConfig config;
  if (!command.settings.empty()) {
    std::ifstream file(command.settings);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (!file) throw Error(ErrorKind::kUsage, fmt::format("--config {}: cannot be read", command.settings));
    const Json object = ParseJson(text, command.settings);
    Overrides stored;
    for (const auto& [name, value] : object.items())
      stored.emplace_back(name, value.is_string() ? value.get<std::string>() : JsonLine(value));
    SetFields(SearchFields(), stored, config);
  }
  SetFields(SearchFields(), command.said, config);
  return config;
}

void RunSearch(Program& program, SearchCommand& command, const Command& app) {
  Require(command.output.path, "-o FILE", app);
  if (command.specs.empty()) command.specs = {""};
  command.search = SearchSettings(command);
  const std::string& path = command.output.path;
  const bool replace = command.output.force || command.resume;
  if (program.leads()) CheckSearchPath(path, replace);
  const Context context = program.MakeCommandContext();
  std::vector<Dataset> datasets;
  for (const std::string& spec : command.specs) datasets.push_back(OpenForRanks(context, spec, command.open));
  command.search.state_path = path + ".state";
  command.search.resume = command.resume;
  SearchResult result;
  const Controller controller =
      SearchController(context, datasets, command.search, command.training.overrides(), &result);
  if (!program.leads()) return;
  SaveSearch(controller, command.search, result, path, replace);
  std::error_code ignored;
  fs::remove(command.search.state_path, ignored);
  Json json = ParseJson(controller.DescribeJson(), path);
  json["file"] = path;
  json["search"] = ParseJson(SearchResultJson(command.search, result), path);
  if (program.json()) return program.terminal().Print(JsonLine(json, 2));
  const Json& settings = json.at("controller");
  program.terminal().Print(fmt::format(
      "{} controller learned on {} in {:.2f} s\n  rounds     {}, cost {:.4f} at first, {:.4f} at last\n"
      "  threshold  {:.3f}\n  written    {} (reward curve: {}.json)\n  use it     l2gcn train DATASET "
      "--controller {}",
      settings.at("kind").get<std::string>(), settings.at("learned_on").get<std::string>(), result.seconds,
      result.curve.size(), result.curve.front().cost, result.curve.back().cost,
      settings.at("threshold").get<double>(), path, path, path));
}

}  // namespace

void AddLearnController(Program& program) {
  auto command = std::make_shared<SearchCommand>();
  Command& app = program.AddCommand("learn-controller", "Learn when to stop training a layer");
  program.OnRunByRanks(app, [&program, command, &app] { RunSearch(program, *command, app); });
  app.add_option("DATASET", command->specs, "Data sets to learn on; none: the embedded demo graph")
      ->type_name("");
  AddOpenOptions(app, command->open);
  AddKeptFields(app, SearchFields(), SearchConfig{}, command->said);
  app.Advance(
      *app.add_option("--config", command->settings,
                      "More constants, from a JSON object such as {\"decisions\": 40}; flags override")
           ->type_name("FILE")
           ->group("Controller"));
  command->training.AddTo(
      app, {"method", "threshold", "stop", "controller", "patience", "watch", "seed", "batch", "drop-last"},
      {{"preset", "paper"}});
  command->output.AddTo(app, "FILE", "Controller file (safetensors); FILE.json gets the reward curve",
                        "controller");
  app.add_flag("--resume", command->resume, "Go on with an interrupted call that wrote to the same FILE")
      ->group(kOutputGroup);
  program.AddComputeOptions(app);
}

}  // namespace l2gcn::cli

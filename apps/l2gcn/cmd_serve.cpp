// l2gcn serve: a run's report over HTTP, live while the run goes on.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "l2gcn/serve.h"
#include "options.h"
#include "program.h"

namespace l2gcn::cli {
namespace {

struct ServeArguments {
  std::string run;
  ServeOptions options;
};

void RunServe(Program& program, const Command& command, const ServeArguments& arguments) {
  Require(arguments.run, "RUN", command);
  ServeOptions options = arguments.options;
  const Context context = program.MakeCommandContext();
  if (options.address != "127.0.0.1" && options.address != "::1") {
    context.Warn(
        fmt::format("--address {}: everyone who reaches this machine can read the report", options.address));
  }
  options.on_ready = [&](const std::string& url) {
    program.terminal().Print(program.json() ? nlohmann::json{{"url", url}}.dump()
                                            : "serving " + url + "  (Ctrl-C ends)");
    program.terminal().Finish();
  };
  ServeRun(context, arguments.run, options);
}

}  // namespace

void AddServe(Program& program) {
  auto arguments = std::make_shared<ServeArguments>();
  Command& command = program.AddCommand("serve", "Serve the report of a run over HTTP, live");
  program.OnRun(command, [&program, &command, arguments] { RunServe(program, command, *arguments); });
  AddPositional(command, "RUN", arguments->run, "Run directory, there or in the making");
  arguments->options.port = 6060;
  AddWhole(command, "port", arguments->options.port, 0, 65535, "Port; 0: any free one [6060]");
  command
      .add_option("--address", arguments->options.address,
                  "Address to listen on; others than loopback open the report to others [127.0.0.1]")
      ->type_name("ADDRESS");
  command
      .add_option(
          "--host", arguments->options.hosts,
          "Host name under which the page may be opened, besides IP addresses and localhost; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  AddWhole(command, "map-nodes", arguments->options.report.map_nodes, 0, 5000,
           "Nodes in the map of the embeddings; 0: no map [1000]");
  command
      .add_option("--data-dir", arguments->options.report.data_dir, "Where data sets are looked for first")
      ->type_name("DIR");
  program.AddComputeOptions(command);
}

}  // namespace l2gcn::cli

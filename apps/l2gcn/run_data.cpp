#include "run_data.h"

#include <limits>

#include "l2gcn/error.h"

namespace l2gcn::cli {

void RunDataOptions::AddTo(CLI::App& command) {
  AddPositional(command, "RUN", run, "Directory that l2gcn train wrote");
  data.AddTo(command, "DATASET", "Apply the model to this data set [the one it was trained on]");
  AddWhole(command, "seed", seed, 0, std::numeric_limits<int64_t>::max(),
           "Of a run with several seeds, take this one [the best on validation]");
}

RunData OpenRunData(const Context& context, const RunDataOptions& options, const CLI::App& command) {
  Require(options.run, "RUN", command);
  RunData opened;
  opened.run = OpenRun(options.run, options.seed);
  if (options.data.named()) {
    opened.dataset = OpenDataset(context, options.data.spec, options.data.open);
    return opened;
  }
  if (!opened.run.knows_data) {
    throw Error(
        ErrorKind::kUsage,
        opened.run.directory +
            ": does not say which data set it was trained on, as it was made by a program from its own "
            "arrays; name a DATASET after it");
  }
  OpenOptions open = opened.run.open_options;
  if (!options.data.open.data_dir.empty()) open.data_dir = options.data.open.data_dir;
  opened.dataset = OpenDataset(context, opened.run.dataset_spec, open);
  return opened;
}

}  // namespace l2gcn::cli

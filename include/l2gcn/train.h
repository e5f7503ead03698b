// Training as a call: one or several seeds on one data set, with the result that --json prints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "l2gcn/config.h"
#include "l2gcn/dataset.h"
#include "l2gcn/model.h"
#include "l2gcn/stop_policy.h"

namespace l2gcn {

struct SeedResult {
  // Seconds per phase. choose is what trials of architectures take. train counts the layers' training alone; setup is device context, upload, capture; validate is what
  // stopping rules evaluate while a layer trains, and is not part of train. Layers' outputs that evaluations need for every node and
  // that evaluation uses again count as evaluate.
  struct Seconds {
    double load = 0, choose = 0, setup = 0, aggregate = 0, train = 0, validate = 0, transform = 0,
           evaluate = 0, total = 0;
  };

  // The most memory that is known to have been resident in each phase, in bytes; 0 where a phase did not happen. A phase
  // that raised the peak of the process has that peak. Of another phase, which stayed below the peak, it is what was
  // resident when the phase began or ended, whichever is more.
  struct Resident {
    uint64_t load = 0, setup = 0, aggregate = 0, train = 0, transform = 0, evaluate = 0;
  };

  // What happened in one layer.
  struct Layer {
    uint32_t epochs = 0;
    uint32_t kept_epoch = 0;  // the weights are those after this one; before the last if a policy went back
    double rate = 0;          // Adam's base rate, before it decays
    uint64_t steps = 0;       // all optimiser steps, those of discarded rates included
    std::vector<double> losses;  // per epoch, as the stop policy saw it: the last batch's
    std::vector<std::pair<uint32_t, double>> probabilities;  // (epoch, stopping probability) at each decision
    std::string stopped_by;                                  // "budget", "controller", "early stopping", …
    double aggregate_seconds = 0, train_seconds = 0, transform_seconds = 0;
    bool sparse_input = false;
    double flops = 0;  // useful arithmetic of this layer's training
    double gathered_bytes =
        0;  // graph entries × columns × 4 that aggregation read; 0 where features are sparse
  };

  // A score of the validation nodes during training; `seconds` counts aggregation, training and transformation
  // so far.
  struct ValidationPoint {
    double seconds = 0;
    uint32_t layer = 1, epoch = 0;  // epoch of that layer
    double f1 = 0;                  // NaN of a regression
    double loss = 0;                // mean
  };

  // The scores of a regression in each part of the split: of the model, and of the mean of the train nodes. NaN where a
  // part has no nodes.
  struct Regression {
    Score::Numbers train, val, test;
    Score::Numbers baseline_train, baseline_val, baseline_test;
  };

  // A short training that helped to choose the architecture (TrainConfig::architecture_trial).
  struct Trial {
    std::vector<std::string> relations;
    std::vector<Adjacency> adjacency;
    HiddenNorm hidden_norm = HiddenNorm::kNone;
    uint32_t epochs = 0;
    double loss = 0;      // mean over the evaluation nodes
    bool chosen = false;  // the training that follows has these parts
  };

  uint64_t seed = 0;
  double f1_train = 0, f1_val = 0, f1_test = 0;  // micro; NaN where the split has no such nodes
  std::optional<Regression> regression;          // of a regression, whose f1 fields are NaN
  // What knows nothing of a node scores (Score::baseline), likewise.
  std::string baseline;
  double baseline_train = 0, baseline_val = 0, baseline_test = 0;
  std::string split;                                        // its name
  uint64_t train_nodes = 0, val_nodes = 0, test_nodes = 0;  // of it
  uint64_t unused_nodes = 0, unlabelled_nodes = 0;          // labelled but in no part; without a label
  std::vector<Trial> trials;                                // in order; empty: nothing was left to choose
  std::vector<Layer> layers;
  Seconds seconds;
  std::vector<ValidationPoint> validation;  // where the configuration asks for it (val_every)
  uint64_t peak_rss_bytes = 0, peak_device_bytes = 0;
  Resident resident;
  uint64_t sampler_bytes =
      0;  // what a conventional method keeps from step to step: histories, whole-graph blocks
  // How often the seed began again because its loss stopped being finite (--on-nan restart), and the rate that it
  // ended with; the rate is 0 where it never began again.
  uint32_t restarts = 0;
  double lowered_lr = 0;
  std::string run;  // directory, or empty
};

struct TrainResult {
  TrainConfig config;        // as resolved
  std::string dataset_json;  // DescribeDatasetJson
  std::string source_json;   // how the data set was opened: spec and OpenOptions
  std::vector<SeedResult> seeds;
  std::string device;
  uint32_t threads = 1;
  std::string run;
  // Snapshots this process kept, for --profile; not part of the result, which must not depend on them.
  uint32_t snapshots = 0;
  uint64_t snapshot_bytes = 0;
  double snapshot_seconds = 0;
  std::string disk_json;  // what a run from disk moved, and the rates of the disk; "" in memory
};

struct Trained {
  Model model;
  Split split;
  SeedResult result;  // f1 fields and evaluate seconds still unset
};
// Trains one seed with the default settings for this data set, those of ResolveConfig({}, dataset): the same model as the
// program's and Python's. Does not evaluate and writes nothing.
Trained Train(const Context& context, const Dataset& dataset);
// The same with other settings; ResolveConfig makes them.
Trained Train(const Context& context, const Dataset& dataset, const TrainConfig& config);
// The same with a policy of the caller's in place of the configuration's.
Trained Train(const Context& context, const Dataset& dataset, const TrainConfig& config, StopPolicy& policy);

// Chooses what the model predicts from, its thresholds and Correct & Smooth where its configuration asks for them, then
// fills the f1, baseline and split fields of trained.result.
void EvaluateTrained(const Context& context, const Dataset& dataset, Trained& trained);

class Ranks;
class RunLock;  // holds a run's name (run/run_lock.h)

struct RunOptions {
  std::string output;  // run directory; empty: runs/DATASET-METHOD-NNN
  bool write = true;
  bool force = false;       // replace an existing run
  uint32_t runs = 1;        // seeds config.seed … config.seed + runs − 1
  double load_seconds = 0;  // what opening the data set took, for the record
  // Called with every decision about when a layer ends; may be empty. The training then keeps no snapshots.
  OnDecision on_decision;
  // Called with every seed once it is trained and evaluated; may be empty.
  std::function<void(const Trained&)> on_seed;
  // How the data set was opened, so that evaluate, predict and embed can open it again. A data set made from
  // arrays (MakeDataset) cannot be opened again, and the run says so.
  std::string dataset_spec;
  OpenOptions open_options;
  // Progress is kept in OUTPUT.unfinished: what is finished always, and the current seed every so many
  // seconds or, if checkpoint_epochs is not 0, after so many epochs.
  double checkpoint_seconds = 60;
  uint32_t checkpoint_epochs = 0;
  Overrides overrides;  // what the user said of the settings: all that is needed to resolve them again
  Overrides machine;    // what the user said of the machine (MachineFields()), for whoever resumes the run
  // The lock on the run's name (LockRun, ResumeRun); null: RunTraining takes it.
  std::shared_ptr<RunLock> lock;
};

// Makes what names a data set hold from any folder and without the environment: paths become absolute, and for a known
// name `open.data_dir` becomes the folder that has it. Nothing changes where nothing is found.
void MakePathsAbsolute(std::string& spec, OpenOptions& open);

// Takes the name options.output before the data set is opened, so that from then on the training can be
// resumed by it.
std::shared_ptr<RunLock> LockRun(const RunOptions& options);

// Where ranks share the work (else `ranks` is null): all get rank 0's data set, settings, machine and number of runs.
void ShareRunOptions(Ranks* ranks, RunOptions& options);

// Trains, evaluates and writes every seed. A run directory appears whole or not at all. A training that was
// cut off and resumed gives the same bits as one that was not; only its seconds and peak memory are its own.
// Where ranks share the work only rank 0 writes, and only its result is whole.
TrainResult RunTraining(const Context& context, const Dataset& dataset, const TrainConfig& config,
                        const RunOptions& options);

// Sends the outcome of RunTraining from rank 0 to all ranks: its result and the seeds that on_seed received. Without ranks it
// does nothing.
void ShareTrained(const Context& context, TrainResult& result, std::vector<Trained>& trained);

// Writes what Train() returned, one for each seed, as the run directory that RunTraining would have written
// (options.runs, .write and .on_decision are not looked at). Evaluate first if the run is to have scores.
TrainResult SaveRun(const Context& context, const Dataset& dataset, std::span<const Trained> trained,
                    const RunOptions& options);

// The JSON object of the contract.
std::string ResultToJson(const TrainResult& result);

// A run directory opened again, or a directory that SaveModel wrote. With several seeds, the best on
// validation unless `seed` names one (−1: none).
struct OpenedRun {
  Model model;
  Split split;               // as trained; no roles in runs written before splits were stored
  std::string dataset_json;  // DescribeDatasetJson of the set it was trained on
  std::string directory;     // where the seed that was taken lies
  bool knows_data = true;    // false: a lone model, or trained on arrays; the two below say nothing
  std::string dataset_spec;  // what to open when the user names no data set
  OpenOptions open_options;
};
// Every file that is read must agree with the checksum that the run has for it; runs of earlier versions have none.
OpenedRun OpenRun(const std::string& directory, int64_t seed = -1);

// The result that a run directory holds, as ResultToJson wrote it, once its checksum has been compared.
std::string ReadRunResult(const std::string& directory);

// Settings to train with again, from a run's config.json or a plain object of settings, to options.overrides. Where a run's
// result.json beside the file says what it was trained on, that goes to options.dataset_spec and .open_options. Returns
// whether it does.
bool ReadSettings(const std::string& config_path, RunOptions& options);

// Takes up the unfinished run called `directory`, as it was begun; one that lacks only its last rename gets it. A run that is
// finished has no lock. Throws Error(kUsage) where there is nothing of that name, or another process is at it.
RunOptions ResumeRun(const std::string& directory, bool force);

}  // namespace l2gcn

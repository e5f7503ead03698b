#include "pipeline/memory_plan.h"

// The plan of a run, by walking through its operations with counts in place of data: what each one holds, reads and writes.
#include <sys/statvfs.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "config/architecture.h"
#include "config/methods.h"
#include "core/clock.h"
#include "core/device_choice.h"
#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/json_text.h"
#include "core/memory_meter.h"
#include "core/sample_order.h"
#include "data/relations.h"
#include "data/watch.h"
#include "kernels/disk/disk_layout.h"
#include "l2gcn/ranks.h"
#include "pipeline/run_counts.h"
#include "ranks/collectives.h"
#include "ranks/shared_device.h"

namespace l2gcn {
namespace {

constexpr double kShareOfMachine = 0.9;
constexpr double kCareful = 1.1;                        // estimates of memory are raised by this
constexpr uint64_t kProgramBytes = uint64_t{16} << 20;  // code, tables and the heap's own
constexpr uint64_t kStateCopies = 20;                   // of a layer's weights, while it is trained
constexpr uint64_t kBatchCopies = 4;                    // of a batch's rows, likewise

double GiBOf(uint64_t bytes) { return static_cast<double>(bytes) / (uint64_t{1} << 30); }
RunCounts RunCountsOf(const Dataset& dataset, const TrainConfig& config, uint64_t train, uint64_t scored) {
  RunCounts counts;
  counts.nodes = dataset.nodes();
  counts.train = train;
  counts.scored = scored;
  counts.inductive = !config.transductive;
  counts.sparse = dataset.features.is_sparse() && config.pca == 0 && config.scale != Scale::kStandard;
  counts.multilabel = dataset.labels.multilabel;
  counts.features = config.pca > 0 ? config.pca : dataset.features.cols();
  counts.classes = dataset.labels.classes;
  counts.element = config.features_as == FeatureType::kF32 ? 4 : 2;
  counts.stored_bytes = dataset.features.bytes();
  VisitGraphArrays(dataset, [&](const auto& array) { counts.graph_bytes += array.bytes(); });
  counts.other_bytes = dataset.labels.classes_of.bytes() + dataset.labels.matrix.bytes() +
                       2 * dataset.labels.targets.values.bytes();  // and standardised
  counts.held_bytes = AnonymousBytes();
  counts.others_bytes = counts.held_bytes - std::min(counts.held_bytes, BytesInMemoryAlone(dataset));
  TrainConfig widest = config;
  if (config.architecture_trial) widest.adjacency = TrialOperators();
  if (config.TriesRelations()) widest.relations = WidestRelations(dataset);
  if (config.architecture_trial || config.TriesRelations()) counts.tried_operators = OperatorCount(widest);
  counts.aggregates = BlocksOfHops(widest) - 1;
  const std::vector<Graph> graphs =
      GraphsNamed(OperatorRelations(widest), dataset.graph, dataset.relations, dataset.name);
  counts.graphs = graphs.size();
  for (const Graph& graph : graphs) counts.entries += graph.entries();
  counts.entries /= counts.graphs;
  counts.raw_features = config.raw_features ? counts.features : 0;
  counts.smooth = config.smooth;
  counts.head = config.head;
  counts.batch = std::min<uint64_t>(config.batch, train);
  counts.first_few = std::max<size_t>(config.FindsRate() ? config.layers - 1 : 0, counts.sparse ? 1 : 0);
  for (uint32_t layer = 0; layer < config.layers; ++layer) {
    counts.hidden.push_back(config.HiddenOf(layer));
    counts.epochs.push_back(config.EpochsOf(layer));
  }
  const uint64_t inputs = counts.InputsOf(counts.hidden.size() - 1);
  const bool basic = ArchitectureOf(config).basic();
  const bool counts_answers = basic && config.correct == Choice::kOff && !config.HasThreshold() &&
                              FindMethod(config.method).prediction_head == PredictionHead::kClassifier;
  counts.scores_in_training =
      counts_answers && !counts.inductive && !config.self_features && inputs <= counts.hidden.back();
  return counts;
}

// Ranks compute every row and evaluate apart from training.
RunCounts RanksCounts(const Context& context, RunCounts counts) {
  if (context.ranks == nullptr) return counts;
  counts.scored = counts.nodes;
  counts.scores_in_training = false;
  return counts;
}

// Bytes of an activation: a tenth of the columns of sparse features are taken to be there once they are aggregated.
uint64_t MatrixBytes(const RunCounts& counts, uint64_t rows, uint64_t cols, bool sparse) {
  return sparse ? rows * cols / 10 * 8 : rows * cols * counts.element;
}

// What a run in memory takes: what stays, and the largest of what layers and the evaluation hold beside it.
uint64_t NeedInMemory(const RunCounts& counts, bool trains) {
  const uint64_t stays =
      counts.stored_bytes + counts.graph_bytes + counts.other_bytes + counts.graphs * 12 * counts.nodes;
  const uint64_t subgraph =
      trains && counts.inductive ? counts.graphs * (4 * counts.train_entries() + 20 * counts.train) : 0;
  const uint64_t logits = 2 * counts.nodes * counts.classes * 4;
  uint64_t most = 0;
  for (size_t layer = 0; layer < counts.hidden.size(); ++layer) {
    const uint64_t in = counts.InputsOf(layer), out = counts.hidden[layer];
    const bool sparse = counts.sparse && layer == 0;
    if (trains) {
      // Trials keep the blocks of sparse features beside what they are merged to.
      const uint64_t width = counts.WidthOf(layer, in), copies = sparse && counts.tried_operators > 0 ? 2 : 1;
      most = std::max(
          most, subgraph + (layer > 0 ? MatrixBytes(counts, counts.rows(), in, false) : 0) +
                    copies * MatrixBytes(counts, counts.rows(), width, sparse) +
                    MatrixBytes(counts, counts.rows(), out, false) +
                    (layer == 0 ? MatrixBytes(counts, counts.nodes, counts.TrialColumns(), sparse) : 0));
    }
    const uint64_t before = layer > 0 ? MatrixBytes(counts, counts.nodes, in, false) : 0;
    const uint64_t joined =
        counts.aggregates > 0 ? MatrixBytes(counts, counts.nodes, counts.WidthOf(layer, in), sparse) : 0;
    most = std::max(most, before + joined + counts.nodes * out * (4 + counts.element) + logits);
  }
  return static_cast<uint64_t>(kCareful * static_cast<double>(stays + most)) +
         std::max(kProgramBytes, counts.others_bytes);
}

// A walk through a run from disk under one budget.
class DiskWalk {
 public:
  DiskWalk(const RunCounts& counts, uint64_t budget) : counts_(counts), budget_(budget) {
    // Scales of the operators, roles and rows of nodes, buffers; what the watch over mapped pages leaves free.
    const uint64_t held =
        (1 + counts.graphs * 12) * counts.nodes + (counts.inductive ? 24 * counts.train : 4 * counts.train) +
        (counts.multilabel ? counts.train * counts.classes : 0) + kDiskBuffers * DiskBufferBytes(budget) +
        std::max(kProgramBytes, counts.held_bytes) + DiskMemory::Reserve(budget);
    free_ = budget > held ? budget - held : 0;
  }

  void Train() {
    uint64_t on_disk = 0;  // bytes of the layer's input
    for (size_t layer = 0; layer < counts_.hidden.size(); ++layer) {
      const uint64_t in = counts_.InputsOf(layer), rows = counts_.rows_of(layer);
      const bool last = layer + 1 == counts_.hidden.size();
      // The operator of fewer rows is copied out. How many rows a layer before the last will have is a guess, so
      // scratch is planned for all of them, which is more than fewer rows and their operator take.
      const uint64_t most = last ? rows : counts_.rows();
      const uint64_t copied = rows < counts_.rows() ? 4 * counts_.entries_of(layer) + 20 * rows : 0;
      if (copied > 0) Move(4 * counts_.train_entries(), copied);
      for (uint64_t i = 0; i < std::max<uint64_t>(1, counts_.aggregates); ++i)
        Aggregate(counts_.rows(), rows, counts_.entries_of(layer), in, layer == 0 && i == 0);
      const uint64_t width = counts_.WidthOf(layer, in), out = last ? 0 : counts_.hidden[layer];
      Samples(width, counts_.hidden[layer], counts_.epochs[layer]);
      if (!last) Move(Bytes(rows, width), Bytes(rows, out));
      const uint64_t tried = layer == 0 ? Bytes(counts_.nodes, counts_.TrialColumns()) : 0;
      Hold(on_disk + tried + Bytes(most, width + out) + (last ? Bytes(counts_.train, width) + copied : 0));
      on_disk = Bytes(most, out);
    }
  }

  void Infer() {
    for (size_t layer = 0; layer < counts_.hidden.size(); ++layer) {
      const uint64_t in = counts_.InputsOf(layer), out = counts_.hidden[layer], nodes = counts_.nodes;
      if (counts_.aggregates == 0 && in > out) {
        Move(layer == 0 ? counts_.stored_bytes : Bytes(nodes, in), nodes * out * 4);
        Aggregate(nodes, nodes, counts_.entries, out, false, 4);
        Hold(Bytes(nodes, in + out) + nodes * out * 4);
        continue;
      }
      for (uint64_t i = 0; i < std::max<uint64_t>(1, counts_.aggregates); ++i)
        Aggregate(nodes, nodes, counts_.entries, in, layer == 0 && i == 0);
      const uint64_t width = counts_.WidthOf(layer, in);
      Move(Bytes(nodes, width), Bytes(nodes, out));
      Hold(Bytes(nodes, in + width + out));
    }
    Move(Bytes(counts_.nodes, counts_.hidden.back()), 4 * counts_.nodes * counts_.classes);
    Hold(Bytes(counts_.nodes, counts_.hidden.back()) + 4 * counts_.nodes * counts_.classes);
  }

  void WriteTo(MemoryPlan& plan) const {
    plan.panels = std::max(plan.panels, panels_);
    plan.read_bytes += read_;
    plan.write_bytes += written_;
    plan.scratch_bytes = std::max(plan.scratch_bytes, scratch_);
  }
  bool fits() const { return fits_; }

 private:
  uint64_t Bytes(uint64_t rows, uint64_t cols) const { return rows * cols * counts_.element; }
  void Move(uint64_t read, uint64_t written) {
    read_ += read;
    written_ += written;
  }
  void Hold(uint64_t bytes) { scratch_ = std::max(scratch_, bytes); }
  void Aggregate(uint64_t sources, uint64_t rows, uint64_t entries, uint64_t cols, bool from_features,
                 uint64_t element = 0) {
    const uint64_t in = element > 0 ? element : counts_.element;
    const size_t columns = PanelColumns(free_, sources, cols, in, counts_.element);
    fits_ = fits_ && columns > 0;
    const uint64_t panels = (cols + std::max<size_t>(1, columns) - 1) / std::max<size_t>(1, columns);
    panels_ = std::max(panels_, static_cast<uint32_t>(panels));
    const uint64_t graph = 4 * entries + 8 * rows, x = (from_features ? counts_.nodes : sources) * cols * in;
    // Features are read by whole rows: twice, or once and then written and read as panels (PanelReader).
    const uint64_t rest = from_features && !counts_.sparse && panels > 2 ? x - x / panels : 0;
    const uint64_t features = panels > 2 ? counts_.stored_bytes + rest : panels * counts_.stored_bytes;
    Move(panels * graph + (from_features ? features : x), rest + Bytes(rows, cols));
    Hold(rest + Bytes(rows, cols));
  }

  // A layer's training: weights with their moments, gradients and copies, a batch's activations, and the rows of
  // samples, which are read once where they fit into memory, else written apart and read in every epoch.
  void Samples(uint64_t width, uint64_t hidden, uint64_t epochs) {
    const uint64_t state =
        kStateCopies * 4 * (width * hidden + hidden * counts_.head + hidden * counts_.classes) +
        kBatchCopies * 4 * counts_.batch * (width + hidden + counts_.classes);
    const uint64_t bytes = Bytes(counts_.train, width);
    const bool in_memory = static_cast<double>(bytes) <= kSampleShare * static_cast<double>(free_);
    const uint64_t window = std::max<uint64_t>(kWindowBlocks * kSampleBlockBytes, 4 * counts_.batch * width);
    Move(bytes, 0);
    if (!in_memory) Move(epochs * bytes, bytes);
    fits_ = fits_ && state + (in_memory ? bytes : kRingWindows * window) <= free_;
  }

  const RunCounts& counts_;
  uint64_t budget_, free_ = 0;
  uint64_t read_ = 0, written_ = 0, scratch_ = 0;
  uint32_t panels_ = 0;
  bool fits_ = true;
};

// What a layer-wise training holds besides what is there already, at the very least: what the first layer reads and
// what it leaves.
uint64_t LeastInMemory(const RunCounts& counts) {
  const uint64_t read = counts.sparse ? 0 : counts.rows() * counts.features * counts.element;
  const uint64_t left = counts.hidden.size() > 1 ? counts.rows() * counts.hidden[0] * counts.element : 0;
  return std::max<uint64_t>(1, counts.aggregates) * read + left;
}

// A limit on addresses is no budget: mapped files count, too, so a run from disk needs no fewer of them.
void RefuseWithoutAddresses(const Dataset& dataset, const RunCounts& counts) {
  const MemoryCeiling ceiling = FindMemoryCeiling();
  const uint64_t used = ResidentBytes(), need = LeastInMemory(counts);
  if (!ceiling.of_addresses || used + need <= ceiling.bytes) return;
  ThrowUsage(
      "training {} needs at least {:.2f} GiB besides the {:.2f} in use, but at most {:.2f} GiB are to be had "
      "({}); use "
      "--preset paper, --features-as f16, a smaller graph, or a higher limit",
      dataset.name, GiBOf(need), GiBOf(used), GiBOf(ceiling.bytes), ceiling.set_by);
}

MemoryPlan BeginPlan(const Context& context) {
  MemoryPlan plan;
  MemoryCeiling ceiling = FindMemoryCeiling();
  if (ceiling.of_addresses) ceiling.bytes = std::numeric_limits<uint64_t>::max();
  const uint64_t could_have = AvailableBytes() + ResidentBytes();
  const bool group = ceiling.bytes < could_have || AvailableBytes() == 0;
  plan.budget =
      static_cast<uint64_t>(kShareOfMachine * static_cast<double>(group ? ceiling.bytes : could_have));
  plan.set_by = group ? ceiling.set_by : "what the machine has free";
  if (context.host_memory != 0) {
    plan.budget = context.host_memory;
    plan.set_by = "--memory";
  }
  return plan;
}

DiskWalk WalkOf(const RunCounts& counts, uint64_t budget, bool trains) {
  DiskWalk walk(counts, budget);
  if (trains) walk.Train();
  if (!trains || !counts.scores_in_training) walk.Infer();
  return walk;
}

// The least budget, to a MiB.
uint64_t LeastBudget(const RunCounts& counts, bool trains) {
  constexpr uint64_t kStep = uint64_t{1} << 20;
  uint64_t low = 1, high = (uint64_t{1} << 50) / kStep;
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (WalkOf(counts, middle * kStep, trains).fits()) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low * kStep;
}

void MeasureScratch(const Context& context, MemoryPlan& plan) {
  const std::filesystem::path directory = ScratchDirectory(context);
  struct statvfs space {};
  if (statvfs(directory.c_str(), &space) == 0) plan.scratch_free = space.f_bavail * space.f_frsize;
  if (plan.scratch_bytes > plan.scratch_free) {
    ThrowUsage(
        "{}: {} of scratch are needed and {} are free there; name another place with --scratch, or use "
        "--features-as f16 or a larger --memory ({} to stay in memory)",
        directory.string(), SizeText(plan.scratch_bytes), SizeText(plan.scratch_free),
        SizeText(plan.need_bytes));
  }
  const DiskRates rates = MeasureDisk(directory);
  plan.read_rate = rates.read;
  plan.write_rate = rates.write;
  plan.seconds =
      static_cast<double>(plan.read_bytes) / rates.read + static_cast<double>(plan.write_bytes) / rates.write;
}

// Which memory a run takes, and how it goes from disk where that is not enough.
MemoryPlan PlanMemory(const Context& context, const Dataset& dataset, const TrainConfig& config,
                      const RunCounts& counts, bool trains) {
  MemoryPlan plan = BeginPlan(context);
  plan.device = context.device;
  if (trains && FindMethod(config.method).loop == TrainingLoop::kLayerwise)
    RefuseWithoutAddresses(dataset, counts);
  plan.need_bytes = NeedInMemory(counts, trains);
  if (plan.need_bytes <= plan.budget) return plan;
  const Method& method = FindMethod(config.method);
  if (trains && method.loop != TrainingLoop::kLayerwise) {
    // Where nobody named a budget an estimate is no reason to refuse what may well run.
    if (context.host_memory == 0) return plan;
    ThrowUsage(
        "training {} with method {} needs about {:.2f} GiB, the budget is {:.2f} GiB ({}), and only "
        "layer-wise methods "
        "train from disk; use --method lgcn or l2gcn, or a larger --memory",
        dataset.name, config.method, GiBOf(plan.need_bytes), GiBOf(plan.budget), plan.set_by);
  }
  plan.in_memory = false;
  plan.least_bytes = LeastBudget(counts, trains);
  if (plan.least_bytes > plan.budget) {
    ThrowUsage(
        "{}: needs {} in memory or at least {} from disk, and {} are to be had ({}); use a larger --memory, "
        "--features-as f16, or a smaller graph",
        dataset.name, SizeText(plan.need_bytes), SizeText(plan.least_bytes), SizeText(plan.budget),
        plan.set_by);
  }
  WalkOf(counts, plan.budget, trains).WriteTo(plan);
  MeasureScratch(context, plan);
  return plan;
}

// The device of ranks that share a model, some of which go to disk.
Context ForSharedDisk(const Context& context) {
  if (context.device != DeviceKind::kCpu && !context.device_is_automatic) {
    ThrowUsage(
        "--device {}: ranks share one model from disk on the CPU alone; use a larger --memory or --device {}",
        DeviceName(context.device), DeviceName(DeviceKind::kCpu));
  }
  return PreferCpu(context, "a model that ranks share", "what does not fit into memory goes to disk");
}

// The device, and how ranks get at each other's rows. Those that go to disk keep their rows to themselves.
void PlanExchange(const Context& given, MemoryPlan& plan) {
  Ranks& ranks = *given.ranks;
  const bool to_disk = !plan.in_memory || given.disk != nullptr;
  const bool all_in_memory = SumOverRanks(ranks, to_disk ? 1 : 0) == 0;
  const Context context = all_in_memory ? ForSharedModel(given) : ForSharedDisk(ForSharedModel(given));
  const bool on_gpus = context.device != DeviceKind::kCpu;
  plan.device = context.device;
  plan.ranks = ranks.size();
  plan.shares_memory = ranks.shares_memory() && all_in_memory && !on_gpus;
  plan.why_messages = !ranks.shares_memory() ? ranks.why_messages()
                      : on_gpus              ? "GPUs get panels of columns"
                      : !all_in_memory       ? "what does not fit into memory goes to disk"
                                             : "";
}

RunCounts TrainingCounts(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  const Split::Counts split = CountSplit(dataset, config.split, config.seed);
  return RanksCounts(context,
                     RunCountsOf(dataset, config, split.train, split.train + split.val + split.test));
}

std::string PlanToJson(const MemoryPlan& plan) {
  nlohmann::ordered_json json;
  json["plan"] = {{"in_memory", plan.in_memory},
                  {"panels", plan.panels},
                  {"read_bytes", plan.read_bytes},
                  {"write_bytes", plan.write_bytes},
                  {"scratch_bytes", plan.scratch_bytes},
                  {"memory_bytes", plan.memory_bytes()},
                  {"seconds", plan.seconds},
                  {"budget_bytes", plan.budget},
                  {"least_bytes", plan.least_bytes},
                  {"need_bytes", plan.need_bytes},
                  {"ranks", plan.ranks},
                  {"exchange", plan.shares_memory ? "memory" : "messages"}};
  return json.dump();
}

std::string TextOf(const MemoryPlan& plan, bool as_json) {
  return as_json ? PlanToJson(plan) : DescribePlan(plan);
}

}  // namespace

MemoryPlan PlanTraining(const Context& given, const Dataset& dataset, const TrainConfig& config,
                        uint32_t runs) {
  const bool together = runs == 1 && FindMethod(config.method).loop != TrainingLoop::kConventional;
  const Context context = together ? given : WithoutRanks(given);
  const RunCounts counts = TrainingCounts(context, dataset, config);
  MemoryPlan plan = PlanMemory(context, dataset, config, counts, true);
  if (context.ranks != nullptr) PlanExchange(context, plan);
  return plan;
}

MemoryPlan PlanInference(const Context& context, const Dataset& dataset, const Model& model) {
  const RunCounts counts = RanksCounts(context, RunCountsOf(dataset, model.config, 0, 0));
  MemoryPlan plan = PlanMemory(context, dataset, model.config, counts, false);
  if (context.ranks != nullptr) PlanExchange(context, plan);
  return plan;
}

Context Placed(const Context& context, const Dataset& dataset, const MemoryPlan& plan) {
  Context placed = context;
  placed.device = plan.device;
  if (plan.in_memory || context.disk != nullptr) return placed;
  placed.disk = std::make_shared<DiskMemory>(plan.budget, ScratchDirectory(context));
  placed.disk->SetPlan(plan.read_bytes + plan.write_bytes, plan.read_rate, plan.write_rate);
  WatchDataset(dataset, *placed.disk);
  return placed;
}

Context PlacedForReading(const Context& context, const Dataset& dataset) {
  RefuseSmallBudget(context, dataset.name);
  Context placed = context;
  placed.disk = WatchWithin(context, dataset);
  return placed;
}

std::string DescribePlan(const MemoryPlan& plan) {
  std::string shared;
  if (plan.ranks > 1) {
    shared =
        fmt::format("; {} ranks hold their shares of it and {}", plan.ranks,
                    plan.shares_memory ? "see each other's rows in memory" : "exchange rows by messages");
    if (!plan.why_messages.empty()) shared += fmt::format(" ({})", plan.why_messages);
  }
  if (plan.in_memory) {
    return fmt::format("in memory: about {:.2f} GiB of {:.2f} GiB ({}){}", GiBOf(plan.need_bytes),
                       GiBOf(plan.budget), plan.set_by, shared);
  }
  return fmt::format(
      "from disk: {:.2f} GiB would be needed in memory, the budget is {:.2f} GiB ({}; at least {:.2f}); {} a "
      "pass; reads "
      "{:.1f} GiB and writes {:.1f} GiB, about {:.0f} s at {:.2f} and {:.2f} GB/s; scratch {:.1f} GiB of "
      "{:.1f} free{}",
      GiBOf(plan.need_bytes), GiBOf(plan.budget), plan.set_by, GiBOf(plan.least_bytes),
      plan.panels == 1 ? "1 panel" : fmt::format("up to {} panels", plan.panels), GiBOf(plan.read_bytes),
      GiBOf(plan.write_bytes), plan.seconds, plan.read_rate / 1e9, plan.write_rate / 1e9,
      GiBOf(plan.scratch_bytes), GiBOf(plan.scratch_free), shared);
}

std::string TrainingPlan(const Context& context, const Dataset& dataset, const TrainConfig& config,
                         uint32_t runs, bool as_json) {
  return TextOf(PlanTraining(context, dataset, config, runs), as_json);
}

std::string InferencePlan(const Context& context, const Dataset& dataset, const Model& model, bool as_json) {
  return TextOf(PlanInference(context, dataset, model), as_json);
}

}  // namespace l2gcn

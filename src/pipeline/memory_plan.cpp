// The plan of a run, by walking through its verbs with counts in place of data: what each one holds, reads and writes.
#include <sys/statvfs.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "config/methods.h"
#include "core/clock.h"
#include "core/disk_memory.h"
#include "core/error_format.h"
#include "core/json_text.h"
#include "core/memory_meter.h"
#include "core/sample_order.h"
#include "data/watch.h"
#include "graph/needed_rows.h"
#include "kernels/disk/disk_layout.h"
#include "l2gcn/plan.h"
#include "l2gcn/ranks.h"

namespace l2gcn {
namespace {

constexpr double kShareOfMachine = 0.9;
constexpr double kCareful = 1.1;                        // estimates of memory are raised by this
constexpr uint64_t kProgramBytes = uint64_t{16} << 20;  // code, tables and the heap's own
constexpr uint64_t kStateCopies = 20;                   // of a layer's weights, while it is trained
constexpr uint64_t kBatchCopies = 4;                    // of a batch's rows, likewise
constexpr size_t kBuffers = 8;                          // of a run from disk, at a time

double GiBOf(uint64_t bytes) { return static_cast<double>(bytes) / (uint64_t{1} << 30); }
// For messages: GiB from one on, MiB below.
std::string SizeOf(uint64_t bytes) {
  const double gibibytes = GiBOf(bytes);
  return gibibytes >= 1 ? fmt::format("{:.2f} GiB", gibibytes) : fmt::format("{:.1f} MiB", 1024 * gibibytes);
}

// What the plan knows of a data set and a configuration.
struct RunCounts {
  uint64_t nodes = 0, entries = 0;  // of the whole graph
  uint64_t train = 0;
  uint64_t scored = 0;              // nodes that train, validate or test
  bool scores_in_training = false;  // evaluation uses what training aggregated
  bool inductive = false, sparse = false, multilabel = false;
  uint64_t features = 0;  // columns of the first layer's input
  uint64_t classes = 0;
  uint64_t element = 4;       // bytes of one, in activations
  uint64_t stored_bytes = 0;  // of the features as they lie
  uint64_t graph_bytes = 0;
  uint64_t other_bytes = 0;   // labels and names
  uint64_t held_bytes = 0;    // by the process before the run, not mapped from files: all that is here …
  uint64_t others_bytes = 0;  // … and what of it is not the data set's
  uint64_t reach = 0, smooth = 0, head = 0, batch = 0;
  size_t first_few = 0;  // layers before it have every row
  std::vector<uint64_t> hidden;
  std::vector<uint64_t> epochs;

  uint64_t rows() const { return inductive ? train : nodes; }
  // The train nodes' subgraph, as if edges did not care.
  uint64_t train_entries() const {
    const double share = static_cast<double>(train) / static_cast<double>(std::max<uint64_t>(1, nodes));
    return inductive ? static_cast<uint64_t>(share * share * static_cast<double>(entries)) : entries;
  }
  uint64_t copies() const { return 1 + reach; }
  // The share of rows of a layer's X̂ in training that lead to a row that is scored, as if every node had the mean number
  // of neighbours, drawn from all nodes; 1 where all are computed (LayerPipeline::NeedLastRowsOf).
  double ShareOf(size_t layer) const {
    if (inductive || reach > 0 || layer < first_few || nodes == 0) return 1;
    const double degree = static_cast<double>(entries) / static_cast<double>(nodes);
    double share = static_cast<double>(scored) / static_cast<double>(nodes);
    for (size_t later = hidden.size() - 1;; --later) {
      const auto part = [&](uint64_t all) { return static_cast<uint64_t>(share * static_cast<double>(all)); };
      if (!PaysToCopyRows(part(nodes), part(entries), nodes, entries)) return 1;
      if (later == layer) return share;
      share = 1 - std::pow(1 - share, 1 + degree);
    }
  }
  uint64_t rows_of(size_t layer) const {
    return static_cast<uint64_t>(ShareOf(layer) * static_cast<double>(rows()));
  }
  uint64_t entries_of(size_t layer) const {
    return static_cast<uint64_t>(ShareOf(layer) * static_cast<double>(train_entries()));
  }
  uint64_t InputsOf(size_t layer) const { return layer == 0 ? features : hidden[layer - 1]; }
};

RunCounts RunCountsOf(const Dataset& dataset, const TrainConfig& config, uint64_t train, uint64_t scored) {
  RunCounts counts;
  counts.nodes = dataset.nodes();
  counts.entries = dataset.graph.indices.size();
  counts.train = train;
  counts.scored = scored;
  counts.inductive = config.setting == "inductive";
  counts.sparse = dataset.features.is_sparse() && config.pca == 0 && config.scale != "standard";
  counts.multilabel = dataset.labels.multilabel;
  counts.features = config.pca > 0 ? config.pca : dataset.features.cols();
  counts.classes = dataset.labels.classes;
  counts.element = config.features_as == "f32" ? 4 : 2;
  counts.stored_bytes = dataset.features.bytes();
  counts.graph_bytes =
      dataset.graph.indptr.bytes() + dataset.graph.indices.bytes() + dataset.graph.weights.bytes();
  counts.other_bytes = dataset.labels.classes_of.bytes() + dataset.labels.matrix.bytes();
  counts.held_bytes = AnonymousBytes();
  counts.others_bytes = counts.held_bytes - std::min(counts.held_bytes, BytesInMemoryAlone(dataset));
  counts.reach = config.reach;
  counts.smooth = config.smooth;
  counts.head = config.head;
  counts.batch = std::min<uint64_t>(config.batch, train);
  counts.first_few = std::max<size_t>(config.FindsRate() ? config.layers - 1 : 0, counts.sparse ? 1 : 0);
  for (uint32_t layer = 0; layer < config.layers; ++layer) {
    counts.hidden.push_back(config.HiddenOf(layer));
    counts.epochs.push_back(config.EpochsOf(layer));
  }
  const uint64_t inputs = counts.InputsOf(counts.hidden.size() - 1);
  const bool plain = !config.bias && !config.layer_norm && config.head == 0 && config.input_dropout == 0;
  counts.scores_in_training = !counts.inductive && plain && config.reach == 0 && config.correct == "off" &&
                              config.threshold.empty() &&
                              FindMethod(config.method).readout == Readout::kClassifier &&
                              inputs <= counts.hidden.back();
  return counts;
}

// Bytes of an activation: a tenth of the columns of sparse features are taken to be there once they are aggregated.
uint64_t MatrixBytes(const RunCounts& counts, uint64_t rows, uint64_t cols, bool sparse) {
  return sparse ? rows * cols / 10 * 8 : rows * cols * counts.element;
}

// What a run in memory takes: what stays, and the largest of what layers and the evaluation hold beside it.
uint64_t NeedInMemory(const RunCounts& counts, bool trains) {
  const uint64_t stays = counts.stored_bytes + counts.graph_bytes + counts.other_bytes + 12 * counts.nodes;
  const uint64_t subgraph = trains && counts.inductive ? 4 * counts.train_entries() + 20 * counts.train : 0;
  const uint64_t logits = 2 * counts.nodes * counts.classes * 4;
  uint64_t most = 0;
  for (size_t layer = 0; layer < counts.hidden.size(); ++layer) {
    const uint64_t in = counts.InputsOf(layer), out = counts.hidden[layer];
    const bool sparse = counts.sparse && layer == 0;
    if (trains) {
      most = std::max(most, subgraph + (layer > 0 ? MatrixBytes(counts, counts.rows(), in, false) : 0) +
                                counts.copies() * MatrixBytes(counts, counts.rows(), in, sparse) +
                                MatrixBytes(counts, counts.rows(), out, false));
    }
    const uint64_t before = layer > 0 ? MatrixBytes(counts, counts.nodes, in, false) : 0;
    const uint64_t joined =
        counts.reach > 0 ? counts.copies() * MatrixBytes(counts, counts.nodes, in, sparse) : 0;
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
    const uint64_t held = 13 * counts.nodes + (counts.inductive ? 24 * counts.train : 4 * counts.train) +
                          (counts.multilabel ? counts.train * counts.classes : 0) +
                          kBuffers * DiskBufferBytes(budget) + std::max(kProgramBytes, counts.held_bytes) +
                          DiskMemory::Reserve(budget);
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
      for (uint64_t hop = 0; hop < std::max<uint64_t>(1, counts_.reach); ++hop)
        Aggregate(counts_.rows(), rows, counts_.entries_of(layer), in, layer == 0 && hop == 0);
      const uint64_t width = in * counts_.copies(), out = last ? 0 : counts_.hidden[layer];
      Samples(width, counts_.hidden[layer], counts_.epochs[layer]);
      if (!last) Move(Bytes(rows, width), Bytes(rows, out));
      Hold(on_disk + Bytes(most, width + out) + (last ? Bytes(counts_.train, width) + copied : 0));
      on_disk = Bytes(most, out);
    }
  }

  void Infer() {
    for (size_t layer = 0; layer < counts_.hidden.size(); ++layer) {
      const uint64_t in = counts_.InputsOf(layer), out = counts_.hidden[layer], nodes = counts_.nodes;
      if (counts_.reach == 0 && in > out) {
        Move(layer == 0 ? counts_.stored_bytes : Bytes(nodes, in), nodes * out * 4);
        Aggregate(nodes, nodes, counts_.entries, out, false, 4);
        Hold(Bytes(nodes, in + out) + nodes * out * 4);
        continue;
      }
      for (uint64_t hop = 0; hop < std::max<uint64_t>(1, counts_.reach); ++hop)
        Aggregate(nodes, nodes, counts_.entries, in, layer == 0 && hop == 0);
      Move(Bytes(nodes, in * counts_.copies()), Bytes(nodes, out));
      Hold(Bytes(nodes, in * (counts_.copies() + 1) + out));
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

// What ranks send each other, all together (kernels/ranks/ranks_backend.h), where the epochs are known beforehand.
class ExchangeWalk {
 public:
  ExchangeWalk(const RunCounts& counts, uint32_t ranks)
      : counts_(counts), others_(ranks - 1.0), share_((ranks - 1.0) / ranks) {}

  void Train() {
    for (size_t layer = 0; layer < counts_.hidden.size(); ++layer) {
      const auto in = static_cast<double>(counts_.InputsOf(layer)),
                 rows = static_cast<double>(counts_.rows());
      const bool sparse = counts_.sparse && layer == 0;
      Aggregate(rows, in, sparse);
      const double width = in * static_cast<double>(counts_.copies()),
                   samples = static_cast<double>(counts_.train);
      const bool by_windows =
          !sparse && samples * width * sizeof(float) >= static_cast<double>(kShuffledWholeBytes);
      const double times = by_windows ? static_cast<double>(counts_.epochs[layer]) : 1;
      bytes_ += share_ * (sparse ? samples * AggregatedRowBytes()
                                 : times * samples * width * static_cast<double>(counts_.element));
      const auto hidden = static_cast<double>(counts_.hidden[layer]);
      // Weights and their moments, once.
      bytes_ += others_ * 3 * sizeof(float) * hidden * (width + static_cast<double>(counts_.classes));
    }
  }

  void Infer(bool counted) {
    const auto nodes = static_cast<double>(counts_.nodes);
    for (size_t layer = 0; layer < counts_.hidden.size(); ++layer) {
      const auto in = static_cast<double>(counts_.InputsOf(layer)),
                 out = static_cast<double>(counts_.hidden[layer]);
      const bool narrow = counts_.reach == 0 && in > out;
      Aggregate(nodes, narrow ? out : in, counts_.sparse && layer == 0 && !narrow);
    }
    bytes_ += others_ * nodes * sizeof(float) * (counted ? 1 : static_cast<double>(counts_.classes));
  }

  uint64_t bytes() const { return static_cast<uint64_t>(bytes_); }

 private:
  // Of a row of sparse features once it is aggregated, as if neighbours' columns were independent.
  double AggregatedRowBytes() const {
    const double stored = static_cast<double>(counts_.stored_bytes) / 8,
                 rows = static_cast<double>(counts_.rows()), cols = static_cast<double>(counts_.features);
    const double degree = static_cast<double>(counts_.train_entries()) / std::max(1.0, rows);
    const double empty = std::pow(1 - stored / (static_cast<double>(counts_.nodes) * cols), 1 + degree);
    constexpr double kStaysSparse = 0.25;
    return 1 - empty <= kStaysSparse ? 8 * (1 + (1 - empty) * cols) : 4 * cols;
  }

  // Two transposes a hop; sparse matrices are known whole.
  void Aggregate(double rows, double cols, bool sparse) {
    const auto hops = static_cast<double>(std::max<uint64_t>(1, counts_.reach));
    if (!sparse) bytes_ += hops * 2 * share_ * rows * cols * static_cast<double>(counts_.element);
  }

  const RunCounts& counts_;
  const double others_, share_;
  double bytes_ = 0;
};

// What a layer-wise training holds besides what is there already, at the very least: what the first layer reads and
// what it leaves.
uint64_t LeastInMemory(const RunCounts& counts) {
  const uint64_t read = counts.sparse ? 0 : counts.rows() * counts.features * counts.element;
  const uint64_t left = counts.hidden.size() > 1 ? counts.rows() * counts.hidden[0] * counts.element : 0;
  return std::max<uint64_t>(1, counts.reach) * read + left;
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
  const DiskRates rates = MeasureDisk(directory);
  plan.read_rate = rates.read;
  plan.write_rate = rates.write;
  plan.seconds =
      static_cast<double>(plan.read_bytes) / rates.read + static_cast<double>(plan.write_bytes) / rates.write;
  if (plan.scratch_bytes <= plan.scratch_free) return;
  ThrowUsage(
      "{}: {:.2f} GiB of scratch are needed and {:.2f} GiB are free there; name another place with "
      "--scratch, or use "
      "--features-as f16 or a larger --memory ({:.2f} GiB to stay in memory)",
      directory.string(), GiBOf(plan.scratch_bytes), GiBOf(plan.scratch_free), GiBOf(plan.need_bytes));
}

MemoryPlan MakePlan(const Context& context, const Dataset& dataset, const TrainConfig& config, uint64_t train,
                    uint64_t scored, bool trains) {
  MemoryPlan plan = BeginPlan(context);
  // Ranks compute every row and evaluate apart from training.
  RunCounts counts = RunCountsOf(dataset, config, train, context.ranks == nullptr ? scored : dataset.nodes());
  counts.scores_in_training = counts.scores_in_training && context.ranks == nullptr;
  if (trains && FindMethod(config.method).loop == TrainingLoop::kLayerwise)
    RefuseWithoutAddresses(dataset, counts);
  plan.need_bytes = NeedInMemory(counts, trains);
  if (context.ranks != nullptr) {
    plan.ranks = context.ranks->size();
    ExchangeWalk exchange(counts, plan.ranks);
    if (trains) exchange.Train();
    exchange.Infer(trains);
    plan.exchange_bytes = exchange.bytes();
  }
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
        dataset.name, SizeOf(plan.need_bytes), SizeOf(plan.least_bytes), SizeOf(plan.budget), plan.set_by);
  }
  WalkOf(counts, plan.budget, trains).WriteTo(plan);
  MeasureScratch(context, plan);
  return plan;
}

}  // namespace

MemoryPlan PlanTraining(const Context& context, const Dataset& dataset, const TrainConfig& config) {
  const Split split = ResolveSplit(dataset, config.split, config.seed);
  const auto train = static_cast<uint64_t>(
      std::count(split.roles.begin(), split.roles.end(), static_cast<uint8_t>(Role::kTrain)));
  const auto none = static_cast<uint64_t>(
      std::count(split.roles.begin(), split.roles.end(), static_cast<uint8_t>(Role::kNone)));
  return MakePlan(context, dataset, config, train, split.roles.size() - none, true);
}

MemoryPlan PlanInference(const Context& context, const Dataset& dataset, const Model& model) {
  return MakePlan(context, dataset, model.config, 0, 0, false);
}

Context Placed(const Context& context, const Dataset& dataset, const MemoryPlan& plan) {
  Context placed = context;
  if (plan.in_memory || context.disk != nullptr) return placed;
  placed.disk = std::make_shared<DiskMemory>(plan.budget, ScratchDirectory(context));
  placed.disk->SetPlan(plan.read_bytes + plan.write_bytes, plan.read_rate, plan.write_rate);
  WatchDataset(dataset, *placed.disk);
  return placed;
}

std::string DescribePlan(const MemoryPlan& plan) {
  std::string shared;
  if (plan.ranks > 1) {
    shared = fmt::format("; {} ranks hold their shares of it and send each other about {:.3f} GiB",
                         plan.ranks, GiBOf(plan.exchange_bytes));
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
                  {"exchange_bytes", plan.exchange_bytes}};
  return json.dump();
}

}  // namespace l2gcn

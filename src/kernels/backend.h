// What a device can do, in the operations of the training loop. CPU and CUDA are twins behind this face; the
// trainer and inference know nothing else of a device. MakeBackend (dispatch.cpp) is the only place that
// names them.
//
// Where a matrix lives is the backend's business: in memory, on a GPU, or in a file. Callers name
// rows or blocks of rows and never see a pointer to the whole. Each backend allocates its matrices in one
// place (cpu/matrix_memory.h, cuda/tensor.h).
//
// Random numbers are counter-based (core/rng.h), so every backend draws the same ones:
//   order           OrderOf says how an epoch orders its samples; batch b of size B is positions
//                   b·B … min(n, (b+1)·B)−1; with drop_last a last short batch is left out; a set smaller than
//                   one batch is one batch. A GPU, whose rows never come from a file, shuffles all samples as
//                   one, whatever their size.
//   dropout mask    word (position in batch)·H + h of RandomStream(seed, kDropout, layer, step), step counted
//                   over the layer; an activation is kept where Uniform ≥ p and scaled by 1/(1−p)
// Loss of a step: mean over the batch of the softmax cross entropy, or mean over all its entries of the
// sigmoid cross entropy. With class weights w (Targets::weights) it is Σ w[class] · loss / Σ w[class] over
// the batch, as PyTorch's CrossEntropyLoss(weight), or the mean over all entries of the sigmoid cross entropy
// times w[label] where the label is on, as its BCEWithLogitsLoss(pos_weight). A regression's is Σ w[node] · Loss / Σ w[node]
// over the entries of the batch that are not missing. Gradients are of that mean;
// An L2 penalty adds weight_decay·w to those of weights; Adam as in its paper:
//   m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  w ← w − lr/(1−β₁ᵗ) · m / (√v/√(1−β₂ᵗ) + ε)
// where lr is LayerSpec::lr times the share that its schedule leaves of it in this step. Decoupled decay takes
// lr·weight_decay·w from the weights before that. Decay spares biases and norms.
//
// A layer is ReLU(X̂W) in training followed by Θ, and nothing else, unless LayerSpec::architecture asks for more:
//   bias                ReLU(X̂W + b), and logits + c
//   norm                ReLU(g ∘ (y − mean y)/√(var y + 1e-5) + s) with y = X̂W, g the norm's weight and s its bias: row
//                       by row (LayerNorm), or column by column over the batch (batch norm). Batch norm predicts and
//                       scores with running statistics: after each step they move by 0.1 towards the batch's mean and
//                       its unbiased variance
//   input_dropout       X̂ with a share of its elements set to 0 and the others scaled up, in training only
//   head                a hidden layer with the same parts between this layer and Θ; it is not part of the next
//                       layer's input
// There column c of position i of a batch is dropped where DropsColumn(key, c), key = word i of the stream
// named kInputDropout, kDropout (hidden values) or kHeadDropout by (layer, step).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/layer_parameters.h"
#include "core/propagation.h"
#include "core/rng.h"
#include "core/sample_order.h"
#include "kernels/lr_schedule.h"
#include "kernels/norm_constants.h"
#include "l2gcn/array.h"
#include "l2gcn/choices.h"
#include "l2gcn/context.h"
#include "l2gcn/dataset.h"

namespace l2gcn {

// A matrix living on a device: dense, sparse or in a narrower type, as its backend chose.
class Tensor : public std::enable_shared_from_this<Tensor> {
 public:
  virtual ~Tensor() = default;
  size_t rows = 0;
  size_t cols = 0;
  bool sparse = false;
  uint64_t nonzeros = 0;  // if sparse
  size_t bytes = 0;
  bool shares_features = false;  // lies in the memory of the Features it was uploaded from, and in no other
};
using TensorPtr = std::shared_ptr<const Tensor>;

// A layer's input X̂ = [B₁ | B₂ | …]: matrices of equally many rows side by side, each where it lies. X, ÂX, Â²X are the
// blocks of a layer with self features; a basic layer reads one.
struct LayerInput {
  std::vector<TensorPtr> blocks;

  LayerInput() = default;
  LayerInput(TensorPtr block) { blocks.push_back(std::move(block)); }
  explicit LayerInput(std::vector<TensorPtr> all) : blocks(std::move(all)) {}

  bool empty() const { return blocks.empty(); }
  size_t rows() const { return blocks.front()->rows; }
  size_t cols() const {
    size_t sum = 0;
    for (const TensorPtr& block : blocks) sum += block->cols;
    return sum;
  }
  bool sparse() const {  // all of it
    return std::all_of(blocks.begin(), blocks.end(), [](const TensorPtr& block) { return block->sparse; });
  }
  // The elements that a product with one row reads, on average.
  double ElementsPerRow() const {
    if (!sparse()) return static_cast<double>(cols());
    uint64_t nonzeros = 0;
    for (const TensorPtr& block : blocks) nonzeros += block->nonzeros;
    return static_cast<double>(nonzeros) / static_cast<double>(rows());
  }
};

// Â living on a device.
class DeviceGraph : public std::enable_shared_from_this<DeviceGraph> {
 public:
  virtual ~DeviceGraph() = default;
  uint32_t nodes = 0;
  uint64_t entries = 0;
};
using DeviceGraphPtr = std::shared_ptr<const DeviceGraph>;

struct BackendOptions {
  Precision precision = Precision::kTf32;
  FeatureType features_as = FeatureType::kF32;
  Choice sparse = Choice::kAuto;

  bool operator==(const BackendOptions&) const = default;
};

// What the samples of a layer's training should become.
struct Targets {
  bool multilabel = false;
  uint32_t classes = 0;
  Array<int32_t> classes_of;  // (samples) unless multilabel
  Array<uint8_t> matrix;      // (samples × classes) 0/1 if multilabel
  Array<float> weights;       // (classes) above 0, or empty: all 1
  // A regression has these, and of the above only `classes`, the number of its targets.
  Loss loss = Loss::kSquared;
  Array<float> values;        // (samples × classes), NaN = missing
  Array<float> node_weights;  // (samples) above 0, or empty: all 1

  bool regression() const { return !values.empty(); }
};

// The seam between training and rows that lie in a file. The layer's input is then a ring of windows of rows
// (core/sample_order.h) in memory, and this brings the rows there.
class SampleWindows {
 public:
  virtual ~SampleWindows() = default;
  virtual uint32_t samples() const = 0;
  // Returns when the rows of window `window` of epoch `epoch` are in the ring; those of the window before stay.
  // Called by one thread of the training, between two steps, before a step whose last sample is of that window.
  virtual void Await(uint32_t epoch, uint32_t window) = 0;
};

// Everything that fixes one layer's training besides its data.
struct LayerSpec {
  uint32_t layer = 0;  // 0-based; names the random streams
  uint64_t seed = 0;
  uint32_t batch = 1024;
  bool drop_last = false;
  float lr = 1e-3f;
  LrSchedule schedule;  // what becomes of lr over the epochs
  float weight_decay = 0;
  bool decoupled_weight_decay = false;
  float dropout = 0;  // on the hidden activations, in training only
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
  LayerArchitecture architecture;
  std::shared_ptr<SampleWindows> windows;  // null: the input holds every sample's row
};

// The order of epoch `epoch` over `samples` samples whose rows have `columns` columns; 0 columns: rows that are
// sparse, or sparse in part.
inline EpochOrder OrderOf(const LayerSpec& spec, uint32_t samples, size_t columns, uint32_t epoch) {
  return EpochOrder(samples, columns, spec.batch,
                    RandomStream(spec.seed, RandomUse::kShuffle, spec.layer, epoch));
}

inline uint32_t SampleCount(const LayerSpec& spec, const Array<uint32_t>& samples, size_t rows) {
  if (spec.windows != nullptr) return spec.windows->samples();
  return static_cast<uint32_t>(samples.empty() ? rows : samples.size());
}
// The row of the ring where the sample at `position` of an epoch lies.
inline uint32_t RingRowOf(const EpochOrder& order, uint32_t epoch, size_t position) {
  return order.RingRow(static_cast<uint32_t>(position), uint64_t{epoch} * order.windows());
}

// One layer being trained. Lives on the device between calls; must not outlive its backend.
class LayerTraining {
 public:
  virtual ~LayerTraining() = default;
  // Trains epochs first … first+count−1 and stores the loss of each one's last batch in losses (count). If
  // step_losses is not null the loss of every step is appended to it. Checks for cancellation between steps
  // or, on a device, between launches.
  virtual void RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                         std::vector<double>* step_losses = nullptr) = 0;
  // The current weights and optimiser state, on the host.
  virtual LayerState Read() const = 0;
};

// Rows to be scored while layers train, with what they should become, where a backend wants them.
class RowsToScore {
 public:
  virtual ~RowsToScore() = default;
  bool margins = false;  // whether scores are to have their margins
};

// What scoring found. An answer is the class of the largest logit, the first of equals; of several labels those whose
// logit is above 0.
struct RowScores {
  std::vector<float> losses;  // (rows) cross entropy, with several labels or targets the mean over them
  double loss = 0;            // their mean
  std::vector<float>
      misses;  // (rows) 1 − the probability of the true class; with several labels 1 − F1 of the row's
  // Answers, of all classes together; none of a regression.
  uint64_t true_positive = 0, false_positive = 0, false_negative = 0;
  // (rows × classes) if wanted: how far every logit is ahead of that of the row's class. Losses follow from them alone, at
  // any temperature.
  Matrix margins;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual TensorPtr Upload(const Context& context, const Features& features) = 0;
  virtual DeviceGraphPtr Upload(const Context& context, const Propagation& propagation) = 0;

  // Â X. `row_of_node` (nodes), if not empty, says which row of x stands for each node of the graph.
  virtual TensorPtr Aggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                              std::span<const uint32_t> row_of_node) = 0;
  // The same where x is a panel of columns of a dense matrix that has `cols` of them: the result has the bits that its
  // columns have beside the others. A panel narrower than a vector of the CPU is padded to one.
  virtual TensorPtr AggregatePanel(const Context& context, const DeviceGraph& graph, const Tensor& x,
                                   size_t cols) {
    static_cast<void>(cols);
    return Aggregate(context, graph, x, {});
  }
  // The same columns, with the leading sparse blocks as one block where this device reads them so. Other operations do it
  // themselves, but each anew.
  virtual LayerInput MergeSparse(LayerInput x) { return x; }
  // Rows of x in the order named, as a tensor of its own.
  virtual TensorPtr PickRows(const Context& context, const Tensor& x, std::span<const uint32_t> rows) = 0;
  // The values of a hidden layer; its weight is (x.cols() × H). `rows` picks rows of x, empty: all.
  virtual TensorPtr Transform(const Context& context, const LayerInput& x, const HiddenParameters& hidden,
                              std::span<const uint32_t> rows = {}) = 0;
  // ReLU(Â X W) without bias and norm, in whichever order is narrower.
  TensorPtr Forward(const Context& context, const DeviceGraph& graph, const Tensor& x, const Matrix& w) {
    return x.cols <= w.cols ? AggregateTransform(context, graph, x, w)
                            : TransformAggregate(context, graph, x, w);
  }
  // X Θ on the host; `rows` picks rows of x, empty: all.
  virtual Matrix Logits(const Context& context, const Tensor& x, const Matrix& theta,
                        std::span<const uint32_t> rows) = 0;
  // Rows of x on the host as f32: those named, or all where `rows` is empty.
  virtual Matrix Download(const Context& context, const Tensor& x, std::span<const uint32_t> rows) = 0;
  Matrix Download(const Context& context, const Tensor& x) { return Download(context, x, {}); }
  // A block of rows, first … first + count − 1, to out (count × x.cols).
  virtual void ReadRows(const Context& context, const Tensor& x, size_t first, size_t count, float* out) = 0;
  // The same as Download of all rows, but what is sparse stays sparse where the backend keeps it so.
  virtual Features DownloadFeatures(const Context& context, const Tensor& x) {
    return Features::Dense(Download(context, x));
  }
  // The same with elements of the type that the backend keeps them in, where it can tell.
  virtual Features DownloadStored(const Context& context, const Tensor& x) {
    return DownloadFeatures(context, x);
  }

  // Sample s is row samples[s] of xhat (empty: row s).
  virtual std::unique_ptr<LayerTraining> BeginLayer(const Context& context, const LayerInput& xhat,
                                                    Array<uint32_t> samples, const Targets& targets,
                                                    const LayerSpec& spec, const LayerState& start) = 0;

  // Row i to score is row rows[i] of x (empty: row i), which is a layer's input or output. Margins take as much
  // memory as all logits, so they are returned only for rows that were prepared for it; never for rows with several labels.
  virtual std::shared_ptr<const RowsToScore> PrepareScoring(const Context& context, const LayerInput& x,
                                                            Array<uint32_t> rows, const Targets& targets,
                                                            bool margins = false) = 0;
  // Scores rows by the weights of a layer in training where they are, without dropout and class weights. Activations
  // and logits are made and reduced block by block; what comes to the host is a RowScores.
  virtual RowScores Score(const Context& context, const LayerTraining& training, const RowsToScore& rows) = 0;
  // The same by logits X Θ, where the rows are a layer's output.
  virtual RowScores Score(const Context& context, const Matrix& theta, const RowsToScore& rows) = 0;

  // Keeps a tensor that nobody uses now but somebody may ask for again, for as long as that hardly raises the peak of
  // device memory. A backend whose tensors cost host memory keeps nothing.
  virtual void KeepSpare(TensorPtr) {}

  // Gives back memory that is kept for reuse and that no tensor occupies: between training and evaluation,
  // whose matrices have other sizes.
  virtual void ReleaseSpareMemory() {}

  virtual uint64_t PeakDeviceBytes() const { return 0; }
  // One sentence on how the last Aggregate / BeginLayer chose to run (sparse or dense, which kernels), or "".
  virtual std::string Explain() const { return ""; }

 protected:
  // ReLU((Â X) W).
  virtual TensorPtr AggregateTransform(const Context& context, const DeviceGraph& graph, const Tensor& x,
                                       const Matrix& w) {
    return Transform(context, Aggregate(context, graph, x, {}), w, {});
  }
  // ReLU(Â (X W)).
  virtual TensorPtr TransformAggregate(const Context& context, const DeviceGraph& graph, const Tensor& x,
                                       const Matrix& w) = 0;
};

// The backend of context.device. Throws Error(kUsage) for a device that was not built or is not there.
std::unique_ptr<Backend> MakeBackend(const Context& context, const BackendOptions& options);

// Whether a CUDA device can be used, and if not, why (one sentence).
bool CudaAvailable(std::string* why_not);
// What was built in: toolkit version and architectures, "13.0 sm_80 sm_90", or "no".
std::string CudaBuilt();

}  // namespace l2gcn

#include "kernels/cuda/general_training.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/error_format.h"
#include "kernels/checked_cast.h"
#include "kernels/cuda/general_kernels.h"
#include "kernels/cuda/scoring.h"
#include "kernels/norm_constants.h"

namespace l2gcn::cuda {
namespace {

// Steps between two checks for a request to stop: a few tens of milliseconds.
constexpr uint64_t kStepsPerRound = 256;
// Gathered rows of a forward pass, and their number at most.
constexpr size_t kGatheredBytes = size_t{64} << 20, kGatheredRows = 8192;

// How the columns of the input lie in a gathered row: each part begins at a multiple of 8.
class InputLayout {
 public:
  explicit InputLayout(const LayerInput& input) {
    for (const TensorPtr& block : input.blocks) {
      const auto& part = CheckedCast<CudaTensor>(*block);
      if (groups_.empty() || groups_.back().parts == kPartsAtOnce) groups_.emplace_back();
      BlockRows& group = groups_.back();
      const uint32_t width = static_cast<uint32_t>(PaddedStride(part.cols));
      const int p = group.parts++;
      group.part[p] = part.view;
      group.width[p] = width;
      group.first[p] = static_cast<uint32_t>(row_at_.size());
      group.at[p] = width_;
      for (uint32_t column = 0; column < part.cols; ++column) row_at_.push_back(width_ + column);
      width_ += width;
    }
  }

  size_t width() const { return width_; }
  // Where each true column lies; the rows of W lie likewise.
  const std::vector<uint32_t>& places() const { return row_at_; }
  void Gather(const uint32_t* rows, size_t first, size_t count, RowKind kind, void* to,
              const Dropping& dropping, cudaStream_t stream) const {
    for (const BlockRows& group : groups_)
      LaunchGather(group, rows, first, count, kind, to, width_, dropping, stream);
  }

 private:
  std::vector<BlockRows> groups_;
  std::vector<uint32_t> row_at_;
  uint32_t width_ = 0;
};

// A matrix among a layer's parameters, which lie one after another, padded with zeros.
struct Placed {
  size_t at = 0, rows = 0, cols = 0, padded_rows = 0, stride = 0;
  const std::vector<uint32_t>* places = nullptr;  // of rows, or null: each in its own place

  size_t size() const { return padded_rows * stride; }
  size_t PlaceOf(size_t row) const { return places == nullptr ? row : (*places)[row]; }
  void Write(const Matrix& from, std::vector<float>& to) const {
    for (size_t i = 0; i < from.rows; ++i)
      std::copy_n(from.row(i), cols, to.begin() + static_cast<std::ptrdiff_t>(at + PlaceOf(i) * stride));
  }
  Matrix Read(const std::vector<float>& from) const {
    Matrix to = Matrix::Allocate(rows, cols);
    for (size_t i = 0; i < rows; ++i)
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at + PlaceOf(i) * stride), cols,
                  to.mutable_row(i));
    return to;
  }
};

// A hidden layer: where its parameters are, and one batch's values, all (batch × stride).
struct Hidden {
  uint32_t width = 0, stride = 0;
  HiddenNorm norm = HiddenNorm::kNone;
  Placed w, bias, norm_weight, norm_bias, running_mean, running_var;
  Buffer y, h, d, dy, keys;
  Buffer inverse;       // (batch) with LayerNorm, (stride) with batch norm
  Buffer mean, chunks;  // (stride) and (chunks × 2 × stride) with batch norm
  Buffer slopes;        // (2 × stride) with batch norm
  Buffer running;       // (2 × stride) scale and shift by running statistics

  const void* product_gradient() const { return dy.as<void>() != nullptr ? dy.as<void>() : d.as<void>(); }
};

// Where a hidden layer's values of some rows go, all (rows × stride).
struct HiddenRows {
  size_t rows = 0;
  float* y = nullptr;
  bool in_training = false;
  void* h = nullptr;
  Dropping dropping;
};

class CudaGeneralTraining final : public CudaTraining {
 public:
  CudaGeneralTraining(const std::shared_ptr<Device>& device, std::shared_ptr<const Blas> blas,
                      const LayerInput& input, std::shared_ptr<const DeviceTargets> targets,
                      const LayerSpec& spec, const LayerState& start)
      : device_(device),
        input_(input),
        targets_(std::move(targets)),
        spec_(spec),
        blas_(std::move(blas)),
        layout_(input_),
        batch_(std::min(spec.batch, targets_->count)),
        steps_per_epoch_(std::max<uint32_t>(
            1, spec.drop_last ? targets_->count / batch_ : (targets_->count + batch_ - 1) / batch_)),
        chunks_(ChunksOf(batch_)),
        narrow_(blas_->operands() == RowKind::kBf16),
        w_steps_(start["weight"].steps),
        theta_steps_(start["classifier"].steps) {
    L2GCN_ASSERT(targets_->count > 0 && start["weight"].value.rows == input_.cols());
    PlaceParameters(start);
    L2GCN_ASSERT(theta_.rows == last().width);
    UploadParameters(start);
    AllocateBatch();
    device_->Synchronise(kWhat);
  }
  ~CudaGeneralTraining() override {
    cudaStreamSynchronize(device_->stream());
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }
  CudaGeneralTraining(const CudaGeneralTraining&) = delete;
  CudaGeneralTraining& operator=(const CudaGeneralTraining&) = delete;

  void RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                 std::vector<double>* step_losses) override {
    const uint64_t steps = uint64_t{count} * steps_per_epoch_;
    std::vector<double> round(static_cast<size_t>(std::min(steps, kStepsPerRound)));
    for (uint64_t done = 0; done < steps;) {
      const uint64_t some = std::min(steps - done, kStepsPerRound);
      RunSteps(first, done, some);
      losses_.CopyTo(round.data(), static_cast<size_t>(some) * sizeof(double));
      for (uint64_t i = 0; i < some; ++i) {
        const double loss = round[static_cast<size_t>(i)];
        if (step_losses != nullptr) step_losses->push_back(loss);
        if ((done + i + 1) % steps_per_epoch_ == 0) losses[(done + i) / steps_per_epoch_] = loss;
      }
      done += some;
      context.CheckCancelled();
    }
  }

  LayerState Read() const override {
    const std::vector<float> value = ReadAll(value_, all_), m = ReadAll(m_, end_), v = ReadAll(v_, end_);
    LayerState state;
    for (const std::string& name : names_) {
      const Placed& from = placed_.at(name);
      if (from.at >= end_) {
        state.parameters.push_back({name, from.Read(value), {}, {}});
      } else {
        state.parameters.push_back(
            {name, from.Read(value), from.Read(m), from.Read(v), name == "weight" ? w_steps_ : theta_steps_});
      }
    }
    return state;
  }

  RowScores Score(const Context& context, const CudaRowsToScore& rows) const override {
    const InputLayout layout(rows.x);
    L2GCN_ASSERT(layout.width() == layout_.width());
    const size_t widest = std::max<size_t>(first_.stride, last().stride), element = narrow_ ? 2 : 4;
    const size_t z_bytes = theta_.stride * sizeof(float);
    ScorePass pass(device_, rows,
                   layout.width() * element + widest * (sizeof(float) + 2 * element) + z_bytes);
    const Buffer x = NewBuffer(pass.block() * layout.width() * element);
    const Buffer y = NewBuffer(pass.block() * widest * sizeof(float)), z = NewBuffer(pass.block() * z_bytes);
    const Buffer h = NewBuffer(pass.block() * widest * element);
    const Buffer head = head_ ? NewBuffer(pass.block() * widest * element) : Buffer();
    FoldRunning(first_);
    if (head_) FoldRunning(*head_);
    for (size_t first = 0; first < rows.targets->count; first += pass.block()) {
      context.CheckCancelled();
      const size_t some = std::min<size_t>(pass.block(), rows.targets->count - first);
      const uint32_t* picked = rows.picked();
      layout.Gather(picked == nullptr ? nullptr : picked + first, first, some, blas_->operands(),
                    x.as<void>(), {}, stream());
      // As many rows every time, as in TransformRows.
      const size_t all = pass.block();
      Forward(first_, x.as<void>(), layout.width(), {all, y.as<float>(), false, h.as<void>(), {}});
      if (head_)
        Forward(*head_, h.as<void>(), first_.stride, {all, y.as<float>(), false, head.as<void>(), {}});
      Logits(head_ ? head.as<void>() : h.as<void>(), all, z.as<float>());
      pass.Reduce(first, some, z.as<float>(), theta_.stride, Values(bias_));
    }
    return pass.Finish();
  }

 private:
  static constexpr const char* kWhat = "training a layer";

  Hidden& last() { return head_ ? *head_ : first_; }
  const Hidden& last() const { return head_ ? *head_ : first_; }
  cudaStream_t stream() const { return device_->stream(); }
  Buffer NewBuffer(size_t bytes) const { return Buffer::OnDevice(device_, bytes, kWhat); }

  // ---- parameters -----------------------------------------------------------------------------------------

  Placed Place(const Matrix& matrix, size_t padded_rows) {
    Placed placed{all_, matrix.rows, matrix.cols, padded_rows, PaddedStride(matrix.cols)};
    all_ += placed.size();
    return placed;
  }

  // Weights first, then what does not decay, then the statistics that no gradient reaches.
  void PlaceParameters(const LayerState& start) {
    const uint32_t head = spec_.architecture.head;
    const size_t hidden_stride = PaddedStride(start["weight"].value.cols),
                 last_stride = head > 0 ? PaddedStride(head) : hidden_stride;
    const auto place = [&](const std::string& name, size_t padded_rows) {
      const Parameter* parameter = start.Find(name);
      if (parameter != nullptr) placed_[name] = Place(parameter->value, padded_rows);
    };
    place("weight", layout_.width());
    placed_["weight"].places = &layout_.places();
    w_end_ = all_;
    place("head.weight", hidden_stride);
    place("classifier", last_stride);
    decay_end_ = all_;
    for (const bool trained : {true, false}) {
      for (const Parameter& parameter : start.parameters) {
        if (parameter.trained() == trained && placed_.count(parameter.name) == 0) place(parameter.name, 1);
      }
      if (trained) end_ = all_;
    }
    for (const Parameter& parameter : start.parameters) names_.push_back(parameter.name);
    first_ = HiddenOf("");
    if (head > 0) head_ = HiddenOf("head.");
    theta_ = placed_["classifier"];
    bias_ = placed_["classifier.bias"];
  }
  Hidden HiddenOf(const std::string& prefix) {
    Hidden layer;
    layer.norm = spec_.architecture.norm;
    layer.w = placed_[prefix + "weight"];
    layer.width = static_cast<uint32_t>(layer.w.cols);
    layer.stride = static_cast<uint32_t>(layer.w.stride);
    layer.bias = placed_[prefix + "bias"];
    layer.norm_weight = placed_[prefix + "norm.weight"];
    layer.norm_bias = placed_[prefix + "norm.bias"];
    layer.running_mean = placed_[prefix + "norm.running_mean"];
    layer.running_var = placed_[prefix + "norm.running_var"];
    return layer;
  }

  void UploadParameters(const LayerState& start) {
    const auto upload = [&](Buffer& to, size_t size, Matrix Parameter::*which) {
      std::vector<float> packed(size, 0.0f);
      for (const Parameter& parameter : start.parameters) {
        const Placed& place = placed_[parameter.name];
        if (place.at < size) place.Write(parameter.*which, packed);
      }
      to = NewBuffer(size * sizeof(float));
      to.CopyFrom(packed.data(), size * sizeof(float));
      device_->Synchronise(kWhat);
    };
    upload(value_, all_, &Parameter::value);
    upload(m_, end_, &Parameter::m);
    upload(v_, end_, &Parameter::v);
    gradient_ = NewBuffer(decay_end_ * sizeof(float));
    sums_ = NewBuffer(chunks_ * (end_ - decay_end_) * sizeof(float));
    sums_.Clear();
    if (!narrow_) return;
    narrow_values_ = NewBuffer(decay_end_ * 2);
    LaunchNarrow(value_.as<float>(), narrow_values_.as<void>(), decay_end_, stream());
  }

  static std::vector<float> ReadAll(const Buffer& from, size_t size) {
    std::vector<float> values(size);
    from.CopyTo(values.data(), size * sizeof(float));
    return values;
  }

  // A matrix as products read it.
  const void* Weights(const Placed& placed) const {
    if (narrow_) return narrow_values_.as<char>() + placed.at * 2;
    return value_.as<float>() + placed.at;
  }
  float* Values(const Placed& placed) const {
    return placed.rows > 0 ? value_.as<float>() + placed.at : nullptr;
  }
  float* Gradient(const Placed& placed) const { return gradient_.as<float>() + placed.at; }
  ChunkSums Sums(const Placed& placed) const {
    if (placed.rows == 0) return {};
    return {sums_.as<float>(), end_ - decay_end_, placed.at - decay_end_};
  }

  // ---- one batch ------------------------------------------------------------------------------------------

  void AllocateBatch() {
    const size_t element = narrow_ ? 2 : 4, numbers = batch_ * sizeof(uint32_t);
    cursor_ = NewBuffer(sizeof(StepCursor));
    now_ = NewBuffer(sizeof(StepNow));
    drawn_ = NewBuffer(numbers);
    rows_ = NewBuffer(numbers);
    if (spec_.architecture.input_dropout > 0) input_keys_ = NewBuffer(numbers);
    x_ = NewBuffer(batch_ * layout_.width() * element);
    const auto allocate = [&](Hidden& layer) {
      const size_t cells = size_t{batch_} * layer.stride;
      layer.y = NewBuffer(cells * sizeof(float));
      layer.h = NewBuffer(cells * element);
      layer.d = NewBuffer(cells * sizeof(float));
      const size_t column = layer.stride * sizeof(float);
      if (layer.norm != HiddenNorm::kNone || narrow_) layer.dy = NewBuffer(cells * element);
      if (layer.norm == HiddenNorm::kLayer) layer.inverse = NewBuffer(batch_ * sizeof(float));
      if (layer.norm == HiddenNorm::kBatch) {
        layer.inverse = NewBuffer(column);
        layer.mean = NewBuffer(column);
        layer.chunks = NewBuffer(chunks_ * 2 * column);
        layer.slopes = NewBuffer(2 * column);
        layer.running = NewBuffer(2 * column);
      }
      if (spec_.dropout > 0) layer.keys = NewBuffer(numbers);
    };
    allocate(first_);
    if (head_) allocate(*head_);
    z_ = NewBuffer(batch_ * theta_.stride * sizeof(float));
    if (narrow_) dz_ = NewBuffer(batch_ * theta_.stride * element);
    chunk_losses_ = NewBuffer(chunks_ * sizeof(double));
    losses_ = NewBuffer(kStepsPerRound * sizeof(double));
  }

  static Dropping DroppingBy(const Buffer& keys, float share) {
    if (share == 0) return {};
    return {keys.as<uint32_t>(), DropThreshold(share), 1.0f / (1.0f - share)};
  }

  // Steps `begin` … begin + count − 1, counted from the start of epoch `first`.
  void RunSteps(uint32_t first, uint64_t begin, uint64_t count) {
    StepCursor cursor;
    cursor.epoch = first + static_cast<uint32_t>(begin / steps_per_epoch_);
    cursor.step = static_cast<uint32_t>(begin % steps_per_epoch_);
    cursor.done = uint64_t{first} * steps_per_epoch_ + begin;
    cursor.w_steps = w_steps_;
    cursor.other_steps = theta_steps_;
    cursor_.CopyFrom(&cursor, sizeof cursor);
    for (uint64_t i = 0; i < count; ++i) {
      if (graph_ != nullptr) {
        Check(cudaGraphLaunch(graph_, stream()), kWhat);
        continue;
      }
      LaunchStep();  // also loads every kernel, which a capture might not
      if (i + 1 < count) Capture();
    }
    w_steps_ += count;
    theta_steps_ += count;
  }

  void Capture() {
    Check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal), "capturing a step");
    cudaGraph_t graph = nullptr;
    try {
      LaunchStep();
    } catch (...) {
      cudaStreamEndCapture(stream(), &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    Check(cudaStreamEndCapture(stream(), &graph), "capturing a step");
    const cudaError_t status = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    Check(status, "capturing a step");
  }

  void LaunchStep() const {
    Draw();
    layout_.Gather(rows_.as<uint32_t>(), 0, batch_, blas_->operands(), x_.as<void>(),
                   DroppingBy(input_keys_, spec_.architecture.input_dropout), stream());
    Forward(first_, x_.as<void>(), layout_.width(), OfBatch(first_));
    if (head_) Forward(*head_, first_.h.as<void>(), first_.stride, OfBatch(*head_));
    Loss();
    // Gradients: of the hidden values and of what made them, from the logits down.
    const void* dz = narrow_ ? dz_.as<void>() : z_.as<void>();
    WeightGradient(last().h.as<void>(), last().stride, dz, theta_);
    Back(last(), dz, theta_);
    if (head_) {
      WeightGradient(first_.h.as<void>(), first_.stride, head_->product_gradient(), head_->w);
      Back(first_, head_->product_gradient(), head_->w);
    }
    WeightGradient(x_.as<void>(), layout_.width(), first_.product_gradient(), first_.w);
    Update();
  }

  void Draw() const {
    BatchDraw a;
    a.cursor = cursor_.as<StepCursor>();
    a.now = now_.as<StepNow>();
    a.order = Permutation(targets_->count, RandomStream(spec_.seed, RandomUse::kShuffle, spec_.layer, 0));
    a.samples = targets_->samples.empty() ? nullptr : targets_->sample_rows.as<uint32_t>();
    a.count = targets_->count;
    a.batch = batch_;
    a.classes = static_cast<uint32_t>(theta_.cols);
    a.multilabel = targets_->targets.multilabel;
    a.seed = spec_.seed;
    a.layer = spec_.layer;
    a.lr = spec_.lr;
    a.decay = spec_.schedule.InSteps(steps_per_epoch_);
    a.beta1 = spec_.beta1;
    a.beta2 = spec_.beta2;
    a.drawn = drawn_.as<uint32_t>();
    a.rows = rows_.as<uint32_t>();
    a.input_keys = input_keys_.as<uint32_t>();
    a.hidden_keys = first_.keys.as<uint32_t>();
    a.head_keys = head_ ? head_->keys.as<uint32_t>() : nullptr;
    if (!a.multilabel && !targets_->targets.weights.empty()) {
      a.classes_of = targets_->labels.as<int32_t>();
      a.weights = targets_->weights.as<float>();
    }
    a.regression = targets_->regression();
    LaunchDraw(a, stream());
  }

  // h from `from` (rows × depth).
  void Forward(const Hidden& layer, const void* from, size_t depth, const HiddenRows& to) const {
    BlasProduct product{to.rows, layer.stride, depth, from, depth};
    product.b = Weights(layer.w);
    product.ldb = product.ldc = layer.stride;
    product.c = to.y;
    blas_->Multiply(product);
    const bool by_batch = layer.norm == HiddenNorm::kBatch;
    if (by_batch && to.in_training) Moments(layer);
    Activation a;
    a.rows = to.rows;
    a.width = layer.width;
    a.stride = layer.stride;
    a.y = to.y;
    if (by_batch && !to.in_training) {
      a.scale = layer.running.as<float>();
      a.shift = a.scale + layer.stride;
    } else {
      a.norm = layer.norm;
      a.scale = Values(layer.norm_weight);
      a.shift = layer.norm == HiddenNorm::kNone ? Values(layer.bias) : Values(layer.norm_bias);
      a.inverse = to.in_training ? layer.inverse.as<float>() : nullptr;
      a.mean = layer.mean.as<float>();
    }
    a.kind = blas_->operands();
    a.h = to.h;
    a.dropping = to.dropping;
    LaunchActivate(a, stream());
  }
  HiddenRows OfBatch(const Hidden& layer) const {
    return {batch_, layer.y.as<float>(), true, layer.h.as<void>(), DroppingBy(layer.keys, spec_.dropout)};
  }
  // The statistics of the batch's products, which the running ones follow.
  void Moments(const Hidden& layer) const {
    BatchMoments a;
    a.now = now_.as<StepNow>();
    a.batch = batch_;
    a.stride = layer.stride;
    a.y = layer.y.as<float>();
    a.chunks = layer.chunks.as<float>();
    a.mean = layer.mean.as<float>();
    a.inverse = layer.inverse.as<float>();
    a.running_mean = Values(layer.running_mean);
    a.running_var = Values(layer.running_var);
    LaunchBatchMoments(a, stream());
  }
  // What batch norm does in prediction, by the running statistics as they are.
  void FoldRunning(const Hidden& layer) const {
    if (layer.norm != HiddenNorm::kBatch) return;
    RunningFold a;
    a.stride = layer.stride;
    a.weight = Values(layer.norm_weight);
    a.bias = Values(layer.norm_bias);
    a.mean = Values(layer.running_mean);
    a.var = Values(layer.running_var);
    a.scale = layer.running.as<float>();
    a.shift = a.scale + layer.stride;
    LaunchRunningFold(a, stream());
  }

  // z (rows × stride of Θ) from the last hidden layer's values, without the bias.
  void Logits(const void* h, size_t rows, float* z) const {
    BlasProduct product{rows, theta_.stride, last().stride, h, last().stride};
    product.b = Weights(theta_);
    product.ldb = product.ldc = theta_.stride;
    product.c = z;
    blas_->Multiply(product);
  }

  void Loss() const {
    Logits(last().h.as<void>(), batch_, z_.as<float>());
    LossArguments a;
    a.now = now_.as<StepNow>();
    a.batch = batch_;
    a.classes = static_cast<uint32_t>(theta_.cols);
    a.stride = static_cast<uint32_t>(theta_.stride);
    a.multilabel = targets_->targets.multilabel;
    a.drawn = drawn_.as<uint32_t>();
    a.regression = targets_->regression();
    if (a.multilabel) {
      a.label_rows = targets_->labels.as<uint8_t>();
      a.label_bytes = targets_->label_bytes;
    } else {
      a.classes_of = targets_->labels.as<int32_t>();
    }
    if (!targets_->targets.weights.empty()) a.weights = targets_->weights.as<float>();
    a.bias = Values(bias_);
    a.z = z_.as<float>();
    a.narrow = dz_.as<void>();
    a.sums = Sums(bias_);
    a.losses = chunk_losses_.as<double>();
    LaunchLoss(a, stream());
  }

  // The layer's gradients, from the gradient `above` of the product of its values with `weights`.
  void Back(const Hidden& layer, const void* above, const Placed& weights) const {
    BlasProduct product{batch_, layer.stride, weights.stride, above, weights.stride};
    product.b = Weights(weights);
    product.ldb = weights.stride;
    product.b_transposed = true;
    product.c = layer.d.as<float>();
    product.ldc = layer.stride;
    blas_->Multiply(product);
    ActivationBack a;
    a.batch = batch_;
    a.width = layer.width;
    a.stride = layer.stride;
    a.norm = layer.norm;
    a.scale = Values(layer.norm_weight);
    a.y = layer.y.as<float>();
    a.inverse = layer.inverse.as<float>();
    a.kind = blas_->operands();
    a.h = layer.h.as<void>();
    a.kept = 1.0f / (1.0f - spec_.dropout);
    a.d = layer.d.as<float>();
    a.dy = layer.dy.as<void>();
    a.scale_sums = Sums(layer.norm_weight);
    a.shift_sums = Sums(layer.norm == HiddenNorm::kNone ? layer.bias : layer.norm_bias);
    LaunchActivationBack(a, stream());
    if (layer.norm != HiddenNorm::kBatch) return;
    BatchNormBack b;
    b.now = now_.as<StepNow>();
    b.batch = batch_;
    b.stride = layer.stride;
    b.scale = a.scale;
    b.inverse = a.inverse;
    b.y = a.y;
    b.d = a.d;
    b.scale_sums = a.scale_sums;
    b.shift_sums = a.shift_sums;
    b.slopes = layer.slopes.as<float>();
    b.kind = a.kind;
    b.dy = a.dy;
    LaunchBatchNormBack(b, stream());
  }

  // The gradient of the weights that `from` (batch × depth) was multiplied by.
  void WeightGradient(const void* from, size_t depth, const void* above, const Placed& weights) const {
    BlasProduct product{depth, weights.stride, batch_, from, depth, true, above, weights.stride};
    product.c = Gradient(weights);
    product.ldc = weights.stride;
    blas_->Multiply(product);
  }

  void Update() const {
    AdamUpdate a;
    a.cursor = cursor_.as<StepCursor>();
    a.now = now_.as<StepNow>();
    a.steps_per_epoch = steps_per_epoch_;
    a.chunks = chunks_;
    a.w_end = w_end_;
    a.decay_end = decay_end_;
    a.end = end_;
    a.value = value_.as<float>();
    a.m = m_.as<float>();
    a.v = v_.as<float>();
    a.gradient = gradient_.as<float>();
    a.sums = sums_.as<float>();
    a.narrow = narrow_values_.as<void>();
    (spec_.decoupled_weight_decay ? a.decoupled_decay : a.weight_decay) = spec_.weight_decay;
    a.beta1 = spec_.beta1;
    a.beta2 = spec_.beta2;
    a.epsilon = spec_.epsilon;
    a.chunk_losses = chunk_losses_.as<double>();
    a.losses = losses_.as<double>();
    LaunchUpdate(a, stream());
  }

  const std::shared_ptr<Device> device_;
  const LayerInput input_;
  const std::shared_ptr<const DeviceTargets> targets_;
  const LayerSpec spec_;
  const std::shared_ptr<const Blas> blas_;
  const InputLayout layout_;
  const uint32_t batch_, steps_per_epoch_, chunks_;
  const bool narrow_;  // products read bf16
  uint64_t w_steps_, theta_steps_;
  // Parameters, one after another: W, head, Θ, then what does not decay, then statistics that no gradient reaches.
  Hidden first_;
  std::optional<Hidden> head_;
  Placed theta_, bias_;
  std::vector<std::string> names_;  // of the parameters, in the order of the layer's state
  std::map<std::string, Placed> placed_;
  size_t w_end_ = 0, decay_end_ = 0, end_ = 0, all_ = 0;
  Buffer value_;          // (all_)
  Buffer m_, v_;          // (end_)
  Buffer gradient_;       // (decay_end_)
  Buffer narrow_values_;  // (decay_end_) in bf16
  Buffer sums_;           // (chunks × (end_ − decay_end_))
  // One batch:
  Buffer cursor_, now_, drawn_, rows_, input_keys_;
  Buffer x_;             // (batch × layout_.width())
  Buffer z_, dz_;        // (batch × stride of Θ) logits, then their gradient; the same in bf16
  Buffer chunk_losses_;  // (chunks)
  Buffer losses_;        // (kStepsPerRound)
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

std::unique_ptr<LayerTraining> MakeGeneralTraining(const std::shared_ptr<Device>& device,
                                                   std::shared_ptr<const Blas> blas, const LayerInput& input,
                                                   std::shared_ptr<const DeviceTargets> targets,
                                                   const LayerSpec& spec, const LayerState& start,
                                                   std::string* explanation) {
  auto training =
      std::make_unique<CudaGeneralTraining>(device, std::move(blas), input, std::move(targets), spec, start);
  *explanation = "products by cuBLAS, steps replayed as a CUDA graph";
  return training;
}

namespace {

// What a layer that predicts multiplies its products by and adds to them, after LayerNorm where it has one.
void WriteScaleAndShift(const HiddenParameters& hidden, float* scale, float* shift) {
  const HiddenNorm norm = hidden.norm();
  for (size_t c = 0; c < hidden.weight.cols; ++c) {
    if (norm == HiddenNorm::kNone) {
      if (hidden.bias.rows > 0) shift[c] = hidden.bias.values[c];
      continue;
    }
    scale[c] = hidden.norm_weight.values[c];
    shift[c] = hidden.norm_bias.values[c];
    if (norm != HiddenNorm::kBatch) continue;
    scale[c] /= std::sqrt(hidden.running_var.values[c] + kNormEpsilon);
    shift[c] -= hidden.running_mean.values[c] * scale[c];
  }
}

}  // namespace

TensorPtr TransformRows(const Context& context, const std::shared_ptr<Device>& device, const Blas& blas,
                        const LayerInput& input, const HiddenParameters& hidden,
                        std::span<const uint32_t> rows, RowKind kind) {
  const char* what = "transforming features";
  L2GCN_ASSERT(input.cols() == hidden.weight.rows);
  const InputLayout layout(input);
  const size_t count = rows.empty() ? input.rows() : rows.size(), stride = PaddedStride(hidden.weight.cols);
  const size_t depth = layout.width(), element = ElementBytes(blas.operands());
  auto out = NewDense(device, count, hidden.weight.cols, kind);
  if (count == 0) return out;
  // The weights, then a scale and a shift, padded.
  const Placed w{0, hidden.weight.rows, hidden.weight.cols, depth, stride, &layout.places()};
  std::vector<float> packed(w.size() + 2 * stride, 0.0f);
  w.Write(hidden.weight, packed);
  WriteScaleAndShift(hidden, packed.data() + w.size(), packed.data() + w.size() + stride);
  Buffer parameters = Buffer::OnDevice(device, packed.size() * sizeof(float), what), narrow, picked;
  parameters.CopyFrom(packed.data(), packed.size() * sizeof(float));
  if (element == 2) {
    narrow = Buffer::OnDevice(device, w.size() * 2, what);
    LaunchNarrow(parameters.as<float>(), narrow.as<void>(), w.size(), device->stream());
  }
  if (!rows.empty()) {
    picked = Buffer::OnDevice(device, rows.size_bytes(), what);
    picked.CopyFrom(rows.data(), rows.size_bytes());
  }
  // cuBLAS chooses its kernels by the number of rows. It is given as many every time, whatever lies in those beyond the
  // last one, so that a row's result does not depend on how many others are transformed.
  const size_t fitting =
      std::min<size_t>(kGatheredBytes, device->FreeBytes() / 4) / (depth * element + stride * 4);
  const size_t most = std::clamp<size_t>(fitting, 1, kGatheredRows);
  const Buffer x = Buffer::OnDevice(device, most * depth * element, what);
  const Buffer y = Buffer::OnDevice(device, most * stride * sizeof(float), what);
  for (size_t first = 0; first < count; first += most) {
    context.CheckCancelled();
    const size_t some = std::min(most, count - first);
    layout.Gather(rows.empty() ? nullptr : picked.as<uint32_t>() + first, first, some, blas.operands(),
                  x.as<void>(), {}, device->stream());
    BlasProduct product{most, stride, depth, x.as<void>(), depth};
    product.b = element == 2 ? narrow.as<void>() : parameters.as<void>();
    product.ldb = product.ldc = stride;
    product.c = y.as<float>();
    blas.Multiply(product);
    Activation a;
    a.rows = some;
    a.width = static_cast<uint32_t>(hidden.weight.cols);
    a.stride = static_cast<uint32_t>(stride);
    a.norm = hidden.norm() == HiddenNorm::kLayer ? HiddenNorm::kLayer : HiddenNorm::kNone;
    if (hidden.norm() != HiddenNorm::kNone) a.scale = parameters.as<float>() + w.size();
    if (!hidden.basic()) a.shift = parameters.as<float>() + w.size() + stride;
    a.y = y.as<float>();
    a.kind = kind;
    a.h = out->dense.as<char>() + first * stride * ElementBytes(kind);
    LaunchActivate(a, device->stream());
  }
  device->Synchronise(what);
  return out;
}

}  // namespace l2gcn::cuda

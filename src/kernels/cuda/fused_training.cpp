#include "kernels/cuda/fused_training.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "core/error_format.h"
#include "kernels/checked_cast.h"
#include "kernels/cuda/row_product.h"
#include "kernels/cuda/scoring.h"
#include "kernels/cuda/scoring_kernels.h"
#include "kernels/cuda/train_kernel.h"

namespace l2gcn::cuda {
namespace {

// Steps between two checks for a request to stop: a few tens of milliseconds.
constexpr uint64_t kStepsPerLaunch = 4096;

// W's columns and Θ's rows as the kernel wants them: slice after slice, padded with zeros.
class SlicePacking {
 public:
  SlicePacking(const TrainPlan& plan, size_t features, size_t hidden, size_t classes)
      : plan_(plan), features_(features), hidden_(hidden), classes_(classes) {}

  std::vector<float> Pack(const Matrix& w, const Matrix& theta) const {
    std::vector<float> packed(plan_.slice_floats() * static_cast<size_t>(plan_.slices), 0.0f);
    ForEach([&](size_t at, size_t k, size_t h) { packed[at] = w.row(k)[h]; },
            [&](size_t at, size_t h, size_t c) { packed[at] = theta.row(h)[c]; });
    return packed;
  }
  // Where each element lies that ProductWeights of W and of Θ hold; kNoPlace for their padding.
  void Places(const ProductWeights& w, const ProductWeights& theta, std::vector<uint32_t>& w_places,
              std::vector<uint32_t>& theta_places) const {
    w_places.assign(w.size(), kNoPlace);
    theta_places.assign(theta.size(), kNoPlace);
    ForEach([&](size_t at, size_t k, size_t h) { w_places[k * w.width + h] = static_cast<uint32_t>(at); },
            [&](size_t at, size_t h, size_t c) {
              theta_places[h * theta.width + c] = static_cast<uint32_t>(at);
            });
  }
  void Unpack(const std::vector<float>& packed, Matrix& w, Matrix& theta) const {
    w = Matrix::Allocate(features_, hidden_);
    theta = Matrix::Allocate(hidden_, classes_);
    ForEach([&](size_t at, size_t k, size_t h) { w.mutable_row(k)[h] = packed[at]; },
            [&](size_t at, size_t h, size_t c) { theta.mutable_row(h)[c] = packed[at]; });
  }

 private:
  template <class ForW, class ForTheta>
  void ForEach(const ForW& for_w, const ForTheta& for_theta) const {
    const size_t width = static_cast<size_t>(plan_.width);
    for (size_t h = 0; h < hidden_; ++h) {
      const size_t slice = h / width * plan_.slice_floats();
      const int unit = static_cast<int>(h % width);
      for (size_t k = 0; k < features_; ++k)
        for_w(slice + static_cast<size_t>(plan_.WeightAt(static_cast<int>(k), unit)), k, h);
      for (size_t c = 0; c < classes_; ++c)
        for_theta(slice + static_cast<size_t>(plan_.ThetaAt(unit, static_cast<int>(c))), h, c);
    }
  }

  const TrainPlan plan_;
  const size_t features_, hidden_, classes_;
};

// The weights as the kernel publishes them: tiles of shared memory with their swizzle (unrounded, which only
// the first step of a layer can tell).
std::vector<float> PublishedImage(const TrainPlan& plan, const std::vector<float>& packed) {
  if (plan.warpgroups) return packed;  // packed as tiles
  std::vector<float> image(packed.size());
  const size_t slice = plan.slice_floats(), theta = static_cast<size_t>(plan.features_padded * plan.width);
  const auto turn = [](size_t row) { return ((row & 3) << 3) | (row & 4); };
  for (size_t i = 0; i < packed.size(); ++i) {
    const size_t at = i % slice, width = static_cast<size_t>(at < theta ? plan.width : plan.c_stride);
    const size_t row = (at < theta ? at : at - theta) / width;
    image[i ^ (width == 16 ? (row & 2) << 2 : turn(row))] = packed[i];
  }
  return image;
}

// Feature rows of the launches to come, fetched from host memory into one of two buffers while the kernel
// trains from the other.
class RowStager {
 public:
  RowStager(const std::shared_ptr<Device>& device, const CudaTensor& x, uint32_t batch)
      : device_(device), host_(x.view) {
    const size_t step_bytes = static_cast<size_t>(batch) * x.view.stride * sizeof(float);
    steps_ = std::clamp<uint64_t>(device->FreeBytes() / 4 / step_bytes, 1, kStagedSteps);
    for (Buffer& buffer : buffers_)
      buffer = Buffer::OnDevice(device, steps_ * step_bytes, "staging feature rows");
    Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
    Check(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming), "creating an event");
    device->Synchronise("staging feature rows");
  }
  ~RowStager() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(ready_);
    cudaStreamDestroy(stream_);
  }
  RowStager(const RowStager&) = delete;
  RowStager& operator=(const RowStager&) = delete;

  uint64_t steps() const { return steps_; }
  // Starts fetching the rows of steps begin … end−1 into the buffer that is free. The launch that last used
  // it must be done.
  void Begin(const TrainArguments& arguments, uint64_t begin, uint64_t end) {
    TrainArguments a = arguments;
    a.x = host_;
    a.first_step = begin;
    a.last_step = end;
    filling_ = 1 - filling_;
    LaunchStageRows(a, buffers_[filling_].as<float>(), stream_);
    Check(cudaEventRecord(ready_, stream_), "staging feature rows");
  }
  // The buffer begun last; work on the device's stream waits until it is filled.
  void* Take() {
    Check(cudaStreamWaitEvent(device_->stream(), ready_, 0), "staging feature rows");
    return buffers_[filling_].as<void>();
  }

 private:
  static constexpr uint64_t kStagedSteps = 128;
  const std::shared_ptr<Device> device_;
  const DeviceRows host_;
  Buffer buffers_[2];
  uint64_t steps_ = 1;
  int filling_ = 1;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t ready_ = nullptr;
};

class CudaFusedTraining final : public CudaTraining {
 public:
  CudaFusedTraining(const std::shared_ptr<Device>& device, TensorPtr xhat,
                    std::shared_ptr<const DeviceTargets> targets, const LayerSpec& spec,
                    const LayerState& start, Precision precision)
      : device_(device),
        xhat_(std::move(xhat)),
        targets_(std::move(targets)),
        spec_(spec),
        precision_(precision),
        plan_(PlanFor(start)),
        packing_(plan_, start["weight"].value.rows, start["weight"].value.cols,
                 start["classifier"].value.cols),
        w_steps_(start["weight"].steps),
        theta_steps_(start["classifier"].steps) {
    const uint32_t count = targets_->count, batch = std::min(spec.batch, count);
    steps_per_epoch_ = std::max<uint32_t>(1, spec.drop_last ? count / batch : (count + batch - 1) / batch);
    PrepareTrain(plan_, precision_);
    AllocateState(start);
    FillArguments(start, batch);
    if (Staged()) stager_ = std::make_unique<RowStager>(device_, x(), batch);
  }

  void RunEpochs(const Context& context, uint32_t first, uint32_t count, std::span<double> losses,
                 std::vector<double>* step_losses) override {
    const uint64_t steps = static_cast<uint64_t>(count) * steps_per_epoch_;
    arguments_.first_epoch = first;
    arguments_.steps_before = static_cast<uint64_t>(first) * steps_per_epoch_;
    arguments_.every_loss = step_losses != nullptr;
    if (stager_) stager_->Begin(arguments_, 0, std::min(steps, StepsPerLaunch()));
    for (uint64_t done = 0; done < steps;) {
      const uint64_t next = std::min(steps, done + StepsPerLaunch());
      if (stager_) {
        arguments_.x.dense = stager_->Take();
        if (next < steps) stager_->Begin(arguments_, next, std::min(steps, next + StepsPerLaunch()));
      }
      Launch(done, next);
      CollectLosses(done, next, losses, step_losses);
      done = next;
      context.CheckCancelled();
    }
  }

  LayerState Read() const override {
    LayerState state;
    state.parameters = {{"weight", {}, {}, {}, w_steps_}, {"classifier", {}, {}, {}, theta_steps_}};
    Parameter& w = state.parameters[0];
    Parameter& theta = state.parameters[1];
    packing_.Unpack(ReadSlices(master_), w.value, theta.value);
    packing_.Unpack(ReadSlices(first_), w.m, theta.m);
    packing_.Unpack(ReadSlices(second_), w.v, theta.v);
    return state;
  }

  RowScores Score(const Context& context, const CudaRowsToScore& rows) const override {
    if (!scored_) PlaceScored();
    scored_->w.Fill(master_, device_->stream());
    scored_->theta.Fill(master_, device_->stream());
    const size_t h_stride = PaddedStride(arguments_.hidden), z_stride = PaddedStride(arguments_.classes);
    ScorePass pass(device_, rows, (h_stride + z_stride) * sizeof(float));
    const Buffer h = Buffer::OnDevice(device_, pass.block() * h_stride * sizeof(float), kScoring);
    const Buffer z = Buffer::OnDevice(device_, pass.block() * z_stride * sizeof(float), kScoring);
    const DeviceRows hidden{RowKind::kF32, h.as<void>(), h_stride},
        logits{RowKind::kF32, z.as<void>(), z_stride};
    for (size_t first = 0; first < rows.targets->count; first += pass.block()) {
      context.CheckCancelled();
      const size_t some = std::min<size_t>(pass.block(), rows.targets->count - first);
      MultiplyRows(device_, CheckedCast<CudaTensor>(*rows.x.blocks.front()).view, rows.picked(), first, some,
                   scored_->w.weights, hidden, true, precision_);
      MultiplyRows(device_, hidden, nullptr, 0, some, scored_->theta.weights, logits, false, precision_);
      pass.Reduce(first, some, z.as<float>(), z_stride, nullptr);
    }
    return pass.Finish();
  }

  const TrainPlan& plan() const { return plan_; }

 private:
  static constexpr const char* kScoring = "scoring rows";

  // A matrix among the packed weights, and room for it as products read it.
  struct ScoredMatrix {
    ProductWeights weights;
    Buffer places;  // (weights.size()) of its elements among the packed ones

    void Fill(const Buffer& packed, cudaStream_t stream) const {
      LaunchPickElements(packed.as<float>(), places.as<uint32_t>(), weights.size(),
                         weights.values.as<float>(), stream);
    }
  };
  struct ScoredMatrices {
    ScoredMatrix w, theta;
  };

  void PlaceScored() const {
    scored_.emplace();
    scored_->w.weights = ProductWeights(device_, xhat_->cols, arguments_.hidden);
    scored_->theta.weights = ProductWeights(device_, arguments_.hidden, arguments_.classes);
    std::vector<uint32_t> w, theta;
    packing_.Places(scored_->w.weights, scored_->theta.weights, w, theta);
    const auto upload = [&](const std::vector<uint32_t>& places, Buffer& to) {
      to = Buffer::OnDevice(device_, places.size() * sizeof(uint32_t), kScoring);
      to.CopyFrom(places.data(), places.size() * sizeof(uint32_t));
    };
    upload(w, scored_->w.places);
    upload(theta, scored_->theta.places);
    device_->Synchronise(kScoring);
  }

  const CudaTensor& x() const { return CheckedCast<CudaTensor>(*xhat_); }

  // Whether the samples of a step count by the weights of their classes.
  bool SharesByWeight() const { return !targets_->targets.multilabel && !targets_->targets.weights.empty(); }
  bool Staged() const { return x().dense.on_host() && x().view.kind == RowKind::kF32; }
  uint64_t StepsPerLaunch() const { return stager_ ? stager_->steps() : kStepsPerLaunch; }

  TrainPlan PlanFor(const LayerState& start) const {
    TrainShape shape;
    shape.features = static_cast<uint32_t>(start["weight"].value.rows);
    shape.hidden = static_cast<uint32_t>(start["weight"].value.cols);
    shape.classes = static_cast<uint32_t>(start["classifier"].value.cols);
    shape.batch = std::min(spec_.batch, targets_->count);
    shape.multilabel = targets_->targets.multilabel;
    shape.copied_rows = x().view.kind == RowKind::kF32;
    shape.tf32 = precision_ == Precision::kTf32;
    DeviceLimits limits = device_->limits();
    if (Staged()) limits.multiprocessors = std::max(1, limits.multiprocessors - kStageBlocks);
    const TrainPlan plan = ChoosePlan(shape, limits);
    limits.pairs = !plan.warpgroups || PairsFit(plan);
    return limits.pairs ? plan : ChoosePlan(shape, limits);
  }

  void AllocateState(const LayerState& start) {
    const size_t floats = plan_.slice_floats() * static_cast<size_t>(plan_.slices),
                 bytes = floats * sizeof(float);
    const size_t exchanged =
        static_cast<size_t>(plan_.row_groups * plan_.rows * plan_.c_stride) * sizeof(float);
    const size_t blocks = static_cast<size_t>(plan_.blocks());
    const char* what = "training a layer";
    const Parameter &weight = start["weight"], &theta = start["classifier"];
    const std::vector<float> w = packing_.Pack(weight.value, theta.value);
    const std::vector<float> m = packing_.Pack(weight.m, theta.m), v = packing_.Pack(weight.v, theta.v);
    master_ = Buffer::OnDevice(device_, bytes, what);
    published_ = Buffer::OnDevice(device_, bytes, what);
    first_ = Buffer::OnDevice(device_, bytes, what);
    second_ = Buffer::OnDevice(device_, bytes, what);
    master_.CopyFrom(w.data(), bytes);
    const std::vector<float> image = PublishedImage(plan_, w);
    published_.CopyFrom(image.data(), bytes);
    first_.CopyFrom(m.data(), bytes);
    second_.CopyFrom(v.data(), bytes);
    partial_ = Buffer::OnDevice(device_, bytes * static_cast<size_t>(plan_.partials()), what);
    if (plan_.slices > 1) {
      logits_ = Buffer::OnDevice(device_, exchanged * 2 * static_cast<size_t>(plan_.slices), what);
      dlogits_ = Buffer::OnDevice(device_, exchanged, what);
    }
    flags_ = Buffer::OnDevice(device_, 2 * sizeof(uint32_t) * blocks, what);
    losses_ = Buffer::OnDevice(device_, sizeof(float) * blocks * kStepsPerLaunch, what);
    if (SharesByWeight()) shares_ = Buffer::OnDevice(device_, sizeof(float) * kStepsPerLaunch, what);
    device_->Synchronise(what);
  }

  void FillArguments(const LayerState& start, uint32_t batch) {
    TrainArguments& a = arguments_;
    a.x = x().view;
    a.samples = targets_->samples.empty() ? nullptr : targets_->sample_rows.as<uint32_t>();
    a.staged = Staged();
    a.count = targets_->count;
    a.multilabel = targets_->targets.multilabel;
    if (a.multilabel) {
      L2GCN_ASSERT(targets_->label_bytes == static_cast<uint32_t>(plan_.label_bytes));
      a.label_rows = targets_->labels.as<uint8_t>();
    } else {
      a.classes_of = targets_->labels.as<int32_t>();
    }
    if (!targets_->targets.weights.empty()) a.weights = targets_->weights.as<float>();
    a.shares = shares_.as<float>();
    a.master = master_.as<float>();
    a.published = published_.as<float>();
    a.first = first_.as<float>();
    a.second = second_.as<float>();
    a.partial = partial_.as<float>();
    a.logits = logits_.as<float>();
    a.dlogits = dlogits_.as<float>();
    a.flags = flags_.as<uint32_t>();
    a.losses = losses_.as<float>();
    a.hidden = static_cast<uint32_t>(start["weight"].value.cols);
    a.classes = static_cast<uint32_t>(start["classifier"].value.cols);
    a.batch = batch;
    a.steps_per_epoch = steps_per_epoch_;
    a.order = Permutation(a.count, RandomStream(spec_.seed, RandomUse::kShuffle, spec_.layer, 0));
    a.seed = spec_.seed;
    a.layer = spec_.layer;
    a.lr = spec_.lr;
    a.decay = spec_.schedule.InSteps(steps_per_epoch_);
    (spec_.decoupled_weight_decay ? a.decoupled_decay : a.weight_decay) = spec_.weight_decay;
    a.dropout = spec_.dropout;
    a.beta1 = spec_.beta1;
    a.beta2 = spec_.beta2;
    a.epsilon = spec_.epsilon;
  }

  void Launch(uint64_t begin, uint64_t end) {
    const auto power = [](float beta, uint64_t t) {
      return std::pow(static_cast<double>(beta), static_cast<double>(t));
    };
    arguments_.first_step = begin;
    arguments_.last_step = end;
    arguments_.w_beta1_power = power(spec_.beta1, w_steps_);
    arguments_.w_beta2_power = power(spec_.beta2, w_steps_);
    arguments_.theta_beta1_power = power(spec_.beta1, theta_steps_);
    arguments_.theta_beta2_power = power(spec_.beta2, theta_steps_);
    if (SharesByWeight()) LaunchBatchShares(arguments_, device_->stream());
    LaunchTrain(plan_, precision_, arguments_, device_->stream());
    w_steps_ += end - begin;
    theta_steps_ += end - begin;
  }

  // A slot holds one sum per block; slots follow the order in which the kernel wanted a loss.
  void CollectLosses(uint64_t begin, uint64_t end, std::span<double> losses,
                     std::vector<double>* step_losses) {
    const size_t blocks = static_cast<size_t>(plan_.blocks());
    const uint64_t slots =
        step_losses != nullptr ? end - begin : (end - 1) / steps_per_epoch_ - begin / steps_per_epoch_ + 1;
    std::vector<float> sums(static_cast<size_t>(slots) * blocks);
    losses_.CopyTo(sums.data(), sums.size() * sizeof(float));
    std::vector<float> shares(SharesByWeight() ? static_cast<size_t>(end - begin) : 0);
    if (!shares.empty()) shares_.CopyTo(shares.data(), shares.size() * sizeof(float));
    for (uint64_t slot = 0; slot < slots; ++slot) {
      const uint64_t step = step_losses != nullptr
                                ? begin + slot
                                : std::min(end, (begin / steps_per_epoch_ + slot + 1) * steps_per_epoch_) - 1;
      double sum = 0;
      for (size_t block = 0; block < blocks; ++block) sum += static_cast<double>(sums[slot * blocks + block]);
      const uint64_t at = step % steps_per_epoch_;
      const double samples =
          static_cast<double>(std::min<uint64_t>(arguments_.batch, arguments_.count - at * arguments_.batch));
      const double loss = !shares.empty()
                              ? sum * static_cast<double>(shares[step - begin])
                              : sum / (arguments_.multilabel ? samples * arguments_.classes : samples);
      if (step_losses != nullptr) step_losses->push_back(loss);
      if (at + 1 == steps_per_epoch_) losses[step / steps_per_epoch_] = loss;
    }
  }

  std::vector<float> ReadSlices(const Buffer& from) const {
    std::vector<float> values(plan_.slice_floats() * static_cast<size_t>(plan_.slices));
    from.CopyTo(values.data(), values.size() * sizeof(float));
    return values;
  }

  const std::shared_ptr<Device> device_;
  const TensorPtr xhat_;
  const std::shared_ptr<const DeviceTargets> targets_;
  const LayerSpec spec_;
  const Precision precision_;
  const TrainPlan plan_;
  const SlicePacking packing_;
  uint64_t w_steps_, theta_steps_;
  uint32_t steps_per_epoch_ = 1;
  Buffer master_, published_, first_, second_, partial_, logits_, dlogits_, flags_, losses_, shares_;
  TrainArguments arguments_;
  std::unique_ptr<RowStager> stager_;
  mutable std::optional<ScoredMatrices> scored_;  // made when rows are first scored
};

}  // namespace

std::shared_ptr<const DeviceTargets> UploadTargets(const std::shared_ptr<Device>& device, size_t rows,
                                                   Array<uint32_t> samples, const Targets& targets) {
  auto out = std::make_shared<DeviceTargets>();
  out->count = static_cast<uint32_t>(samples.empty() ? rows : samples.size());
  if (!samples.empty()) {
    out->sample_rows = Buffer::OnDevice(device, samples.bytes(), "the training samples");
    out->sample_rows.CopyFrom(samples.data(), samples.bytes());
  }
  if (targets.regression()) {
    out->labels = Buffer::Anywhere(device, targets.values.bytes(), "the targets");
    out->labels.CopyFrom(targets.values.data(), targets.values.bytes());
  } else if (targets.multilabel) {
    const size_t stride = (targets.classes + 15) / 16 * 16;
    out->label_bytes = static_cast<uint32_t>(stride);
    out->labels = Buffer::Anywhere(device, out->count * stride, "the labels");
    out->labels.Clear();
    Check(cudaMemcpy2DAsync(out->labels.as<void>(), stride, targets.matrix.data(), targets.classes,
                            targets.classes, out->count, cudaMemcpyDefault, device->stream()),
          "uploading labels");
  } else {
    out->labels = Buffer::Anywhere(device, targets.classes_of.bytes(), "the labels");
    out->labels.CopyFrom(targets.classes_of.data(), targets.classes_of.bytes());
  }
  const Array<float>& weights = targets.regression() ? targets.node_weights : targets.weights;
  if (!weights.empty()) {
    out->weights = Buffer::OnDevice(device, weights.bytes(), "the weights of the loss");
    out->weights.CopyFrom(weights.data(), weights.bytes());
  }
  device->Synchronise("uploading labels");
  out->samples = std::move(samples);
  out->targets = targets;
  return out;
}

std::unique_ptr<LayerTraining> MakeFusedTraining(const std::shared_ptr<Device>& device, TensorPtr xhat,
                                                 std::shared_ptr<const DeviceTargets> targets,
                                                 const LayerSpec& spec, const LayerState& start,
                                                 Precision precision, std::string* explanation) {
  L2GCN_ASSERT(xhat->cols == start["weight"].value.rows);
  auto training = std::make_unique<CudaFusedTraining>(device, std::move(xhat), std::move(targets), spec,
                                                      start, precision);
  *explanation = DescribePlan(training->plan());
  return training;
}

}  // namespace l2gcn::cuda

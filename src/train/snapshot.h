// The state of a training at the end of an epoch: numbers as JSON, matrices as tensors. Trainers fill a snapshot and resume from
// one; run/checkpoint.h decides when and where it is written.
//
// Random numbers are counter-based, so weights, optimiser state, counters and the memory of policies and samplers suffice.
// Activations are recomputed from the weights of the finished layers, to the same bits.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "l2gcn/error.h"
#include "l2gcn/train.h"
#include "model/safetensors.h"

namespace l2gcn {

struct Snapshot {
  nlohmann::ordered_json state = nlohmann::ordered_json::object();
  std::vector<NamedTensor> tensors;

  void Add(std::string name, const Matrix& matrix) { tensors.push_back(ToTensor(std::move(name), matrix)); }
  // The matrix called `name`. Throws Error(kInput) if it is not there or not (rows × cols).
  Matrix Take(const std::string& name, size_t rows, size_t cols) const;
  // Its matrix of whatever shape. Throws Error(kInput) if it is not there or has another rank.
  Matrix Take(const std::string& name) const;
  bool Has(const std::string& name) const;
  // Numbers of any kind, infinities too, to the bit.
  void AddNumber(const std::string& name, double number) { AddNumbers(name, {&number, 1}); }
  double TakeNumber(const std::string& name) const;
  void AddNumbers(const std::string& name, std::span<const double> numbers);
  std::vector<double> TakeNumbers(const std::string& name) const;
  // A layer's parameters and their optimiser as PREFIX.NAME, PREFIX.NAME.m, PREFIX.NAME.v; shapes are checked.
  void AddLayer(const std::string& prefix, const LayerState& layer);
  LayerState TakeLayer(const std::string& prefix, std::span<const ParameterShape> shapes) const;
};

// Writes snapshots. A trainer calls Start() once, and Due() after each stretch of epochs.
class Checkpointer {
 public:
  virtual ~Checkpointer() = default;
  // The snapshot to resume from; null: start from the beginning.
  virtual const Snapshot* Start() const = 0;
  // Whether it is time to write one; `epochs`: trained so far by this training, over all layers.
  virtual bool Due(uint64_t epochs) = 0;
  // Most epochs to train before Due() must be asked again; 0: any number.
  virtual uint32_t EpochsBetween() const = 0;
  // Writes a snapshot. A full disk does not throw: the training continues without it.
  virtual void Keep(const Snapshot& snapshot) = 0;
};

// Converts the record of a seed to JSON without losing a digit; a number that is not finite becomes null.
nlohmann::ordered_json TrialsToJson(const std::vector<SeedResult::Trial>& trials);
// Throws Error(kInput) or nlohmann's exceptions for damaged ones.
std::vector<SeedResult::Trial> TrialsFromJson(const nlohmann::ordered_json& json);
nlohmann::ordered_json SeedResultToJson(const SeedResult& result);
// Throws nlohmann's exceptions for a document of another shape.
SeedResult SeedResultFromJson(const nlohmann::ordered_json& json);

// Raised where a loss or a weight is no finite number any more: Error(kRuntime), told apart so that a run may
// begin again at a lower rate.
class Diverged : public Error {
 public:
  using Error::Error;
};

// Throws Diverged, naming layer, epoch and step (all counted from 1) where the loss stopped being finite. Where
// the step is not known, first_step to last_step is the range it lies in.
[[noreturn]] void ThrowDiverged(uint32_t layer, uint64_t epoch, uint64_t first_step, uint64_t last_step,
                                double loss, const TrainConfig& config);
// The index of the first loss that is not finite.
std::optional<size_t> FirstNotFinite(std::span<const double> losses);
// The same for the weights a layer ends with: activation functions may hide from the loss what went wrong.
void CheckWeights(const Matrix& weights, uint32_t layer, uint32_t epochs, const TrainConfig& config);

}  // namespace l2gcn

// The settings that are one of a few words, as types. config/choice_names.h has the words.
//
// Nothing but enums: device code and the CPU kernels, which may include no inline functions (kernels/cpu/vec-inl.h says
// why), read this header, too.
#pragma once

namespace l2gcn {

// How elements of features are stored. Arithmetic is in f32 whatever the storage.
enum class FeatureType { kF32, kF16, kBf16 };
// What ends the training of a layer.
enum class StopRule {
  kFixed,       // every layer runs all its epochs
  kEarly,       // after `patience` epochs without a better `watch`
  kController,  // a learned controller
  kPlateau,     // once more epochs no longer pay, by the losses of single nodes (train/plateau_stopping.h)
};
// What StopRule::kEarly watches.
enum class Watch { kLoss, kValidationF1, kValidationLoss };
// How the adjacency matrix becomes the operator Â (graph/normalise.h).
enum class Adjacency { kRowPlusI, kRow, kSym, kSum, kMean, kNone };
// How a layer normalises its hidden values before ReLU: not, each row over its columns, or each column over the batch.
enum class HiddenNorm { kNone, kLayer, kBatch };
// How features are scaled (data/prepare.h).
enum class Scale { kNone, kStandard, kMinMax, kRow };
// Which layers' probabilities are the prediction.
enum class PredictFrom { kLast, kMean, kAuto };
// Whether something is done; kAuto: where it pays.
enum class Choice { kOff, kAuto, kOn };
// How dense products are computed. A CPU computes bf16 where it has AMX, and everything else in fp32.
enum class Precision { kFp32, kTf32, kBf16 };
// What a regression minimises, on standardised targets. The Huber loss is squared up to a difference of 1.
enum class Loss { kSquared, kAbsolute, kHuber };

}  // namespace l2gcn

// Event files that TensorBoard reads, written while a training goes on.
//
//   DIR/                 (several seeds: DIR/seed-S/)
//     events.out.tfevents.…    scalars layerL/loss, layerL/stop_probability, layerL/validation_f1 by epoch,
//                              epochs by layer, f1/train, f1/val, f1/test; histograms of the weights
//     projector_config.pbtxt, embeddings.tsv, metadata.tsv    the last layer's embeddings of a sample of
//     nodes
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "l2gcn/train.h"

namespace l2gcn {

class TensorBoardLog {
 public:
  // Makes the folder; throws Error(kUsage) if it cannot be written.
  TensorBoardLog(const std::string& directory, uint64_t first_seed, uint32_t runs);
  ~TensorBoardLog();
  TensorBoardLog(const TensorBoardLog&) = delete;
  TensorBoardLog& operator=(const TensorBoardLog&) = delete;

  // What is new since the last call; to be called from Context::on_progress.
  void OnProgress(const Progress& progress);
  // A seed is trained and evaluated: what is still missing, and the model. The next seed begins.
  void OnSeed(const Context& context, const Dataset& dataset, const Trained& trained);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace l2gcn
